/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator: `sim A..B` runs the worlds of these seeds, `sim A` shows one, `sim NAME`
 * a fixed plan. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/sim/calls.h"
#include "tests/sim/fixed_plans.h"
#include "tests/sim/plan.h"
#include "tests/sim/shrink.h"

#define USAGE                                                                            \
    "usage: sim [--seconds N] [--twice] A..B | sim [--whole] A | sim plans | sim NAME\n" \
    "  A..B       run the worlds of these seeds; print a failure's shrunk history\n"     \
    "  A          print the history of one, shrunk if it fails\n"                        \
    "  plans      run the fixed plans\n"                                                 \
    "  NAME       print the history of one of them\n"                                    \
    "  --whole    do not shrink it\n"                                                    \
    "  --seconds  stop after so long\n"                                                  \
    "  --first    stop at the first failure, and do not shrink it\n"                     \
    "  --twice    run each twice, and compare their histories\n"

struct options {
    const char *plan; /* NULL = seeds */
    unsigned long long first, last;
    unsigned long long seconds;
    bool twice, whole, single, first_only;
};

static double now_s(void)
{
    struct timespec t;
    __real_clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void print_plan(const struct plan *plan)
{
    for (unsigned i = 0; i < plan->steps; i++) {
        const struct step *s = &plan->step[i];
        printf("  %u. %s (%u %u %u)\n", i + 1, plan_step_text(s->kind), s->who, s->a,
               s->b);
    }
}

static void show(struct plan *plan, const struct outcome *found, bool whole)
{
    struct outcome outcome;
    unsigned steps = plan->steps;
    unsigned worlds = whole ? 0 : shrink_plan(plan, found->kind);
    printf("SEED %llu fails: %s: %s\n  shrunk from %u to %u steps in %u worlds\n",
           (unsigned long long)plan->seed, found->kind, found->detail, steps, plan->steps,
           worlds);
    print_plan(plan);
    fflush(stdout);
    shrink_run(plan, true, &outcome);
}

static bool run_seed(unsigned long long seed, const struct options *options)
{
    static struct plan plan;
    struct outcome first;
    struct outcome second;
    plan_make(&plan, seed);
    shrink_run(&plan, options->single && options->whole, &first);
    if (options->twice) {
        shrink_run(&plan, false, &second);
        if (first.hash != second.hash) {
            printf("SEED %llu is not repeatable\n", seed);
            return false;
        }
    }
    if (first.kind && options->first_only) {
        printf("SEED %llu fails: %s: %s\n", seed, first.kind, first.detail);
    } else if (first.kind && !(options->single && options->whole)) {
        show(&plan, &first, options->whole);
    } else if (options->single && !options->whole) {
        shrink_run(&plan, true, &second);
    }
    return first.kind == NULL;
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
            shrink_run(&plan, !all, &outcome);
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
        } else if (strcmp(argv[i], "--first") == 0) {
            o->first_only = true;
        } else if (strcmp(argv[i], "--whole") == 0) {
            o->whole = true;
        } else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
            o->seconds = strtoull(argv[++i], NULL, 10);
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

int main(int argc, char **argv)
{
    struct options options = {0};
    if (!read_options(argc, argv, &options)) {
        fputs(USAGE, stderr);
        return 2;
    }
    unsetenv("STATE_DIRECTORY");
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", "/var/home", 1);
    if (options.plan) {
        int failed = run_fixed(options.plan);
        if (failed < 0) {
            fprintf(stderr, "sim: %s: no plan of that name (see 'sim plans')\n",
                    options.plan);
        }
        return failed < 0 ? 2 : failed > 0;
    }
    unsigned long long seed = options.first;
    unsigned long long failed = 0;
    double begun = now_s();
    while (seed <= options.last) {
        failed += !run_seed(seed++, &options);
        if ((failed && options.first_only) ||
            (options.seconds && now_s() - begun > (double)options.seconds)) {
            break;
        }
    }
    double took = now_s() - begun;
    unsigned long long worlds = seed - options.first;
    printf("seeds %llu..%llu: %llu passed, %llu failed, %.1f s, %.0f seeds an hour\n",
           options.first, seed - 1, worlds - failed, failed, took,
           (double)worlds / took * 3600);
    return failed ? 1 : 0;
}
