/* What the benchmark programs share: time, files, loopback sockets, HTTP/1.1 bodies and percentiles. */
#ifndef COLDPRESS_BENCH_COMMON_H
#define COLDPRESS_BENCH_COMMON_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Longest header block we accept from anyone. */
enum { MAX_HEADER_BYTES = 32768 };

static inline uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

__attribute__((format(printf, 1, 2), noreturn)) static inline void fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(2);
}

static inline void *allocate(size_t bytes) {
    void *p = calloc(1, bytes ? bytes : 1);
    if (!p) fail("out of memory (%zu bytes)", bytes);
    return p;
}

/* Read an option's number, or stop: a typo must not become a zero. */
static inline long long number(const char *text, long long least, long long most) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < least || value > most)
        fail("'%s' is not a number from %lld to %lld", text, least, most);
    return value;
}

typedef struct {
    char *bytes;
    size_t length;
} blob;

static inline blob read_file(const char *path) {
    struct stat st;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st)) fail("%s: %s", path, strerror(errno));
    blob b = {allocate((size_t)st.st_size + 1), (size_t)st.st_size};
    for (size_t at = 0; at < b.length;) {
        ssize_t got = read(fd, b.bytes + at, b.length - at);
        if (got <= 0) fail("%s: could not be read whole", path);
        at += (size_t)got;
    }
    close(fd);
    return b;
}

/* The only addresses these programs ever talk to are 127.0.0.0/8: a load generator must not be aimed elsewhere. */
static inline struct sockaddr_in loopback(const char *host, int port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    if (inet_pton(AF_INET, host, &a.sin_addr) != 1) fail("'%s' is not an IPv4 address", host);
    if ((ntohl(a.sin_addr.s_addr) >> 24) != 127) fail("'%s' is not a loopback address; only 127.0.0.0/8 is allowed", host);
    return a;
}

static inline int connect_to(const struct sockaddr_in *address) {
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) fail("socket: %s", strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (const struct sockaddr *)address, sizeof *address)) fail("connect: %s", strerror(errno));
    return fd;
}

/* ---- HTTP bodies, taken apart as the bytes arrive ---- */

typedef enum { BODY_LENGTH, BODY_CHUNKED, BODY_UNTIL_CLOSE } framing;
typedef enum { CHUNK_SIZE, CHUNK_DATA, CHUNK_END, CHUNK_TRAILER } chunk_state;

typedef struct {
    framing framing;
    chunk_state state;
    unsigned long long left; /* bytes of payload still to come, in the body or in this chunk */
    char line[24];           /* the chunk-size line, or 1 byte that says the trailer line is not empty */
    int line_length;
    int done;
} body_reader;

/* Find a header's value in a NUL-terminated block that begins with the start line; NULL where it is missing. */
static inline const char *header(const char *block, const char *name) {
    size_t n = strlen(name);
    for (const char *at = strstr(block, "\r\n"); at; at = strstr(at + 2, "\r\n"))
        if (!strncasecmp(at + 2, name, n) && at[2 + n] == ':') {
            const char *value = at + 3 + n;
            while (*value == ' ' || *value == '\t') value++;
            return value;
        }
    return NULL;
}

/* `otherwise` says what a message with neither length nor chunks is: an empty request, or a reply that ends with the connection. */
static inline body_reader body_of(const char *block, framing otherwise) {
    body_reader r = {.framing = otherwise};
    const char *coding = header(block, "transfer-encoding"), *length = header(block, "content-length");
    if (coding && !strncasecmp(coding, "chunked", 7))
        r.framing = BODY_CHUNKED;
    else if (length)
        r.framing = BODY_LENGTH, r.left = strtoull(length, NULL, 10);
    r.done = r.framing == BODY_LENGTH && r.left == 0;
    return r;
}

/* Consume some of `p[0..n)`, n > 0: returns how much, and in `*payload` how much of its front is payload (0 for framing). */
static inline size_t body_step(body_reader *r, const char *p, size_t n, size_t *payload) {
    *payload = 0;
    if (r->framing == BODY_UNTIL_CLOSE) return *payload = n;
    if (r->framing == BODY_LENGTH || r->state == CHUNK_DATA) {
        size_t take = n < r->left ? n : (size_t)r->left;
        r->left -= take;
        if (!r->left) {
            if (r->framing == BODY_LENGTH) r->done = 1;
            else r->state = CHUNK_END;
        }
        return *payload = take;
    }
    char c = *p;
    if (r->state == CHUNK_SIZE) {
        if (c == '\n') {
            r->line[r->line_length] = 0;
            r->left = strtoull(r->line, NULL, 16);
            r->line_length = 0;
            r->state = r->left ? CHUNK_DATA : CHUNK_TRAILER;
        } else if (r->line_length < (int)sizeof r->line - 1) {
            r->line[r->line_length++] = c;
        }
    } else if (r->state == CHUNK_END) {
        if (c == '\n') r->state = CHUNK_SIZE;
    } else if (c == '\n') { /* CHUNK_TRAILER: an empty line ends the message */
        r->done = r->line_length == 0;
        r->line_length = 0;
    } else if (c != '\r') {
        r->line_length = 1;
    }
    return 1;
}

/* ---- samples ---- */

static inline int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Nearest-rank percentile of sorted values; 0 where there are none (the caller prints the count beside it). */
static inline double percentile(const double *sorted, size_t n, double q) {
    if (!n) return 0;
    size_t rank = (size_t)(q * (double)n + 0.999999);
    return sorted[rank ? (rank <= n ? rank - 1 : n - 1) : 0];
}

#endif
