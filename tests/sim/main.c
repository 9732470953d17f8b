/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator: `sim A..B` runs the worlds of these seeds, `sim A` shows one, `sim NAME`
 * a fixed plan. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "collector-lib/core/library_log.h"
#include "tests/sim/fixed_plans.h"
#include "tests/sim/plan.h"
#include "tests/sim/pool.h"
#include "tests/sim/shrink.h"

#define USAGE                                                                            \
    "usage: sim [OPTION]… A..B | sim [--no-shrink] A | sim plans | sim NAME\n"         \
    "  A..B         run the worlds of these seeds; print the shrunk plan of a failure\n" \
    "  A            print the history of one, shrunk if it fails\n"                      \
    "  plans        run the fixed plans\n"                                               \
    "  NAME         print the history of one of them\n"                                  \
    "  --no-shrink  leave a plan that fails as it is: shrinking runs up to 4000 "        \
    "worlds\n"                                                                           \
    "  --jobs N     run so many at once, not one for each processor\n"                   \
    "  --seconds N  stop after so long\n"                                                \
    "  --first      stop at the first failure, and do not shrink it\n"                   \
    "  --twice      run each twice, and compare their histories\n"                       \
    "  --digest     print a digest of all histories, to compare\n"

struct options {
    const char *plan; /* NULL = seeds */
    unsigned long long first, last;
    unsigned long long seconds;
    unsigned long long jobs; /* 0 = one for each processor */
    bool twice, digest, no_shrink, single, first_only;
};

static void print_plan(const struct plan *plan)
{
    for (unsigned i = 0; i < plan->steps; i++) {
        const struct step *s = &plan->step[i];
        printf("  %u. %s (%u %u %u)\n", i + 1, plan_step_text(s->kind), s->who, s->a,
               s->b);
    }
}

/* At once: what comes next may end this process. */
static void say_failure(unsigned long long seed, const struct outcome *found)
{
    printf("SEED %llu fails: %s: %s\n", seed, found->kind, found->detail);
    fflush(stdout);
}

static void shrink(struct plan *plan, const struct outcome *found)
{
    unsigned steps = plan->steps;
    unsigned worlds = shrink_plan(plan, found->kind);
    printf("SEED %llu, shrunk from %u to %u steps in %u worlds (%s):\n",
           (unsigned long long)plan->seed, steps, plan->steps, worlds, found->kind);
    print_plan(plan);
    fflush(stdout);
}

static bool run_seed(unsigned long long seed, const void *arg, uint64_t *hash)
{
    static struct plan plan;
    const struct options *options = arg;
    struct outcome first;
    struct outcome second;
    plan_make(&plan, seed);
    bool hashed = options->twice || options->digest;
    shrink_run(&plan, hashed ? HISTORY_HASHED : HISTORY_NONE, &first);
    *hash = first.hash;
    if (options->twice) {
        shrink_run(&plan, HISTORY_HASHED, &second);
        if (first.hash != second.hash) {
            printf("SEED %llu is not repeatable\n", seed);
            fflush(stdout);
            return false;
        }
    }
    if (first.kind) {
        say_failure(seed, &first);
    }
    if (first.kind && !options->first_only && !options->no_shrink) {
        shrink(&plan, &first);
    }
    return first.kind == NULL;
}

/* \return true if its world passes. */
static bool show_seed(const struct options *options)
{
    static struct plan plan;
    struct outcome outcome;
    plan_make(&plan, options->first);
    shrink_run(&plan, options->no_shrink ? HISTORY_SHOWN : HISTORY_NONE, &outcome);
    bool failed = outcome.kind != NULL;
    if (failed) {
        say_failure(options->first, &outcome);
    }
    if (failed && !options->no_shrink) {
        shrink(&plan, &outcome);
    }
    if (!options->no_shrink) {
        shrink_run(&plan, HISTORY_SHOWN, &outcome);
    }
    return !failed;
}

/* \return the number of plans that fail; -1 if there is none of that name. */
static int run_fixed(const char *wanted)
{
    static struct plan plan;
    struct outcome outcome;
    bool all = strcmp(wanted, "plans") == 0;
    int failed = all ? 0 : -1;
    const char *name;
    for (unsigned i = 0; (name = fixed_plan(i, &plan)); i++) {
        if (all || strcmp(name, wanted) == 0) {
            shrink_run(&plan, all ? HISTORY_NONE : HISTORY_SHOWN, &outcome);
            printf("%s %s%s%s\n", outcome.kind ? "FAIL" : "ok  ", name,
                   outcome.kind ? ": " : "", outcome.kind ? outcome.detail : "");
            failed = (failed < 0 ? 0 : failed) + (outcome.kind != NULL);
        }
    }
    return failed;
}

static bool read_seeds(const char *text, struct options *o)
{
    char *end;
    o->first = o->last = strtoull(text, &end, 10);
    o->single = *end == '\0';
    if (!o->single && strncmp(end, "..", 2) == 0) {
        o->last = strtoull(end + 2, &end, 10);
    }
    return end != text && *end == '\0' && o->first <= o->last;
}

static bool read_options(int argc, char **argv, struct options *o)
{
    bool seeds = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--twice") == 0) {
            o->twice = true;
        } else if (strcmp(argv[i], "--digest") == 0) {
            o->digest = true;
        } else if (strcmp(argv[i], "--first") == 0) {
            o->first_only = true;
        } else if (strcmp(argv[i], "--no-shrink") == 0) {
            o->no_shrink = true;
        } else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
            o->seconds = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--jobs") == 0 && i + 1 < argc) {
            o->jobs = strtoull(argv[++i], NULL, 10);
        } else if (argv[i][0] >= 'a' && argv[i][0] <= 'z') {
            o->plan = argv[i];
            seeds = true;
        } else {
            seeds = read_seeds(argv[i], o);
            if (!seeds) {
                return false;
            }
        }
    }
    return seeds;
}

static int run_plans(const char *wanted)
{
    int failed = run_fixed(wanted);
    if (failed < 0) {
        fprintf(stderr, "sim: %s: no plan of that name (see 'sim plans')\n", wanted);
    }
    return failed < 0 ? 2 : failed > 0;
}

static int run_seeds(const struct options *options)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned long long jobs = options->jobs ? options->jobs : (unsigned)processors;
    struct pool_sum sum;
    const struct pool_work work = {.first = options->first,
                                   .last = options->last,
                                   .processes = (unsigned)jobs,
                                   .seconds = (double)options->seconds,
                                   .first_only = options->first_only,
                                   .run = run_seed,
                                   .arg = options};
    pool_run(&work, &sum);
    unsigned long long worlds = sum.end - options->first;
    printf("seeds %llu..%llu: %llu passed, %llu failed, %.1f s, %.0f seeds an hour, %.0f "
           "of a processor\n",
           options->first, sum.end - 1, worlds - sum.failed, sum.failed, sum.took_s,
           (double)worlds / sum.took_s * 3600, (double)worlds / sum.cpu_s * 3600);
    if (options->digest) {
        printf("histories %016llx\n", (unsigned long long)sum.digest);
    }
    return sum.failed ? 1 : 0;
}

static void say_nothing(void *arg, enum gpufl_log_level level, const char *line)
{
    (void)arg;
    (void)level;
    (void)line;
}

int main(int argc, char **argv)
{
    struct options options = {0};
    if (!read_options(argc, argv, &options)) {
        fputs(USAGE, stderr);
        return 2;
    }
    gpufl_set_log_callback(say_nothing, NULL); /* what recorders tell people */
    unsetenv("STATE_DIRECTORY");
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", "/var/home", 1);
    mallopt(M_MMAP_THRESHOLD, 1 << 30); /* what a world has used, the next one uses */
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    /* A world has one thread. */
    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    if (options.plan) {
        return run_plans(options.plan);
    }
    return options.single ? !show_seed(&options) : run_seeds(&options);
}
