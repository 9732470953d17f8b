/* SPDX-License-Identifier: Apache-2.0 */
/* A job that takes or closes all numbers of descriptors, over and over, while its threads
 * record. Its own calls are the kernel's, so that none is delayed by tests/fake. Usage:
 * numbers LOG_DIR FILE HOW ROUNDS:
 *
 *  - taken: puts its file under each number from 3 to 1023
 *  - closed: closes all from 3 on, and opens its file again
 *
 * Standard output tells the scopes that were recorded, the lines that the file must have
 * ("job\n" each), and how many numbers it lacks. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <gpufl/gpufl.h>

#define THREADS 8
#define FIRST   3
#define BEYOND  1024
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static _Atomic bool over;
static _Atomic unsigned long scopes;
static unsigned long lines;

static void *record(void *arg)
{
    const struct timespec pause = {.tv_nsec = 200000};
    while (!atomic_load(&over)) {
        gpufl_scope_end(gpufl_scope_begin("work"));
        atomic_fetch_add(&scopes, 1);
        nanosleep(&pause, NULL);
    }
    return arg;
}

static int open_file(const char *path)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_APPEND, 0600);
    if (fd < 0) {
        perror(path);
        exit(9);
    }
    return fd;
}

static void add_line(int fd)
{
    if (syscall(SYS_write, fd, "job\n", 4) != 4) {
        fprintf(stderr, "write to %d: %s\n", fd, strerror(errno));
        exit(8);
    }
    lines++;
}

static void take_all(int fd)
{
    for (int number = FIRST; number < BEYOND; number++) {
        while (number != fd && syscall(SYS_dup3, fd, number, 0) < 0 && errno == EBUSY) {
        }
    }
    add_line(FIRST + (int)(lines % (BEYOND - FIRST)));
}

static unsigned missing(const char *path)
{
    struct stat its;
    struct stat st;
    unsigned count = 0;
    stat(path, &its);
    for (int number = FIRST; number < BEYOND; number++) {
        count += syscall(SYS_newfstatat, number, "", &st, AT_EMPTY_PATH) != 0 ||
                 st.st_ino != its.st_ino;
    }
    return count;
}

static void play(const char *path, bool takes, unsigned long rounds)
{
    int fd = open_file(path);
    for (unsigned long round = 0; round < rounds; round++) {
        if (takes) {
            take_all(fd);
        } else {
            syscall(SYS_close_range, FIRST, ~0U, 0);
            fd = open_file(path);
            add_line(fd);
        }
    }
}

int main(int argc, char **argv)
{
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    pthread_t thread[THREADS];
    if (argc < 5) {
        return 2;
    }
    options.log_path = argv[1];
    options.backend = GPUFL_BACKEND_NONE;
    options.continuous_system_sampling = true;
    options.system_sample_rate_ms = 10;
    if (gpufl_init(&options) != GPUFL_OK) {
        return 3;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&thread[i], NULL, record, NULL);
    }
    while (atomic_load(&scopes) == 0) {
    }
    bool takes = strcmp(argv[3], "taken") == 0;
    play(argv[2], takes, strtoul(argv[4], NULL, 10));
    atomic_store(&over, true);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    gpufl_flush();
    printf("%lu %lu %u\n", atomic_load(&scopes), lines, takes ? missing(argv[2]) : 0);
    gpufl_shutdown();
    return 0;
}
