/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the verb of gpufl and runs it. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/flag_help.h"
#include "base/flags.h"
#include "base/message.h"
#include "base/standard_output.h"
#include "base/variables.h"
#include "cli/exit_codes.h"
#include "cli/verb_export.h"
#include "cli/verb_info.h"
#include "cli/verb_monitor.h"
#include "cli/verb_trace.h"
#include "cli/verb_transfer.h"
#include "cli/verb_version.h"
#include "cli/version_line.h"

static const struct flag_verb verbs[] = {
    {"trace", verb_trace, "run a command and record what it does on the GPU"},
    {"monitor", verb_monitor, "record host and GPU metrics until interrupted"},
    {"upload", verb_transfer, "send the sessions of a directory to a backend"},
    {"status", verb_transfer, "show what has been sent and what is pending"},
    {"quarantine", verb_transfer, "list, retry or drop what the backend rejected"},
    {"resolve", verb_transfer, "give up what is gone of a session"},
    {"verify", verb_transfer, "compare sessions with what the backend has"},
    {"export", verb_export, "print a session, with the details of each launch"},
    {"info", verb_info, "show the GPUs"},
    {"version", verb_version, "print the version"},
    {"help", NULL /* below, since it runs the others */, "print the help of a verb"},
};

static const struct flag_table gpufl_table = {
    .program = "gpufl",
    .version = VERSION_LINE,
    .usage = "VERB [arguments]",
    .about =
        "Records what programs do on the GPU, and sends the recordings to a backend. "
        "See gpufl help VERB for each verb.",
    .verb = verbs,
    .verbs = sizeof verbs / sizeof verbs[0],
    .operands_max = -1,
    .stop_at_operand = true,
};

static const struct flag_table help_table = {
    .program = "gpufl help",
    .version = VERSION_LINE,
    .usage = "[VERB]",
    .about = "Prints the help of a verb, or that of gpufl.",
    .operands_max = 1,
};

static void print_table(const struct flag_table *table, FILE *out)
{
    struct text help = {0};
    flag_help(table, &help);
    fwrite(help.data, 1, help.failed ? 0 : help.len, out);
    text_fini(&help);
}

/* `gpufl help [VERB]` is `gpufl [VERB] --help`. */
static int run_help(int argc, char **argv)
{
    struct flag_words words = {argv, argc};
    int rc = flags_read(&help_table, &words, NULL);
    if (rc != FLAGS_GO_ON) {
        return rc;
    }
    const struct flag_verb *verb = NULL;
    if (words.count && !(verb = flags_verb(&gpufl_table, words.word[0]))) {
        return EXIT_BAD_USE;
    }
    if (!verb || !verb->run) {
        print_table(verb ? &help_table : &gpufl_table, stdout);
        return EXIT_ALL_DONE;
    }
    char option[] = "--help";
    char *ask[] = {words.word[0], option, NULL};
    return verb->run(2, ask);
}

static int run_verb(int argc, char **argv)
{
    struct flag_words words = {argv, argc};
    int rc = flags_read(&gpufl_table, &words, NULL);
    if (rc != FLAGS_GO_ON) {
        return rc;
    }
    if (words.count == 0) {
        print_table(&gpufl_table, stderr);
        return EXIT_BAD_USE;
    }
    const struct flag_verb *verb = flags_verb(&gpufl_table, words.word[0]);
    if (!verb) {
        return EXIT_BAD_USE;
    }
    return (verb->run ? verb->run : run_help)(words.count, words.word);
}

static void note_nothing(int signal)
{
    (void)signal;
}

/* A write fails instead. What gpufl trace runs gets the signal as it was before. */
static void outlive_pipes(void)
{
    const struct sigaction outlive = {.sa_handler = note_nothing, .sa_flags = SA_RESTART};
    struct sigaction before;
    if (sigaction(SIGPIPE, NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
        sigaction(SIGPIPE, &outlive, NULL);
    }
}

static void say_unread_variable(void *unused, const char *name, const char *meant)
{
    (void)unused;
    message_line("gpufl", "%s: nothing reads it (did you mean GPUFL_%s?)", name, meant);
}

int main(int argc, char **argv)
{
    outlive_pipes();
    variables_each_unread(environ, say_unread_variable, NULL);
    return standard_output_end("gpufl", run_verb(argc, argv));
}
