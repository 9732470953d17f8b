/* SPDX-License-Identifier: Apache-2.0 */
/* Hands out seeds to processes. */
#include "tests/sim/pool.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "tests/sim/calls.h"

#define PROCESSES_MAX 256

/* What the processes share. */
struct pool {
    atomic_ullong next, failed, digest;
    atomic_ullong running[PROCESSES_MAX]; /* the seed; NOTHING */
};

#define NOTHING UINT64_MAX

static double now_s(void)
{
    struct timespec t;
    __real_clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu_s(void)
{
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static void work_on(struct pool *pool, const struct pool_work *work, unsigned self,
                    double end_s)
{
    while (!(work->first_only && pool->failed) && now_s() < end_s) {
        unsigned long long seed = pool->next++;
        if (seed > work->last) {
            break;
        }
        pool->running[self] = seed;
        uint64_t hash;
        pool->failed += !work->run(seed, work->arg, &hash);
        pool->digest += hash64_word(hash, seed);
        pool->running[self] = NOTHING;
    }
    fflush(stdout);
}

/* \return false if it is to be started again. */
static bool has_ended(struct pool *pool, unsigned self, int status)
{
    unsigned long long seed = pool->running[self];
    if (seed == NOTHING) {
        return true;
    }
    printf("SEED %llu fails: crash: its process ended with status %#x\n", seed,
           (unsigned)status);
    fflush(stdout);
    pool->running[self] = NOTHING;
    pool->failed++;
    return false;
}

static pid_t start(struct pool *pool, const struct pool_work *work, unsigned self,
                   double end_s)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        work_on(pool, work, self, end_s);
        _exit(0);
    }
    if (pid < 0) {
        perror("sim: fork");
        exit(2);
    }
    return pid;
}

static void wait_for_all(struct pool *pool, const struct pool_work *work, pid_t *pid,
                         double end_s)
{
    int status;
    for (pid_t gone; (gone = wait(&status)) > 0;) {
        for (unsigned i = 0; i < work->processes; i++) {
            if (pid[i] == gone && !has_ended(pool, i, status)) {
                pid[i] = start(pool, work, i, end_s);
            }
        }
    }
}

void pool_run(const struct pool_work *work, struct pool_sum *sum)
{
    pid_t pid[PROCESSES_MAX];
    struct pool_work w = *work;
    struct pool *pool = mmap(NULL, sizeof *pool, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    double begun_s = now_s();
    double end_s = begun_s + (w.seconds > 0 ? w.seconds : 1e9);
    if (pool == MAP_FAILED) {
        perror("sim: mmap");
        exit(2);
    }
    w.processes = w.processes < PROCESSES_MAX ? w.processes : PROCESSES_MAX;
    pool->next = w.first;
    for (unsigned i = 0; i < w.processes; i++) {
        pool->running[i] = NOTHING;
        pid[i] = start(pool, &w, i, end_s);
    }
    wait_for_all(pool, &w, pid, end_s);
    sum->end = pool->next <= w.last ? pool->next : w.last + 1;
    sum->failed = pool->failed;
    sum->digest = pool->digest;
    sum->took_s = now_s() - begun_s;
    sum->cpu_s = cpu_s();
    munmap(pool, sizeof *pool);
}
