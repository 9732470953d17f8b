/* SPDX-License-Identifier: Apache-2.0 */
/* The program gpufl-agent: reads its options and runs the loop. */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent/healthcheck.h"
#include "agent/loop.h"
#include "agent/options/option_check.h"
#include "agent/options/option_help.h"
#include "agent/options/option_sources.h"
#include "agent/options/option_value.h"
#include "agent/process.h"
#include "agent/trial.h"
#include "agent/watch/watch.h"
#include "base/message.h"
#include "base/standard_output.h"

/* Large blocks come and go in all sizes. From the heap they would leave holes: 0.3 to
 * 0.5 MiB more at the peak of a backlog. */
#define FROM_THE_KERNEL_BYTES (128 << 10)

/* It may stand behind what is wrong. */
static bool asks_for_check(int argc, char **argv)
{
    bool asks = false;
    for (int i = 1; i < argc; i++) {
        asks = asks || strcmp(argv[i], "--check") == 0;
    }
    return asks;
}

static int fail_usage(const char *why, bool check)
{
    message_line("gpufl-agent", "%s", why);
    return check ? TRIAL_FAILED : 1; /* 1 as the existing agent does */
}

/* All threads inherit the mask; the loop reads the signals from a descriptor. */
static void block_signals(sigset_t *signals)
{
    sigemptyset(signals);
    sigaddset(signals, SIGTERM);
    sigaddset(signals, SIGINT);
    sigaddset(signals, SIGHUP);
    sigprocmask(SIG_BLOCK, signals, NULL);
    signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "healthcheck") == 0) {
        return standard_output_end("gpufl-agent", healthcheck(argc - 1, argv + 1));
    }
    process_protect();
    mallopt(M_MMAP_THRESHOLD, FROM_THE_KERNEL_BYTES);
    bool have_inotify = watch_init(); /* first: it needs a low descriptor */
    struct options options;
    char why[512];
    sigset_t signals;
    int rc = 0;
    bool check = asks_for_check(argc, argv);
    block_signals(&signals);
    if (option_sources_read(argc, argv, &options, why) != GPUFL_OK) {
        rc = fail_usage(why, check);
    } else if (options.help) {
        option_help_print(stdout);
        rc = standard_output_end("gpufl-agent", rc);
    } else if (options.version) {
        puts("gpufl-agent " GPUFL_VERSION " (wire v1)");
        rc = standard_output_end("gpufl-agent", rc);
    } else if (option_check(&options, why) != GPUFL_OK) {
        rc = fail_usage(why, check);
    } else if (options.check) {
        sigprocmask(SIG_UNBLOCK, &signals, NULL);
        rc = standard_output_end("gpufl-agent", trial_run(&options, have_inotify));
    } else {
        rc = loop_run(&options, argc, argv, &signals, have_inotify);
    }
    option_values_free(&options);
    return rc;
}
