/* SPDX-License-Identifier: Apache-2.0 */
/* bench-writer: jobs that record now. Each session's turn comes every TICK_MS; it then
 * writes LINES lines that say when they were written. Holds the sessions' locks until it
 * is told to stop by SIGTERM, or SECONDS are over; then ends the sessions. Prints
 * "ready", and at the end what it wrote. Usage: writer DIRECTORY SESSIONS TICK_MS LINES
 * ROWS SECONDS */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/process_identity.h"

#define LINE_MAX_BYTES 65536

struct session {
    char id[37];
    int fd;
    uint64_t next_ns;
};

static uint64_t state = 7;
static uint64_t lines, bytes;
static volatile sig_atomic_t stopped;

static void fail(const char *what)
{
    fprintf(stderr, "writer: %s: %s\n", what, strerror(errno));
    exit(1);
}

static unsigned pick(unsigned below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 20) % below);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void stop(int number)
{
    (void)number;
    stopped = 1;
}

static void open_session(struct session *s, const char *directory, unsigned number)
{
    char path[1024];
    snprintf(s->id, sizeof s->id, "%08x-0000-4000-8000-000000000001", number);
    snprintf(path, sizeof path, "%s/%s", directory, s->id);
    if (mkdir(path, 0755) < 0) {
        fail(path);
    }
    snprintf(path, sizeof path, "%s/%s/.gpufl-session.lock", directory, s->id);
    int lock = open(path, O_RDWR | O_CREAT, 0644);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (lock < 0 || fcntl(lock, F_SETLK, &whole) < 0) {
        fail(path);
    }
    snprintf(path, sizeof path, "%s/%s/.gpufl-session.json", directory, s->id);
    FILE *manifest = fopen(path, "w");
    if (!manifest) {
        fail(path);
    }
    struct process_identity self;
    process_identity_read(&self);
    fprintf(manifest,
            "{\"schema_version\":1,\"layout\":\"live\",\"session_id\":\"%s\",\"pid\":%d,"
            "\"boot_id\":\"%s\"}",
            s->id, (int)getpid(), self.boot_id);
    fclose(manifest);
    snprintf(path, sizeof path, "%s/%s/system.log", directory, s->id);
    s->fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (s->fd < 0) {
        fail(path);
    }
    dprintf(s->fd, "{\"type\":\"job_start\",\"session_id\":\"%s\"}\n", s->id);
}

static void write_line(const struct session *s, unsigned rows)
{
    static char line[LINE_MAX_BYTES];
    int len =
        snprintf(line, sizeof line,
                 "{\"version\":1,\"type\":\"device_metric_batch\",\"session_id\":\"%s\","
                 "\"t\":%" PRIu64 ",\"rows\":[",
                 s->id, now_ns());
    for (unsigned i = 0; i < rows && len < LINE_MAX_BYTES - 100; i++) {
        len += snprintf(line + len, sizeof line - (size_t)len,
                        "%s[%u,0,%u,%u,%u,%u,%u,143771,%u,0,0]", i ? "," : "", i * 100000,
                        60 + pick(40), 20 + pick(30), 55 + pick(9), 480000 + pick(60000),
                        70000 + pick(400), 1905 + 15 * pick(6));
    }
    len += snprintf(line + len, sizeof line - (size_t)len, "]}\n");
    if (write(s->fd, line, (size_t)len) != len) {
        fail("write");
    }
    lines++;
    bytes += (uint64_t)len;
}

static void sleep_until(uint64_t ns)
{
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u),
                         .tv_nsec = (long)(ns % 1000000000u)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr, "usage: writer DIRECTORY SESSIONS TICK_MS LINES ROWS SECONDS\n");
        return 2;
    }
    unsigned sessions = (unsigned)atoi(argv[2]);
    uint64_t tick_ns = strtoull(argv[3], NULL, 10) * 1000000;
    struct session *s = calloc(sessions, sizeof *s);
    struct rlimit many = {.rlim_cur = 2 * sessions + 64, .rlim_max = 2 * sessions + 64};
    if (!s || (sessions > 500 && setrlimit(RLIMIT_NOFILE, &many) < 0)) {
        fail("limits");
    }
    signal(SIGTERM, stop);
    for (unsigned i = 0; i < sessions; i++) {
        open_session(&s[i], argv[1], i);
    }
    puts("ready");
    fflush(stdout);
    uint64_t begin = now_ns();
    uint64_t end = begin + strtoull(argv[6], NULL, 10) * 1000000000u;
    for (unsigned i = 0; i < sessions; i++) {
        s[i].next_ns = begin + tick_ns * i / sessions;
    }
    for (uint64_t turn = 0; !stopped; turn++) {
        struct session *next = &s[turn % sessions];
        if (next->next_ns >= end) {
            break;
        }
        sleep_until(next->next_ns);
        for (int i = 0; i < atoi(argv[4]); i++) {
            write_line(next, (unsigned)atoi(argv[5]));
        }
        next->next_ns += tick_ns;
    }
    for (unsigned i = 0; i < sessions; i++) {
        dprintf(s[i].fd, "{\"type\":\"shutdown\",\"session_id\":\"%s\"}\n", s[i].id);
    }
    printf("{\"lines\":%" PRIu64 ",\"bytes\":%" PRIu64 "}\n", lines, bytes);
    return 0;
}
