/* SPDX-License-Identifier: Apache-2.0 */
/* What a scope costs the job: ns for begin and end each, on 1 and on 8 threads, beside
 * the floor: one clock read and one 64-byte row written into a ring-sized array. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gpufl/gpufl.h>

#include "collector-lib/clock.h"
#include "collector-lib/ring.h"

#define ROUNDS   400
#define IN_ROUND 500 /* scopes between two pauses: what a ring takes without a drop */

struct measured {
    double side_ns[ROUNDS];
};

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

static double measure(const char *name, void *(*run)(void *), int threads)
{
    static struct measured m[8];
    static double all[8 * ROUNDS];
    pthread_t thread[8];
    size_t count = (size_t)threads * ROUNDS;
    for (int i = 0; i < threads; i++) {
        pthread_create(&thread[i], NULL, run, &m[i]);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
        memcpy(all + i * ROUNDS, m[i].side_ns, sizeof m[i].side_ns);
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
        printf(",\"ratio\":%.2f}\n", ns / floor_ns);
        fflush(stdout);
    }
    gpufl_shutdown();
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) ? 1 : 0;
}
