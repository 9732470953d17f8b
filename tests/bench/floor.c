/* SPDX-License-Identifier: Apache-2.0 */
/* bench-floor: what any shipper has to do and nothing else: read files, cut at newlines,
 * compress, keep one socket full. It remembers nothing and waits for no answer before the
 * next frame. Usage: floor PORT LEVEL FRAME_BYTES FILE...   (LEVEL "none": the bytes as
 * they are; else a gzip file is inflated) */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>

static struct {
    int socket;
    ZSTD_CCtx *zstd; /* NULL = none */
    size_t frame_bytes;
    char *raw;
    char *frame;
    size_t frame_cap;
    unsigned long long sent, answered;
} at;

static void fail(const char *what)
{
    fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void send_all(const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(at.socket, data, len);
        if (n < 0) {
            fail("write");
        }
        data += n;
        len -= (size_t)n;
    }
}

/* A reply ends in its body's only closing brace. */
static void count_answers(bool wait)
{
    char reply[65536];
    ssize_t n;
    while ((n = recv(at.socket, reply, sizeof reply, wait ? 0 : MSG_DONTWAIT)) > 0) {
        for (ssize_t i = 0; i < n; i++) {
            at.answered += reply[i] == '}';
        }
        if (wait) {
            return;
        }
    }
}

static void post(const char *data, size_t len)
{
    char head[256];
    int head_len = snprintf(head, sizeof head,
                            "POST /api/v1/events/stream HTTP/1.1\r\nHost: sink\r\n%s"
                            "Content-Length: %zu\r\n\r\n",
                            at.zstd ? "Content-Encoding: zstd\r\n" : "", len);
    send_all(head, (size_t)head_len);
    send_all(data, len);
    at.sent++;
    count_answers(false);
}

static void ship_lines(const char *data, size_t len)
{
    size_t frame = ZSTD_compress2(at.zstd, at.frame, at.frame_cap, data, len);
    if (ZSTD_isError(frame)) {
        fail("compress");
    }
    post(at.frame, frame);
}

static void ship(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t offset = 0;
    ssize_t n;
    if (fd < 0) {
        fail(path);
    }
    while ((n = pread(fd, at.raw, at.frame_bytes, offset)) > 0) {
        const char *newline = at.zstd ? memrchr(at.raw, '\n', (size_t)n) : NULL;
        size_t cut = newline ? (size_t)(newline - at.raw) + 1 : (size_t)n;
        offset += (off_t)cut;
        if (at.zstd) {
            ship_lines(at.raw, cut);
        } else {
            post(at.raw, cut);
        }
    }
    close(fd);
}

static void ship_gzip(const char *path)
{
    gzFile file = gzopen(path, "r");
    size_t torn = 0;
    int n;
    if (!file || gzbuffer(file, 65536) != 0) {
        fail(path);
    }
    while ((n = gzread(file, at.raw + torn, (unsigned)(at.frame_bytes - torn))) > 0) {
        size_t len = torn + (size_t)n;
        const char *newline = memrchr(at.raw, '\n', len);
        size_t cut = newline ? (size_t)(newline - at.raw) + 1 : len;
        ship_lines(at.raw, cut);
        torn = len - cut;
        memmove(at.raw, at.raw + cut, torn);
    }
    if (n < 0 || gzclose(file) != Z_OK) {
        fail(path);
    }
}

static void connect_to(const char *port)
{
    int one = 1;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)atoi(port)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    at.socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(at.socket, (struct sockaddr *)&address, sizeof address) < 0) {
        fail("connect");
    }
    setsockopt(at.socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: floor PORT LEVEL|none FRAME_BYTES FILE...\n");
        return 2;
    }
    connect_to(argv[1]);
    at.frame_bytes = strtoull(argv[3], NULL, 10);
    at.frame_cap = ZSTD_compressBound(at.frame_bytes);
    at.raw = malloc(at.frame_bytes);
    at.frame = malloc(at.frame_cap);
    if (!at.raw || !at.frame) {
        fail("memory");
    }
    if (strcmp(argv[2], "none") != 0) {
        at.zstd = ZSTD_createCCtx();
        ZSTD_CCtx_setParameter(at.zstd, ZSTD_c_compressionLevel, atoi(argv[2]));
    }
    for (char **path = argv + 4; *path; path++) {
        const char *dot = strrchr(*path, '.');
        if (at.zstd && dot && strcmp(dot, ".gz") == 0) {
            ship_gzip(*path);
        } else {
            ship(*path);
        }
    }
    while (at.answered < at.sent) {
        count_answers(true);
    }
    return 0;
}
