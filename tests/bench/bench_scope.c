/* SPDX-License-Identifier: Apache-2.0 */
/* What a scope costs the job: ns for begin and end each, on 1 and on 8 threads, beside
 * the floor: one clock read and one 64-byte row written into a ring-sized array. p50 and
 * p99 are of rounds of many scopes, p99.9 is of single ones and has two clock reads in
 * it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gpufl/gpufl.h>

#include "collector-lib/core/clock.h"
#include "collector-lib/core/ring.h"

#define ROUNDS   400
#define IN_ROUND 500 /* scopes between two pauses: what a ring takes without a drop */

struct measured {
    double side_ns[ROUNDS];
    double single_ns[ROUNDS * IN_ROUND];
};

static struct measured measured[8];

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static double percentile(double *value, size_t count, double part)
{
    qsort(value, count, sizeof *value, by_value);
    return value[(size_t)((double)(count - 1) * part)];
}

static void pause_ms(long ms)
{
    struct timespec t = {.tv_nsec = ms * 1000000};
    nanosleep(&t, NULL);
}

static void *scopes(void *arg)
{
    struct measured *m = arg;
    for (int r = 0; r < ROUNDS; r++) {
        int64_t begin = clock_mono_ns();
        for (int i = 0; i < IN_ROUND; i++) {
            gpufl_scope_end(gpufl_scope_begin("benchmark"));
        }
        m->side_ns[r] = (double)(clock_mono_ns() - begin) / (2 * IN_ROUND);
        pause_ms(5);
    }
    return NULL;
}

static void *single_scopes(void *arg)
{
    struct measured *m = arg;
    for (int r = 0; r < ROUNDS; r++) {
        for (int i = 0; i < IN_ROUND; i++) {
            int64_t begin = clock_mono_ns();
            gpufl_scope_end(gpufl_scope_begin("benchmark"));
            m->single_ns[r * IN_ROUND + i] = (double)(clock_mono_ns() - begin) / 2;
        }
        pause_ms(5);
    }
    return NULL;
}

static void *floor_of(void *arg)
{
    static __thread struct row row[RING_ROWS];
    struct measured *m = arg;
    size_t at = 0;
    for (int r = 0; r < ROUNDS; r++) {
        int64_t begin = clock_mono_ns();
        for (int i = 0; i < 2 * IN_ROUND; i++) {
            row[at++ % RING_ROWS] =
                (struct row){.mono_ns = clock_mono_ns(), .instance = at, .name_id = 1};
            __asm__ volatile("" : : "r"(row) : "memory");
        }
        m->side_ns[r] = (double)(clock_mono_ns() - begin) / (2 * IN_ROUND);
        pause_ms(1);
    }
    return NULL;
}

static void run_all(void *(*run)(void *), int threads)
{
    pthread_t thread[8];
    for (int i = 0; i < threads; i++) {
        pthread_create(&thread[i], NULL, run, &measured[i]);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
    }
}

static double p999_of_singles(int threads)
{
    static double all[8 * ROUNDS * IN_ROUND];
    run_all(single_scopes, threads);
    for (int i = 0; i < threads; i++) {
        memcpy(all + i * ROUNDS * IN_ROUND, measured[i].single_ns,
               sizeof measured[i].single_ns);
    }
    return percentile(all, (size_t)threads * ROUNDS * IN_ROUND, 0.999);
}

static double measure(const char *name, void *(*run)(void *), int threads)
{
    static double all[8 * ROUNDS];
    size_t count = (size_t)threads * ROUNDS;
    run_all(run, threads);
    for (int i = 0; i < threads; i++) {
        memcpy(all + i * ROUNDS, measured[i].side_ns, sizeof measured[i].side_ns);
    }
    double median = percentile(all, count, 0.5);
    printf("{\"bench\":\"scope\",\"what\":\"%s\",\"threads\":%d,\"side_ns_p50\":%.1f,"
           "\"side_ns_p99\":%.1f",
           name, threads, median, percentile(all, count, 0.99));
    return median;
}

int main(void)
{
    char dir[] = "/tmp/gpufl-bench-XXXXXX";
    char command[64];
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    if (!mkdtemp(dir)) {
        return 1;
    }
    options.log_path = dir;
    if (gpufl_init(&options) != GPUFL_OK) {
        return 1;
    }
    for (int threads = 1; threads <= 8; threads *= 8) {
        double floor_ns = measure("floor", floor_of, threads);
        puts("}");
        double ns = measure("scope", scopes, threads);
        printf(",\"side_ns_p999\":%.0f,\"ratio\":%.2f}\n", p999_of_singles(threads),
               ns / floor_ns);
        fflush(stdout);
    }
    gpufl_shutdown();
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) ? 1 : 0;
}
