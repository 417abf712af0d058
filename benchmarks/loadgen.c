/*
 * Send one request again and again over keep-alive connections, as fast as the answers come, and say how long they took.
 *
 *     loadgen --port P --path /v1/messages --body FILE [--header 'Name: value']... [--nonce MARKER] [--connections 8]
 *             [--requests 400] [--at-least 3] [--seconds 1.5] [--warmup 16] [--host 127.0.0.1]
 *
 * A closed loop: every connection has one request under way. MARKER is 16 bytes that occur once in the body; each request gets
 * other bytes in that place, so that no two are alike. It stops after --requests, or after --seconds once --at-least
 * are measured; one request may take 150 s at most, and the whole run three times --seconds and 300 s more.
 * The first --warmup requests are sent and not counted. Addresses outside 127.0.0.0/8 are refused.
 *
 * Prints one JSON object. Times are milliseconds from the first byte sent: `p50` to the last byte of the answer, `ttfb` to the
 * first byte of its body. `events` is the mean number of "data:" lines in an answer. `delay` is the time from a paced event's
 * send() in the upstream to its receipt here (the upstream writes the time into it, see upstream.c).
 */
#include "common.h"
#include <getopt.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/uio.h>

enum { NONCE_BYTES = 16, STAMP_DIGITS = 19, MAX_HEADERS = 16, MAX_CONNECTIONS = 256, MAX_DELAYS = 1 << 20 };

typedef struct {
    int fd, running, measured, blocked, in_body;
    char nonce[NONCE_BYTES + 1];
    size_t sent;
    char head[MAX_HEADER_BYTES];
    size_t head_length;
    int status, close_after;
    body_reader body;
    uint64_t began, first_byte;
    unsigned events;
    int matched, digits; /* how much of "data:" and of a stamp the bytes so far end with */
    uint64_t stamp;
} connection;

static struct {
    const char *host, *path, *body, *marker, *headers[MAX_HEADERS];
    int port, connections, header_count;
    unsigned long long requests, at_least, warmup;
    double seconds;
} option = {.host = "127.0.0.1", .connections = 1, .requests = 400, .at_least = 1, .seconds = 1};

static struct sockaddr_in address;
static blob head, body;
static size_t nonce_at;
static int poller;
static unsigned long long started, errors, event_total;
static size_t measured, delay_count;
static double *totals, *first_bytes, *delays;
static uint64_t measuring_since, last_end;
static char first_error[200];

/* Remember the first thing that went wrong. */
static void note(const char *what, size_t length) {
    if (*first_error) return;
    snprintf(first_error, sizeof first_error, "%.*s", (int)(length < 180 ? length : 180), what);
    for (char *p = first_error; *p; p++) /* keep the JSON we print valid */
        if (*p == '"' || *p == '\\' || (unsigned char)*p < 32 || (unsigned char)*p > 126) *p = ' ';
}

/* ---- sending ---- */

static void open_connection(connection *c) {
    c->fd = connect_to(&address);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    c->blocked = 0;
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &e);
}

static void watch(connection *c, int writable) {
    if (c->blocked == writable) return;
    struct epoll_event e = {.events = EPOLLIN | (writable ? EPOLLOUT : 0u), .data.ptr = c};
    epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &e);
    c->blocked = writable;
}

/* Send what the socket takes. A failed send shows as a failed receive, where the connection is ended. */
static void pump(connection *c) {
    const blob parts[] = {
        head,
        {body.bytes, option.marker ? nonce_at : body.length},
        {c->nonce, option.marker ? NONCE_BYTES : 0},
        {body.bytes + nonce_at + NONCE_BYTES, option.marker ? body.length - nonce_at - NONCE_BYTES : 0},
    };
    for (size_t total = head.length + body.length; c->sent < total;) {
        struct iovec vector[4];
        int count = 0;
        size_t skip = c->sent;
        for (int i = 0; i < 4; i++) {
            size_t cut = skip < parts[i].length ? skip : parts[i].length;
            skip -= cut;
            if (cut < parts[i].length) vector[count++] = (struct iovec){parts[i].bytes + cut, parts[i].length - cut};
        }
        ssize_t wrote = writev(c->fd, vector, count);
        if (wrote < 0) {
            watch(c, errno == EAGAIN);
            return;
        }
        c->sent += (size_t)wrote;
    }
    watch(c, 0);
}

static int wanted(void) {
    if (started >= option.warmup + option.requests) return 0;
    if (started < option.warmup + option.at_least) return 1;
    return now_ns() < measuring_since + (uint64_t)(option.seconds * 1e9);
}

static void start(connection *c) {
    c->running = wanted();
    if (!c->running) return;
    c->measured = started >= option.warmup;
    snprintf(c->nonce, sizeof c->nonce, "N%07x%08llx", (unsigned)getpid() & 0xfffffff, started & 0xffffffff);
    started++;
    c->sent = c->head_length = 0;
    c->in_body = c->status = c->matched = c->digits = 0;
    c->events = 0;
    c->first_byte = 0;
    c->began = now_ns();
    if (c->measured && !measuring_since) measuring_since = c->began;
    pump(c);
}

static void finish(connection *c, int complete) {
    uint64_t now = now_ns();
    if (!complete) note("the connection ended before the answer did", 43);
    if (!complete || c->status != 200) errors++;
    else if (c->measured) {
        totals[measured] = (double)(now - c->began) / 1e6;
        first_bytes[measured++] = (double)((c->first_byte ? c->first_byte : now) - c->began) / 1e6;
        event_total += c->events;
        last_end = now;
    }
    if (!complete || c->close_after) {
        close(c->fd);
        open_connection(c);
    }
    start(c);
}

/* ---- receiving ---- */

/* Count "data:" lines and collect the delays of stamped events; both may be cut anywhere by a receive. */
static void scan(connection *c, const char *p, size_t n, uint64_t now) {
    static const char word[] = "data:";
    for (const char *end = p + n; p < end; p++) {
        c->matched = *p == word[c->matched] ? c->matched + 1 : *p == 'd';
        if (c->matched == (int)sizeof word - 1) c->events++, c->matched = 0;
        if (*p == '@') c->digits = 1, c->stamp = 0;
        else if (c->digits && *p >= '0' && *p <= '9') {
            c->stamp = c->stamp * 10 + (uint64_t)(*p - '0');
            if (c->digits++ < STAMP_DIGITS) continue;
            if (c->stamp && c->measured && delay_count < MAX_DELAYS) delays[delay_count++] = (double)(now - c->stamp) / 1e6;
            c->digits = 0;
        } else c->digits = 0;
    }
}

/* Returns how much of the bytes belonged to the header block; sets `in_body` at its end. */
static size_t take_head(connection *c, const char *p, size_t n) {
    size_t room = sizeof c->head - 1 - c->head_length, take = n < room ? n : room, before = c->head_length;
    memcpy(c->head + before, p, take);
    c->head_length += take;
    c->head[c->head_length] = 0;
    char *end = strstr(c->head, "\r\n\r\n");
    if (!end) return take;
    end[2] = 0;
    c->status = atoi(c->head + 9);
    if (c->status == 100) {
        c->head_length = 0;
        return (size_t)(end + 4 - c->head) - before;
    }
    const char *wish = header(c->head, "connection");
    c->close_after = wish && !strncasecmp(wish, "close", 5);
    c->body = body_of(c->head, BODY_UNTIL_CLOSE);
    c->in_body = 1;
    return (size_t)(end + 4 - c->head) - before;
}

/* Returns 1 at the end of the answer, -1 where it cannot be read. */
static int take(connection *c, const char *p, size_t n) {
    uint64_t now = now_ns();
    while (n && !c->in_body) {
        size_t used = take_head(c, p, n);
        if (!used) return -1;
        p += used, n -= used;
    }
    if (c->in_body && c->body.done) return 1;
    while (n && !c->body.done) {
        size_t payload, used = body_step(&c->body, p, n, &payload);
        if (payload) {
            if (!c->first_byte) c->first_byte = now;
            if (c->status == 200) scan(c, p, payload, now);
            else note(p, payload);
        }
        p += used, n -= used;
    }
    return c->body.done;
}

static void readable(connection *c) {
    static char buffer[1 << 18];
    for (;;) {
        ssize_t got = recv(c->fd, buffer, sizeof buffer, 0);
        if (got < 0 && errno == EAGAIN) return;
        if (got <= 0) {
            finish(c, c->in_body && c->body.framing == BODY_UNTIL_CLOSE && got == 0);
            return;
        }
        int end = take(c, buffer, (size_t)got);
        if (end) {
            finish(c, end > 0);
            return;
        }
    }
}

/* ---- the run ---- */

static void prepare(void) {
    FILE *out = open_memstream(&head.bytes, &head.length);
    body = read_file(option.body);
    if (option.marker) {
        char *at = memmem(body.bytes, body.length, option.marker, NONCE_BYTES);
        if (!at) fail("%s holds no %s", option.body, option.marker);
        nonce_at = (size_t)(at - body.bytes);
    }
    fprintf(out, "POST %s HTTP/1.1\r\nHost: %s:%d\r\nContent-Type: application/json\r\nAccept: */*\r\nContent-Length: %zu\r\n",
        option.path, option.host, option.port, body.length);
    for (int i = 0; i < option.header_count; i++) fprintf(out, "%s\r\n", option.headers[i]);
    fputs("\r\n", out);
    fclose(out);
    totals = allocate((option.requests + MAX_CONNECTIONS) * sizeof *totals);
    first_bytes = allocate((option.requests + MAX_CONNECTIONS) * sizeof *first_bytes);
    delays = allocate(MAX_DELAYS * sizeof *delays);
}

static void run(connection *all) {
    uint64_t give_up = now_ns() + (uint64_t)((option.seconds * 3 + 300) * 1e9);
    for (;;) {
        int live = 0;
        uint64_t now = now_ns();
        for (int i = 0; i < option.connections; i++) {
            if (!all[i].running) continue;
            live++;
            if (now > give_up || now > all[i].began + 150000000000ull) {
                note("timed out", 9);
                errors++;
                return;
            }
        }
        if (!live) return;
        struct epoll_event ready[MAX_CONNECTIONS];
        int n = epoll_wait(poller, ready, MAX_CONNECTIONS, 1000);
        for (int i = 0; i < n; i++) {
            connection *c = ready[i].data.ptr;
            if (!c->running) continue;
            if (ready[i].events & EPOLLOUT) pump(c);
            if (ready[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) readable(c);
        }
    }
}

static void report(void) {
    double seconds = measured ? (double)(last_end - measuring_since) / 1e9 : 0;
    qsort(totals, measured, sizeof *totals, by_value);
    qsort(first_bytes, measured, sizeof *first_bytes, by_value);
    qsort(delays, delay_count, sizeof *delays, by_value);
    printf("{\"n\":%zu,\"sent\":%llu,\"errors\":%llu,\"seconds\":%.3f,\"rps\":%.2f,", measured, started, errors, seconds,
        seconds > 0 ? (double)measured / seconds : 0);
    printf("\"p50\":%.4f,\"p90\":%.4f,\"p99\":%.4f,\"max\":%.4f,\"ttfb50\":%.4f,\"ttfb99\":%.4f,", percentile(totals, measured, .5),
        percentile(totals, measured, .9), percentile(totals, measured, .99), percentile(totals, measured, 1),
        percentile(first_bytes, measured, .5), percentile(first_bytes, measured, .99));
    printf("\"events\":%.2f,\"delays\":%zu,\"delay50\":%.4f,\"delay99\":%.4f,\"delay_max\":%.4f,\"error\":\"%s\"}\n",
        measured ? (double)event_total / (double)measured : 0, delay_count, percentile(delays, delay_count, .5),
        percentile(delays, delay_count, .99), percentile(delays, delay_count, 1), first_error);
}

static void read_options(int argc, char **argv) {
    static const struct option known[] = {{"host", 1, 0, 'h'}, {"port", 1, 0, 'p'}, {"path", 1, 0, 'P'}, {"body", 1, 0, 'b'},
        {"header", 1, 0, 'H'}, {"nonce", 1, 0, 'n'}, {"connections", 1, 0, 'c'}, {"requests", 1, 0, 'r'}, {"at-least", 1, 0, 'l'},
        {"seconds", 1, 0, 's'}, {"warmup", 1, 0, 'w'}, {0, 0, 0, 0}};
    for (int o; (o = getopt_long(argc, argv, "", known, NULL)) != -1;) switch (o) {
        case 'h': option.host = optarg; break;
        case 'p': option.port = (int)number(optarg, 1, 65535); break;
        case 'P': option.path = optarg; break;
        case 'b': option.body = optarg; break;
        case 'H':
            if (option.header_count == MAX_HEADERS) fail("at most %d headers", MAX_HEADERS);
            option.headers[option.header_count++] = optarg;
            break;
        case 'n': option.marker = optarg; break;
        case 'c': option.connections = (int)number(optarg, 1, MAX_CONNECTIONS); break;
        case 'r': option.requests = (unsigned long long)number(optarg, 1, 1000000); break;
        case 'l': option.at_least = (unsigned long long)number(optarg, 1, 10000); break;
        case 's': option.seconds = atof(optarg); break;
        case 'w': option.warmup = (unsigned long long)number(optarg, 0, 10000); break;
        default: fail("see the head of loadgen.c for the options");
        }
    if (!option.port || !option.path || !option.body) fail("--port, --path and --body are needed");
    if (option.seconds <= 0 || option.seconds > 600) fail("--seconds must lie between 0 and 600");
    if (option.marker && strlen(option.marker) != NONCE_BYTES) fail("--nonce must be %d bytes long", NONCE_BYTES);
}

int main(int argc, char **argv) {
    read_options(argc, argv);
    address = loopback(option.host, option.port);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prepare();
    poller = epoll_create1(EPOLL_CLOEXEC);
    connection *all = allocate((size_t)option.connections * sizeof *all);
    for (int i = 0; i < option.connections; i++) open_connection(&all[i]);
    for (int i = 0; i < option.connections; i++) start(&all[i]);
    run(all);
    report();
    return 0;
}
