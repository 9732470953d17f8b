/* SPDX-License-Identifier: Apache-2.0 */
/* gpufl trace: a program as it is, with an engine in each of its processes. */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gpufl/upload.h>

#include "cli/output.h"
#include "cli/upload_flags.h"
#include "cli/verbs.h"

#define INJECT          "libgpufl-inject.so"
#define EXIT_NOT_RUN    126 /* as a shell says it */
#define EXIT_NOT_FOUND  127
#define EXIT_BY_SIGNAL  128
#define DEFAULT_RATE_MS "1000"

static const char usage[] =
    "Usage: gpufl trace [options] [--] COMMAND [ARGUMENT…]\n"
    "Runs a command and records what its processes do on the GPU, without a change to "
    "it.\n"
    "Each process that uses CUDA becomes a session.\n"
    "\n"
    "  -e, --engine E       Trace or PcSampling (Trace)\n"
    "  -o, --output DIR     where the sessions go (~/.gpufl/trace/<time>_<random>)\n"
    "  -n, --name NAME      shown by dashboards (the command's name)\n"
    "      --interval MS    between samples of host and GPU; 0 = none (1000)\n"
    "      --upload         send the sessions when the command has ended\n"
    "      --backend-url URL, --api-key KEY, --api-path PATH\n"
    "                       for it; else GPUFL_BACKEND_URL, GPUFL_API_KEY, "
    "GPUFL_API_PATH\n"
    "  -q, --quiet          say nothing but errors\n"
    "  -h, --help\n"
    "\n"
    "Exit: that of the command; 128 + n when signal n ended it; 126 when it cannot be "
    "run, "
    "127\n"
    "when it is not found; 2 wrong use.\n";

struct trace {
    struct gpufl_upload_options upload;
    char output[PATH_MAX];
    const char *engine;
    const char *name;
    const char *interval_ms;
    bool send;
    bool quiet;
};

static int bad(const char *what, const char *way_out)
{
    fprintf(stderr, "gpufl trace: %s: %s\n", what, way_out);
    return EXIT_BAD_USE;
}

static bool whole_ms(const char *text)
{
    return *text && strlen(text) < 9 && strspn(text, "0123456789") == strlen(text);
}

/* \return -1 to go on, else the exit code. */
static int take_option(int c, const char *arg, struct trace *t)
{
    switch (c) {
    case 'e':
        t->engine = arg;
        return -1;
    case 'o':
        snprintf(t->output, sizeof t->output, "%s", arg);
        return -1;
    case 'n':
        t->name = arg;
        return -1;
    case 'i':
        t->interval_ms = arg;
        return whole_ms(arg) ? -1 : bad("--interval", "give whole milliseconds");
    case 'u':
        t->send = true;
        return -1;
    case 'b':
        t->upload.backend_url = arg;
        return -1;
    case 'k':
        t->upload.api_key = arg;
        return -1;
    case 'p':
        t->upload.api_path = arg;
        return -1;
    case 'q':
        t->quiet = true;
        return -1;
    case 'h':
        fputs(usage, stdout);
        return EXIT_ALL_DONE;
    default:
        return bad("options", "see gpufl trace --help");
    }
}

static int parse(int argc, char **argv, struct trace *t)
{
    static const struct option options[] = {
        {"engine", required_argument, NULL, 'e'},
        {"output", required_argument, NULL, 'o'},
        {"name", required_argument, NULL, 'n'},
        {"interval", required_argument, NULL, 'i'},
        {"upload", no_argument, NULL, 'u'},
        {"backend-url", required_argument, NULL, 'b'},
        {"api-key", required_argument, NULL, 'k'},
        {"api-path", required_argument, NULL, 'p'},
        {"quiet", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    int rc = -1;
    for (int c;
         rc < 0 && (c = getopt_long(argc, argv, "+e:o:n:qh", options, NULL)) >= 0;) {
        rc = take_option(c, optarg, t);
    }
    if (rc < 0 && optind >= argc) {
        rc = bad("no command", "give one, as in gpufl trace -- python3 train.py");
    }
    if (rc < 0 && strcmp(t->engine, "Trace") != 0 &&
        strcmp(t->engine, "PcSampling") != 0) {
        rc = bad(t->engine, "no engine of this verb; give Trace or PcSampling");
    }
    if (rc < 0 && !*t->output && !default_output("trace", t->output)) {
        rc = bad("--output", "there is no home directory; name one");
    }
    return rc;
}

/* Beside this program, as it is built; else where it is installed. */
static bool find_inject(char out[PATH_MAX])
{
    static const char *const place[] = {"", "/../lib/gpufl", "/../lib/*-linux-gnu/gpufl",
                                        "/../lib64/gpufl"};
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    self[len > 0 ? len : 0] = '\0';
    char *slash = strrchr(self, '/');
    bool found = false;
    if (slash) {
        *slash = '\0';
    }
    for (size_t i = 0; slash && !found && i < sizeof place / sizeof place[0]; i++) {
        char pattern[PATH_MAX + 64];
        glob_t at = {0};
        snprintf(pattern, sizeof pattern, "%s%s/" INJECT, self, place[i]);
        found = glob(pattern, 0, NULL, &at) == 0 && realpath(at.gl_pathv[0], out);
        globfree(&at);
    }
    return found;
}

static void set_variables(const struct trace *t, const char *inject)
{
    char here[PATH_MAX];
    char output[2 * PATH_MAX];
    bool relative = t->output[0] != '/' && getcwd(here, sizeof here);
    snprintf(output, sizeof output, "%s%s%s", relative ? here : "", relative ? "/" : "",
             t->output); /* whole, since the command may go elsewhere */
    setenv("CUDA_INJECTION64_PATH", inject, 1);
    setenv("GPUFL_TRACE_LOG_PATH", output, 1);
    setenv("GPUFL_TRACE_NAME", t->name, 1);
    setenv("GPUFL_TRACE_INTERVAL_MS", t->interval_ms, 1);
    setenv("GPUFL_PROFILING_ENGINE", t->engine, 1);
}

static void become(char **argv, const sigset_t *mask)
{
    sigprocmask(SIG_SETMASK, mask, NULL);
    signal(SIGPIPE, SIG_DFL);
    execvp(argv[0], argv);
    int reason = errno;
    fprintf(stderr, "gpufl trace: %s: %s\n", argv[0], strerror(reason));
    _exit(reason == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN);
}

/* Until \p command ends. The terminal tells the command itself; what was sent to us alone
 * goes on to it. \return its status. */
static int attend(pid_t command, const sigset_t *signals)
{
    int status = 0;
    while (waitpid(command, &status, WNOHANG) != command) {
        siginfo_t info;
        int signal = sigwaitinfo(signals, &info);
        if (signal > 0 && signal != SIGCHLD && info.si_code <= 0) {
            kill(command, signal);
        }
    }
    return status;
}

static int run(char **argv)
{
    static const int watched[] = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT,
                                  SIGUSR1, SIGUSR2, SIGCHLD};
    sigset_t signals, before;
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++) {
        sigaddset(&signals, watched[i]);
    }
    signal(SIGCHLD, SIG_DFL); /* who started us may have it ignored */
    sigprocmask(SIG_BLOCK, &signals, &before);
    pid_t command = fork();
    if (command == 0) {
        become(argv, &before);
    }
    if (command < 0) {
        fprintf(stderr, "gpufl trace: %s: %s\n", argv[0], strerror(errno));
        return EXIT_NOT_RUN;
    }
    int status = attend(command, &signals);
    return WIFSIGNALED(status) ? EXIT_BY_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

static unsigned count_sessions(const char *path)
{
    unsigned sessions = 0;
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        sessions += e->d_name[0] != '.';
    }
    if (dir) {
        closedir(dir);
    }
    return sessions;
}

static void send_all(struct trace *t)
{
    struct gpufl_upload_result result = GPUFL_UPLOAD_RESULT_INIT;
    t->upload.log_path = t->output;
    t->upload.option_name = upload_flag_of;
    if (gpufl_upload_logs(&t->upload, &result) != GPUFL_OK) {
        fprintf(stderr, "gpufl trace: %s; later: gpufl upload %s\n", result.message,
                t->output);
    }
}

int verb_trace(int argc, char **argv)
{
    char inject[PATH_MAX];
    struct trace t = {.upload = GPUFL_UPLOAD_OPTIONS_DEFAULT,
                      .engine = "Trace",
                      .interval_ms = DEFAULT_RATE_MS};
    int rc = parse(argc, argv, &t);
    if (rc >= 0) {
        return rc;
    }
    if (!find_inject(inject)) {
        return bad(INJECT, "not found beside gpufl or in ../lib/gpufl; install libgpufl");
    }
    if (!t.name) {
        const char *slash = strrchr(argv[optind], '/');
        t.name = slash ? slash + 1 : argv[optind];
    }
    unsigned before = count_sessions(t.output);
    set_variables(&t, inject);
    rc = run(argv + optind);
    unsigned sessions = count_sessions(t.output) - before;
    if (sessions == 0) {
        fprintf(stderr, "gpufl trace: nothing was recorded: no process used CUDA\n");
    } else if (!t.quiet) {
        fprintf(stderr, "gpufl trace: %u session%s in %s\n", sessions,
                sessions == 1 ? "" : "s", t.output);
    }
    if (sessions && t.send) {
        send_all(&t);
    }
    return rc;
}
