/* SPDX-License-Identifier: Apache-2.0 */
/* gpufl: finds the verb. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/verbs.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} verbs[] = {
    {"upload", verb_upload, "send the sessions of a directory to a backend, now"},
    {"status", verb_status, "show what of a directory is sent and what waits"},
    {"quarantine", verb_quarantine,
     "what the backend refused: look, offer again, give up"},
    {"monitor", verb_monitor, "record host and GPU figures until interrupted"},
    {"trace", verb_trace, "run a command and record what it does on the GPU"},
    {"info", verb_info, "show the GPUs"},
    {"version", verb_version, "print the version"},
};
#define VERBS (sizeof verbs / sizeof verbs[0])

static void help(FILE *out)
{
    fputs("Usage: gpufl VERB [arguments]; gpufl VERB --help tells more\n\n", out);
    for (size_t i = 0; i < VERBS; i++) {
        fprintf(out, "  %-10s %s\n", verbs[i].name, verbs[i].help);
    }
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (argc > 1) {
        for (size_t i = 0; i < VERBS; i++) {
            if (strcmp(argv[1], verbs[i].name) == 0) {
                return verbs[i].run(argc - 1, argv + 1);
            }
        }
        if (strcmp(argv[1], "--version") == 0) {
            return verb_version(argc - 1, argv + 1);
        }
        if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
            help(stdout);
            return EXIT_ALL_DONE;
        }
        fprintf(stderr, "gpufl: no verb \"%s\"\n", argv[1]);
    }
    help(stderr);
    return EXIT_BAD_USE;
}
