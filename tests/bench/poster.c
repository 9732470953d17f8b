/* SPDX-License-Identifier: Apache-2.0 */
/* bench-poster: sends trees to a backend as fast as it takes them: all requests are made
 * first, and each connection has one on its way. Usage: poster PORT CONNECTIONS
 * SESSION_DIRECTORY... It prints a JSON line: bytes of lines, and seconds. */
#include <arpa/inet.h>
#include <dirent.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "base/crc32c.h"
#include "base/text.h"

#define PART_BYTES      (1u << 20)
#define CONNECTIONS_MAX 16

struct queue {
    struct text *request;
    size_t count;
    int fd;
};

static struct queue queue[CONNECTIONS_MAX];
static uint64_t raw_bytes;

static void require(bool ok, const char *what)
{
    if (!ok) {
        perror(what);
        exit(1);
    }
}

static void append_frame(struct text *to, const void *data, size_t len)
{
    size_t bound = ZSTD_compressBound(len);
    require(text_reserve(to, bound), "memory");
    to->len += ZSTD_compress(to->data + to->len, bound, data, len, 1);
}

/* Where a stream is: everything before it was put into requests. */
struct place {
    uint64_t offset, lines;
    uint32_t crc;
};

static struct place behind(struct place at, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        at.lines += data[i] == '\n';
    }
    at.offset += len;
    at.crc = crc32c(at.crc, data, len);
    return at;
}

static void print_place(struct text *to, const char *key, const struct place *at)
{
    text_printf(to,
                ",\"%s\":{\"file\":1,\"offset\":%" PRIu64 ",\"lines\":%" PRIu64
                ",\"crc\":%" PRIu32 "}",
                key, at->offset, at->lines, at->crc);
}

static void add_request(struct queue *to, const struct text *list, const char *data,
                        size_t len)
{
    struct text body = {0};
    append_frame(&body, list->data, list->len);
    append_frame(&body, data, len);
    to->request = realloc(to->request, (to->count + 1) * sizeof *to->request);
    require(to->request, "memory");
    struct text *request = &to->request[to->count++];
    *request = (struct text){0};
    text_printf(request,
                "POST /api/v1/events/parts HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                "Content-Encoding: zstd\r\nContent-Length: %zu\r\n\r\n",
                body.len);
    text_append(request, body.data, body.len);
    text_fini(&body);
}

static void add_stream(struct queue *to, const char *session, const char *channel,
                       const struct text *lines)
{
    struct place at = {0};
    while (at.offset < lines->len) {
        const char *data = lines->data + at.offset;
        size_t left = lines->len - at.offset;
        const char *end =
            left > PART_BYTES ? memrchr(data, '\n', PART_BYTES) : data + left - 1;
        require(end, "a line of 1 MiB");
        size_t len = (size_t)(end - data) + 1;
        struct place next = behind(at, data, len);
        struct text list = {0};
        text_printf(&list, "{\"parts\":[{\"session\":\"%s\",\"channel\":\"%s\"", session,
                    channel);
        print_place(&list, "begin", &at);
        print_place(&list, "end", &next);
        text_printf(&list, "}]}\n");
        add_request(to, &list, data, len);
        text_fini(&list);
        raw_bytes += len;
        at = next;
    }
}

static void read_file(const char *path, struct text *out)
{
    FILE *file = fopen(path, "r");
    require(file, path);
    size_t n;
    do {
        require(text_reserve(out, PART_BYTES), "memory");
        n = fread(out->data + out->len, 1, PART_BYTES, file);
        out->len += n;
    } while (n > 0);
    fclose(file);
}

static void add_session(struct queue *to, const char *directory)
{
    const char *slash = strrchr(directory, '/');
    const char *session = slash ? slash + 1 : directory;
    DIR *listed = opendir(directory);
    require(listed, directory);
    for (struct dirent *entry; (entry = readdir(listed));) {
        char channel[64], path[4096];
        struct text lines = {0};
        size_t len = strlen(entry->d_name);
        if (len < 5 || strcmp(entry->d_name + len - 4, ".log") != 0) {
            continue;
        }
        snprintf(channel, sizeof channel, "%.*s", (int)len - 4, entry->d_name);
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        read_file(path, &lines);
        add_stream(to, session, channel, &lines);
        text_fini(&lines);
    }
    closedir(listed);
}

static int connect_to(uint16_t port)
{
    const int on = 1;
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    require(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0, "connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

/* Answers are short, and end as JSON does, in a line of its own; refusals may not. */
static void read_answer(int fd)
{
    static const char accepted[] = "HTTP/1.1 200";
    char answer[8192];
    size_t len = 0;
    do {
        ssize_t n = read(fd, answer + len, sizeof answer - 1 - len);
        require(n > 0, "answer");
        len += (size_t)n;
        answer[len] = '\0';
        require(len < sizeof accepted ||
                    strncmp(answer, accepted, sizeof accepted - 1) == 0,
                answer);
    } while (len < 4 || memcmp(answer + len - 4, "}]}\n", 4) != 0);
    require(strstr(answer, "\"verdict\":\"stored\""), answer);
}

static void *send_all(void *arg)
{
    const struct queue *q = arg;
    for (size_t i = 0; i < q->count; i++) {
        const struct text *request = &q->request[i];
        for (size_t sent = 0; sent < request->len;) {
            ssize_t n = write(q->fd, request->data + sent, request->len - sent);
            require(n > 0, "send");
            sent += (size_t)n;
        }
        read_answer(q->fd);
    }
    return NULL;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    pthread_t thread[CONNECTIONS_MAX];
    int connections = argc > 3 ? (int)strtol(argv[2], NULL, 10) : 0;
    require(connections > 0 && connections <= CONNECTIONS_MAX, "arguments");
    for (int i = 3; i < argc; i++) {
        add_session(&queue[(i - 3) % connections], argv[i]);
    }
    for (int i = 0; i < connections; i++) {
        queue[i].fd = connect_to((uint16_t)strtol(argv[1], NULL, 10));
    }
    double begin = now_s();
    for (int i = 0; i < connections; i++) {
        require(pthread_create(&thread[i], NULL, send_all, &queue[i]) == 0, "thread");
    }
    for (int i = 0; i < connections; i++) {
        pthread_join(thread[i], NULL);
    }
    printf("{\"raw_bytes\": %" PRIu64 ", \"seconds\": %.4f}\n", raw_bytes,
           now_s() - begin);
    return 0;
}
