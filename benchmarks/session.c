/*
 * Act as one agent on one connection: send a growing conversation turn by turn, or ask a path for its health at a steady beat.
 *
 *     session --port P --path /v1/messages --body FILE --turns FILE --seconds 120 [--mark TEXT] [--marks 1|2] [--nonce MARKER]
 *             [--header 'Name: value']...
 *     session --port P --path /health --every-us 2000 --seconds 5
 *
 * The first form is how a conversation comes to be known to a gateway. The first line of the turns file says how many bytes at
 * the end of the body stand behind the messages; each other line is `CUT BEFORE LAST`: a request made of the body up to CUT and
 * that end, with TEXT, a cache mark, inserted at offset LAST, and with --marks 2 at BEFORE as well (0: there is no such
 * place). MARKER, 16 bytes that occur once in the body, is replaced by bytes of this run, so that the conversation is a new one.
 * It prints one line a request: bytes sent, milliseconds. It ends early when --seconds are over.
 *
 * The second form sends a GET every so many microseconds and waits for each answer. Beats that fall into a long answer are
 * not made up for; the long answer itself is the finding. It prints one JSON object: n, errors, p50, p99, p999, max in milliseconds.
 *
 * --host may name another address of 127.0.0.0/8 than 127.0.0.1; all others are refused. A run ends after 900 s at the latest.
 */
#include "common.h"
#include <getopt.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/uio.h>

enum { NONCE_BYTES = 16, MAX_PARTS = 10, MAX_HEADERS = 16, MAX_BEATS = 1 << 20, LIFETIME_SECONDS = 900 };

static struct {
    const char *host, *path, *body, *turns, *mark, *marker, *headers[MAX_HEADERS];
    int port, header_count, marks;
    long every_us;
    double seconds;
} option = {.host = "127.0.0.1", .mark = "", .marks = 1, .seconds = 1};

static struct sockaddr_in address;
static int fd = -1;

static void send_all(struct iovec *parts, int count) {
    while (count) {
        ssize_t wrote = writev(fd, parts, count);
        if (wrote < 0) fail("send: %s", strerror(errno));
        for (; count && (size_t)wrote >= parts->iov_len; parts++, count--) wrote -= (ssize_t)parts->iov_len;
        if (count) parts->iov_base = (char *)parts->iov_base + wrote, parts->iov_len -= (size_t)wrote;
    }
}

/* Read one answer and forget it; returns its status. Ends the connection where the answer asks for that. */
static int read_answer(void) {
    static char buffer[1 << 16], head[MAX_HEADER_BYTES];
    size_t held = 0;
    char *end = NULL;
    while (!end) {
        ssize_t got = recv(fd, head + held, sizeof head - 1 - held, 0);
        if (got <= 0) return 0;
        held += (size_t)got;
        head[held] = 0;
        end = strstr(head, "\r\n\r\n");
    }
    end[2] = 0;
    body_reader body = body_of(head, BODY_UNTIL_CLOSE);
    const char *p = end + 4, *wish = header(head, "connection");
    size_t left = held - (size_t)(p - head), payload;
    while (!body.done) {
        if (!left) {
            ssize_t got = recv(fd, buffer, sizeof buffer, 0);
            if (got <= 0) break;
            p = buffer, left = (size_t)got;
        }
        size_t used = body_step(&body, p, left, &payload);
        p += used, left -= used;
    }
    if (!body.done || (wish && !strncasecmp(wish, "close", 5))) close(fd), fd = -1;
    return atoi(head + 9);
}

/* Returns the milliseconds that the exchange took. */
static double exchange(struct iovec *parts, int count, int *status) {
    if (fd < 0) fd = connect_to(&address);
    uint64_t began = now_ns();
    send_all(parts, count);
    *status = read_answer();
    return (double)(now_ns() - began) / 1e6;
}

static void print_headers(FILE *out) {
    for (int i = 0; i < option.header_count; i++) fprintf(out, "%s\r\n", option.headers[i]);
    fputs("\r\n", out);
}

/* Cut the body at `cut`, insert the mark where asked, add the end: returns the number of parts, `parts[0]` left free. */
static int compose(struct iovec *parts, blob body, size_t suffix, size_t cut, const size_t marks[2]) {
    int count = 1;
    size_t at = 0, mark_length = strlen(option.mark);
    for (int i = 0; i < 2; i++) {
        if (!marks[i] || !mark_length) continue;
        if (marks[i] < at || marks[i] > cut) fail("marks must lie in order before their cut");
        parts[count++] = (struct iovec){body.bytes + at, marks[i] - at};
        parts[count++] = (struct iovec){(char *)option.mark, mark_length};
        at = marks[i];
    }
    parts[count++] = (struct iovec){body.bytes + at, cut - at};
    parts[count++] = (struct iovec){body.bytes + body.length - suffix, suffix};
    return count;
}

static void rename_conversation(blob body) {
    char nonce[NONCE_BYTES + 1], *at = memmem(body.bytes, body.length, option.marker, NONCE_BYTES);
    if (!at) fail("%s holds no %s", option.body, option.marker);
    snprintf(nonce, sizeof nonce, "G%07x%08llx", (unsigned)getpid() & 0xfffffff, (unsigned long long)now_ns() & 0xffffffff);
    memcpy(at, nonce, NONCE_BYTES);
}

static int grow(void) {
    blob body = read_file(option.body);
    if (option.marker) rename_conversation(body);
    FILE *turns = fopen(option.turns, "r");
    size_t suffix, cut, marks[2];
    if (!turns || fscanf(turns, "%zu", &suffix) != 1 || suffix > body.length) fail("%s: not a turns file", option.turns);
    int failures = 0;
    uint64_t end = now_ns() + (uint64_t)(option.seconds * 1e9);
    while (now_ns() < end && fscanf(turns, "%zu %zu %zu", &cut, &marks[0], &marks[1]) == 3) {
        if (option.marks < 2) marks[0] = 0;
        if (cut > body.length - suffix) fail("%s: a cut lies behind the body", option.turns);
        struct iovec parts[MAX_PARTS];
        int count = compose(parts, body, suffix, cut, marks), status;
        size_t length = 0;
        for (int i = 1; i < count; i++) length += parts[i].iov_len;
        blob head;
        FILE *out = open_memstream(&head.bytes, &head.length);
        fprintf(out, "POST %s HTTP/1.1\r\nHost: %s:%d\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n", option.path,
            option.host, option.port, length);
        print_headers(out);
        fclose(out);
        parts[0] = (struct iovec){head.bytes, head.length};
        double took_ms = exchange(parts, count, &status);
        free(head.bytes);
        if (status != 200 && ++failures > 3) fail("status %d at %zu bytes", status, length);
        if (status == 200) printf("%zu %.4f\n", length, took_ms);
    }
    fclose(turns);
    return failures ? 1 : 0;
}

static int beat(void) {
    double *took = allocate(MAX_BEATS * sizeof *took);
    size_t n = 0, errors = 0;
    blob head;
    FILE *out = open_memstream(&head.bytes, &head.length);
    fprintf(out, "GET %s HTTP/1.1\r\nHost: %s:%d\r\n", option.path, option.host, option.port);
    print_headers(out);
    fclose(out);
    uint64_t end = now_ns() + (uint64_t)(option.seconds * 1e9), step = (uint64_t)option.every_us * 1000, due = now_ns();
    while (due < end && n < MAX_BEATS) {
        struct timespec until = {(time_t)(due / 1000000000ull), (long)(due % 1000000000ull)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        int status;
        struct iovec part = {head.bytes, head.length};
        double ms = exchange(&part, 1, &status);
        if (status == 200) took[n++] = ms;
        else if (++errors > 100) break;
        uint64_t now = now_ns();
        for (due += step; due < now;) due += step;
    }
    qsort(took, n, sizeof *took, by_value);
    printf("{\"n\":%zu,\"errors\":%zu,\"p50\":%.4f,\"p99\":%.4f,\"p999\":%.4f,\"max\":%.4f}\n", n, errors, percentile(took, n, .5),
        percentile(took, n, .99), percentile(took, n, .999), percentile(took, n, 1));
    return 0;
}

int main(int argc, char **argv) {
    static const struct option known[] = {{"host", 1, 0, 'h'}, {"port", 1, 0, 'p'}, {"path", 1, 0, 'P'}, {"body", 1, 0, 'b'},
        {"turns", 1, 0, 't'}, {"mark", 1, 0, 'm'}, {"marks", 1, 0, 'k'}, {"nonce", 1, 0, 'n'}, {"header", 1, 0, 'H'}, {"every-us", 1, 0, 'e'}, {"seconds", 1, 0, 's'}, {0, 0, 0, 0}};
    for (int o; (o = getopt_long(argc, argv, "", known, NULL)) != -1;) switch (o) {
        case 'h': option.host = optarg; break;
        case 'p': option.port = (int)number(optarg, 1, 65535); break;
        case 'P': option.path = optarg; break;
        case 'b': option.body = optarg; break;
        case 't': option.turns = optarg; break;
        case 'm': option.mark = optarg; break;
        case 'k': option.marks = (int)number(optarg, 1, 2); break;
        case 'n': option.marker = optarg; break;
        case 'H':
            if (option.header_count == MAX_HEADERS) fail("at most %d headers", MAX_HEADERS);
            option.headers[option.header_count++] = optarg;
            break;
        case 'e': option.every_us = (long)number(optarg, 100, 10000000); break;
        case 's': option.seconds = atof(optarg); break;
        default: fail("see the head of session.c for the options");
        }
    if (!option.port || !option.path) fail("--port and --path are needed");
    if (!option.every_us && (!option.body || !option.turns)) fail("give --body and --turns, or --every-us");
    if (option.marker && strlen(option.marker) != NONCE_BYTES) fail("--nonce must be %d bytes long", NONCE_BYTES);
    if (option.seconds <= 0 || option.seconds > 600) fail("--seconds must lie between 0 and 600");
    address = loopback(option.host, option.port);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    alarm(LIFETIME_SECONDS);
    return option.every_us ? beat() : grow();
}
