/*
 * A model provider for benchmarks: reads requests, counts their bytes and answers at once, or as slowly as told.
 *
 *     upstream PORT LIFETIME_SECONDS
 *
 * It listens on 127.0.0.1 only, ends after LIFETIME_SECONDS or with its parent, and is one thread around epoll. A path that holds
 * "/messages" gets Anthropic's shapes, "/responses" those of OpenAI's Responses, "enerateContent" Gemini's (its events end in CRLF and
 * each has counts, as there), any other POST those of chat completions; HEAD and GET get a list of models.
 *
 *     GET /__control?stream=1&first_ms=100&event_us=1000&hash=1&reset=1
 *
 * changes what the next answers look like (each key is optional) and returns the counts so far as JSON:
 *     stream     1: 101 server-sent events, one send() each; 0: a JSON reply of 4 KiB
 *     first_ms   wait before the first byte
 *     event_us   gap between events; each delta then carries the time it was sent ("@" and 19 digits, CLOCK_MONOTONIC ns)
 *     hash       1: keep the FNV-1a hash of the last body (costs about 1 ns a byte)
 *     reset      1: set the counts to zero
 * Whether to stream is told here and not read from the body, because gateways reorder keys and searching 8 MiB costs time.
 */
#include "common.h"
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>

enum { REPLY_BYTES = 4096, EVENTS = 101, MAX_CONNECTIONS = 1024, RECEIVE_BYTES = 256 * 1024 };
#define MAX_BODY_BYTES (64ull << 20)
#define STAMP "@0000000000000000000" /* 19 digits hold CLOCK_MONOTONIC in ns for 300 years */

typedef enum { IDLE, WAITING, STREAMING } phase;
typedef enum { CHAT, ANTHROPIC, RESPONSES, GEMINI, WIRES } wire;

typedef struct connection {
    int fd;
    char head[MAX_HEADER_BYTES];
    size_t head_length;
    int in_body, is_post, is_control, blocked;
    wire wire;
    body_reader body;
    unsigned long long received;
    uint64_t hash;
    char *out; /* what the client has not taken yet */
    size_t out_at, out_end, out_size;
    phase phase;
    int stream, event;
    uint64_t due_ns; /* when the next event, or the whole reply, is to be sent */
    struct connection *next, *previous;
} connection;

typedef struct {
    char *bytes;
    size_t length, stamp; /* offset of the 19 digits, 0 where there are none */
} event;

static struct {
    int stream, first_ms, event_us, hash;
} settings;
static struct {
    unsigned long long requests, body_bytes, last_bytes;
    uint64_t last_hash;
} counts;
static int poller, timer, open_connections;
static connection *busy; /* connections that owe bytes at a later time */
static blob replies[WIRES];
static event events[WIRES][EVENTS];

/* ---- what we answer ---- */

static event chunk(int last, const char *text) {
    event e;
    int n = asprintf(&e.bytes, "%zx\r\n%s\r\n%s", strlen(text), text, last ? "0\r\n\r\n" : "");
    if (n < 0) fail("out of memory");
    e.length = (size_t)n;
    char *at = strstr(e.bytes, STAMP);
    e.stamp = at ? (size_t)(at - e.bytes) + 1 : 0;
    return e;
}

#define RESPONSE_FIELDS "\"id\":\"resp_bench\",\"object\":\"response\",\"created_at\":1700000000,\"background\":false,\"error\":null," \
    "\"incomplete_details\":null,\"instructions\":null,\"max_output_tokens\":null,\"model\":\"gpt-bench\",\"parallel_tool_calls\":true," \
    "\"previous_response_id\":null,\"reasoning\":{\"effort\":\"medium\",\"summary\":null},\"service_tier\":\"default\",\"store\":false"
#define GEMINI_COUNTS(given, total) "\"usageMetadata\": {\"promptTokenCount\": 1200,\"candidatesTokenCount\": " #given ",\"totalTokenCount\": " #total "," \
    "\"cachedContentTokenCount\": 1024,\"promptTokensDetails\": [{\"modality\": \"TEXT\",\"tokenCount\": 1200}]}," \
    "\"modelVersion\": \"gemini-bench\",\"responseId\": \"bench\""

static void prepare_json(void) {
    static const char words[] = "The quick brown fox reads main.py and edits line 42. ";
    char text[REPLY_BYTES - 330], *shorter = text + 500; /* the reply of Responses says more beside its text */
    for (size_t i = 0; i < sizeof text - 1; i++) text[i] = words[i % (sizeof words - 1)];
    text[sizeof text - 1] = 0;
    int chat = asprintf(&replies[CHAT].bytes,
        "{\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion\",\"created\":1700000000,\"model\":\"gpt-bench\",\"choices\":[{\"index\":0,"
        "\"message\":{\"role\":\"assistant\",\"content\":\"%s\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1200,"
        "\"completion_tokens\":800,\"total_tokens\":2000,\"prompt_tokens_details\":{\"cached_tokens\":1024}}}", text);
    int anthropic = asprintf(&replies[ANTHROPIC].bytes,
        "{\"id\":\"msg_bench\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-bench\",\"content\":[{\"type\":\"text\",\"text\":\"%s\"}],"
        "\"stop_reason\":\"end_turn\",\"stop_sequence\":null,\"usage\":{\"input_tokens\":176,\"cache_read_input_tokens\":1024,"
        "\"cache_creation_input_tokens\":0,\"output_tokens\":800}}", text);
    int responses = asprintf(&replies[RESPONSES].bytes, "{" RESPONSE_FIELDS ",\"status\":\"completed\",\"output\":[{\"id\":\"msg_bench\",\"type\":\"message\","
        "\"status\":\"completed\",\"content\":[{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],\"text\":\"%s\"}],\"role\":\"assistant\"}],"
        "\"usage\":{\"input_tokens\":1200,\"input_tokens_details\":{\"cached_tokens\":1024},\"output_tokens\":800,"
        "\"output_tokens_details\":{\"reasoning_tokens\":0},\"total_tokens\":2000}}", shorter);
    int gemini = asprintf(&replies[GEMINI].bytes, "{\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"%s\"}],\"role\": \"model\"},"
        "\"finishReason\": \"STOP\",\"index\": 0}]," GEMINI_COUNTS(800, 2000) "}", text);
    if (chat < 0 || anthropic < 0 || responses < 0 || gemini < 0) fail("out of memory");
    replies[CHAT].length = (size_t)chat;
    replies[ANTHROPIC].length = (size_t)anthropic;
    replies[RESPONSES].length = (size_t)responses;
    replies[GEMINI].length = (size_t)gemini;
}

/* One event of Responses: its type stands in front and inside, and it is numbered. */
static event numbered(int number, const char *type, const char *rest) {
    char *text;
    if (asprintf(&text, "event: %s\ndata: {\"type\":\"%s\",\"sequence_number\":%d,%s}\n\n", type, type, number, rest) < 0) fail("out of memory");
    event e = chunk(number == EVENTS - 1, text);
    free(text);
    return e;
}

static void prepare_responses(event *to) {
    enum { BEFORE = 4, BEHIND = 4, TOKENS = EVENTS - BEFORE - BEHIND };
    static const char place[] = "\"item_id\":\"msg_bench\",\"output_index\":0,\"content_index\":0,", token[] = " token " STAMP;
    static const char begun[] = "\"response\":{" RESPONSE_FIELDS ",\"status\":\"in_progress\",\"output\":[],\"usage\":null}";
    char said[TOKENS * (sizeof token - 1) + 1], text[sizeof said + 2048];
    for (int i = 0; i < TOKENS; i++) strcpy(said + (size_t)i * (sizeof token - 1), token);
    to[0] = numbered(0, "response.created", begun);
    to[1] = numbered(1, "response.in_progress", begun);
    to[2] = numbered(2, "response.output_item.added", "\"output_index\":0,\"item\":{\"id\":\"msg_bench\",\"type\":\"message\","
        "\"status\":\"in_progress\",\"content\":[],\"role\":\"assistant\"}");
    snprintf(text, sizeof text, "%s\"part\":{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],\"text\":\"\"}", place);
    to[3] = numbered(3, "response.content_part.added", text);
    snprintf(text, sizeof text, "%s\"delta\":\"%s\",\"logprobs\":[],\"obfuscation\":\"Q3kZ9aTw\"", place, token);
    for (int i = BEFORE; i < EVENTS - BEHIND; i++) to[i] = numbered(i, "response.output_text.delta", text);
    snprintf(text, sizeof text, "%s\"text\":\"%s\",\"logprobs\":[]", place, said);
    to[EVENTS - 4] = numbered(EVENTS - 4, "response.output_text.done", text);
    snprintf(text, sizeof text, "%s\"part\":{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],\"text\":\"%s\"}", place, said);
    to[EVENTS - 3] = numbered(EVENTS - 3, "response.content_part.done", text);
    static const char item[] = "{\"id\":\"msg_bench\",\"type\":\"message\",\"status\":\"completed\",\"content\":[{\"type\":\"output_text\","
                               "\"annotations\":[],\"logprobs\":[],\"text\":\"%s\"}],\"role\":\"assistant\"}";
    char done[sizeof said + sizeof item];
    snprintf(done, sizeof done, item, said);
    snprintf(text, sizeof text, "\"output_index\":0,\"item\":%s", done);
    to[EVENTS - 2] = numbered(EVENTS - 2, "response.output_item.done", text);
    snprintf(text, sizeof text, "\"response\":{" RESPONSE_FIELDS ",\"status\":\"completed\",\"output\":[%s],\"usage\":{\"input_tokens\":1200,"
        "\"input_tokens_details\":{\"cached_tokens\":1024},\"output_tokens\":100,\"output_tokens_details\":{\"reasoning_tokens\":0},"
        "\"total_tokens\":1300}}", done);
    to[EVENTS - 1] = numbered(EVENTS - 1, "response.completed", text);
    for (int i = 0; i < EVENTS; i++) /* only deltas are stamped: what repeats them was sent long after */
        if (i < BEFORE || i >= EVENTS - BEHIND) to[i].stamp = 0;
}

static void prepare_gemini(event *to) {
    for (int i = 0; i < EVENTS - 1; i++)
        to[i] = chunk(0, "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \" token " STAMP "\"}],\"role\": \"model\"},"
            "\"index\": 0}]," GEMINI_COUNTS(50, 1250) "}\r\n\r\n");
    to[EVENTS - 1] = chunk(1, "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"\"}],\"role\": \"model\"},"
        "\"finishReason\": \"STOP\",\"index\": 0}]," GEMINI_COUNTS(100, 1300) "}\r\n\r\n");
}

static void prepare_events(void) {
    event *chat = events[CHAT], *anthropic = events[ANTHROPIC];
    prepare_responses(events[RESPONSES]);
    prepare_gemini(events[GEMINI]);
    for (int i = 0; i < EVENTS - 1; i++)
        chat[i] = chunk(0,
            "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"gpt-bench\","
            "\"choices\":[{\"index\":0,\"delta\":{\"content\":\" token " STAMP "\"},\"finish_reason\":null}]}\n\n");
    chat[EVENTS - 1] = chunk(1,
        "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"gpt-bench\","
        "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1200,\"completion_tokens\":100,"
        "\"total_tokens\":1300,\"prompt_tokens_details\":{\"cached_tokens\":1024}}}\n\ndata: [DONE]\n\n");
    anthropic[0] = chunk(0,
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_bench\",\"type\":\"message\",\"role\":\"assistant\","
        "\"model\":\"claude-bench\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":176,"
        "\"cache_read_input_tokens\":1024,\"cache_creation_input_tokens\":0,\"output_tokens\":1}}}\n\n");
    anthropic[1] = chunk(0,
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n");
    for (int i = 2; i < EVENTS - 3; i++)
        anthropic[i] = chunk(0,
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"
            "\"delta\":{\"type\":\"text_delta\",\"text\":\" token " STAMP "\"}}\n\n");
    anthropic[EVENTS - 3] = chunk(0, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n");
    anthropic[EVENTS - 2] = chunk(0,
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},"
        "\"usage\":{\"output_tokens\":100}}\n\n");
    anthropic[EVENTS - 1] = chunk(1, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
}

/* ---- sending; every function below returns -1 where the connection is lost and the caller must drop it ---- */

static void watch(connection *c, int writable) {
    struct epoll_event e = {.events = EPOLLIN | (writable ? EPOLLOUT : 0u), .data.ptr = c};
    epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &e);
    c->blocked = writable;
}

static void put(connection *c, const char *bytes, size_t length) {
    if (c->out_at == c->out_end) c->out_at = c->out_end = 0;
    if (c->out_end + length > c->out_size) {
        c->out_size = (c->out_end + length) * 2;
        c->out = realloc(c->out, c->out_size);
        if (!c->out) fail("out of memory");
    }
    memcpy(c->out + c->out_end, bytes, length);
    c->out_end += length;
}

static int flush(connection *c) {
    while (c->out_at < c->out_end) {
        ssize_t sent = send(c->fd, c->out + c->out_at, c->out_end - c->out_at, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) {
            if (!c->blocked) watch(c, 1);
            return 0;
        }
        if (sent < 0) return -1;
        c->out_at += (size_t)sent;
    }
    if (c->blocked) watch(c, 0);
    return 0;
}

static void idle(connection *c) {
    if (c->phase == IDLE) return;
    if (c->previous) c->previous->next = c->next;
    else busy = c->next;
    if (c->next) c->next->previous = c->previous;
    c->next = c->previous = NULL;
    c->phase = IDLE;
}

static int send_json(connection *c, const char *body, size_t length) {
    char head[256];
    int n = snprintf(head, sizeof head,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nx-request-id: req_bench\r\nContent-Length: %zu\r\n\r\n", length);
    put(c, head, (size_t)n);
    if (strncmp(c->head, "HEAD", 4)) put(c, body, length);
    return flush(c);
}

/* Send what is due: the whole JSON reply, all events, or one event where they are paced. */
static int advance(connection *c) {
    if (!c->stream) {
        idle(c);
        return send_json(c, replies[c->wire].bytes, replies[c->wire].length);
    }
    if (c->phase == WAITING) {
        static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
                                   "x-request-id: req_bench\r\nTransfer-Encoding: chunked\r\n\r\n";
        put(c, head, sizeof head - 1);
        c->phase = STREAMING;
        c->event = 0;
    }
    for (;;) {
        event *e = &events[c->wire][c->event++];
        if (settings.event_us && e->stamp) {
            char digits[24];
            snprintf(digits, sizeof digits, "%019llu", (unsigned long long)now_ns());
            memcpy(e->bytes + e->stamp, digits, 19);
        }
        put(c, e->bytes, e->length);
        if (flush(c) < 0) return -1;
        if (c->event == EVENTS) {
            idle(c);
            return 0;
        }
        if (settings.event_us) {
            uint64_t now = now_ns();
            c->due_ns += (uint64_t)settings.event_us * 1000;
            if (c->due_ns < now) c->due_ns = now;
            return 0;
        }
    }
}

/* Wake up when the earliest owed byte is due. */
static void arm(void) {
    uint64_t earliest = 0;
    for (connection *c = busy; c; c = c->next)
        if (!earliest || c->due_ns < earliest) earliest = c->due_ns;
    struct itimerspec at = {0};
    at.it_value.tv_sec = (time_t)(earliest / 1000000000ull);
    at.it_value.tv_nsec = (long)(earliest % 1000000000ull);
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
}

/* ---- reading ---- */

static void control(const char *query) {
    static const struct {
        const char *key;
        int *value;
    } keys[] = {{"stream=", &settings.stream}, {"first_ms=", &settings.first_ms}, {"event_us=", &settings.event_us}, {"hash=", &settings.hash}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *at = strstr(query, keys[i].key);
        if (at) *keys[i].value = atoi(at + strlen(keys[i].key));
    }
    if (strstr(query, "reset=1")) memset(&counts, 0, sizeof counts);
}

static int answer(connection *c) {
    c->in_body = 0;
    c->head_length = 0;
    if (c->is_control) {
        char text[256];
        int n = snprintf(text, sizeof text, "{\"requests\":%llu,\"body_bytes\":%llu,\"last_bytes\":%llu,\"last_hash\":\"%016llx\"}",
            counts.requests, counts.body_bytes, counts.last_bytes, (unsigned long long)counts.last_hash);
        return send_json(c, text, (size_t)n);
    }
    if (!c->is_post) {
        static const char models[] = "{\"object\":\"list\",\"data\":[{\"id\":\"gpt-bench\",\"object\":\"model\"}]}";
        return send_json(c, models, sizeof models - 1);
    }
    counts.requests++;
    counts.body_bytes += c->received;
    counts.last_bytes = c->received;
    counts.last_hash = c->hash;
    idle(c); /* a client that pipelines loses its earlier answer; none of ours does */
    c->stream = settings.stream;
    c->phase = WAITING;
    c->next = busy;
    if (busy) busy->previous = c;
    busy = c;
    c->due_ns = now_ns() + (uint64_t)settings.first_ms * 1000000;
    return settings.first_ms ? 0 : advance(c);
}

static int begin(connection *c) {
    char *line_end = strstr(c->head, "\r\n");
    *line_end = 0;
    c->is_post = !strncmp(c->head, "POST ", 5);
    c->wire = strstr(c->head, "/messages") ? ANTHROPIC : strstr(c->head, "/responses") ? RESPONSES : strstr(c->head, "enerateContent") ? GEMINI : CHAT;
    const char *query = strstr(c->head, " /__control");
    c->is_control = !!query;
    if (query) control(query);
    *line_end = '\r';
    c->body = body_of(c->head, BODY_LENGTH);
    c->received = 0;
    c->hash = 1469598103934665603ull;
    c->in_body = 1;
    const char *expect = header(c->head, "expect");
    if (expect && !strncasecmp(expect, "100-continue", 12)) {
        static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
        put(c, go_on, sizeof go_on - 1);
        if (flush(c) < 0) return -1;
    }
    return c->body.done ? answer(c) : 0;
}

static int receive(connection *c, const char *p, size_t n) {
    while (n) {
        if (!c->in_body) {
            size_t room = sizeof c->head - 1 - c->head_length, take = n < room ? n : room, before = c->head_length;
            if (!room) return -1;
            memcpy(c->head + before, p, take);
            c->head_length += take;
            c->head[c->head_length] = 0;
            char *end = strstr(c->head, "\r\n\r\n");
            size_t used = end ? (size_t)(end + 4 - c->head) - before : take;
            p += used, n -= used;
            if (!end) continue;
            end[2] = 0;
            if (begin(c) < 0) return -1;
            continue;
        }
        size_t payload, used = body_step(&c->body, p, n, &payload);
        c->received += payload;
        if (c->received > MAX_BODY_BYTES) return -1;
        if (settings.hash)
            for (size_t i = 0; i < payload; i++) c->hash = (c->hash ^ (unsigned char)p[i]) * 1099511628211ull;
        p += used, n -= used;
        if (c->body.done && answer(c) < 0) return -1;
    }
    return 0;
}

static int readable(connection *c) {
    static char buffer[RECEIVE_BYTES];
    for (int turn = 0; turn < 8; turn++) { /* a bound, so that one large body does not starve the others */
        ssize_t got = recv(c->fd, buffer, sizeof buffer, 0);
        if (got < 0) return errno == EAGAIN ? 0 : -1;
        if (got == 0 || receive(c, buffer, (size_t)got) < 0) return -1;
        if ((size_t)got < sizeof buffer) return 0;
    }
    return 0;
}

/* ---- the loop ---- */

static void drop(connection *c) {
    idle(c);
    close(c->fd);
    free(c->out);
    free(c);
    open_connections--;
}

static void accept_all(int listener) {
    int on = 1, fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        if (open_connections >= MAX_CONNECTIONS) {
            close(fd);
            continue;
        }
        open_connections++;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        connection *c = allocate(sizeof *c);
        c->fd = fd;
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(poller, EPOLL_CTL_ADD, fd, &e);
    }
}

static void timer_fired(void) {
    uint64_t expirations, now = now_ns();
    if (read(timer, &expirations, sizeof expirations) < 0 && errno != EAGAIN) fail("timer: %s", strerror(errno));
    for (connection *c = busy, *next; c; c = next) {
        next = c->next;
        if (c->due_ns <= now && advance(c) < 0) drop(c);
    }
}

static int listen_on(int port) {
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in a = loopback("127.0.0.1", port);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&a, sizeof a) || listen(fd, 1024)) fail("port %d: %s", port, strerror(errno));
    return fd;
}

int main(int argc, char **argv) {
    if (argc != 3) fail("usage: upstream PORT LIFETIME_SECONDS");
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    alarm((unsigned)number(argv[2], 1, 86400)); /* SIGALRM ends the program */
    prepare_json();
    prepare_events();
    int listener = listen_on((int)number(argv[1], 1, 65535));
    static char listener_tag, timer_tag; /* addresses that tell the two special descriptors from connections */
    poller = epoll_create1(EPOLL_CLOEXEC);
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = &listener_tag};
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &e);
    e.data.ptr = &timer_tag;
    epoll_ctl(poller, EPOLL_CTL_ADD, timer, &e);
    for (struct epoll_event ready[64];;) {
        int n = epoll_wait(poller, ready, 64, -1), timed = 0;
        for (int i = 0; i < n; i++) {
            if (ready[i].data.ptr == &listener_tag) accept_all(listener);
            else if (ready[i].data.ptr == &timer_tag) timed = 1;
            else {
                connection *c = ready[i].data.ptr;
                int lost = (ready[i].events & EPOLLOUT) && flush(c) < 0;
                if (lost || ((ready[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) && readable(c) < 0)) drop(c);
            }
        }
        if (timed) timer_fired(); /* last: it may drop connections that `ready` still names */
        if (busy) arm();
    }
}
