/* SPDX-License-Identifier: Apache-2.0 */
/* A job with a part to play. Usage: job LOG_DIR PART; prints the session id first. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <gpufl/gpufl.h>
#include <gpufl/upload.h>

static void nap_ms(long ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static void start(const char *logs, struct gpufl_init_options options)
{
    char id[40];
    options.log_path = logs;
    options.app_name = "part \"quoted\"\n\xff end";
    if (gpufl_init(&options) != GPUFL_OK) {
        exit(3);
    }
    gpufl_session_id(id);
    puts(id);
    fflush(stdout);
}

static void *scopes(void *arg)
{
    long n = *(long *)arg;
    for (long i = 0; i < n; i++) {
        GFL_SCOPE("outer")
        {
            GFL_SCOPE("inner")
            {
            }
        }
    }
    return NULL;
}

/* Threads that come, record and go. */
static int play_threads(const char *logs, struct gpufl_init_options options)
{
    pthread_t thread[4];
    long n = 1000;
    start(logs, options);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) {
            pthread_create(&thread[i], NULL, scopes, &n);
        }
        for (int i = 0; i < 4; i++) {
            pthread_join(thread[i], NULL);
        }
        nap_ms(60);
    }
    gpufl_shutdown();
    return 0;
}

/* Faster than anything can be written: whole pairs drop. */
static int play_flood(const char *logs, struct gpufl_init_options options)
{
    long n = 200000;
    start(logs, options);
    scopes(&n);
    gpufl_shutdown();
    return 0;
}

static int leave_by_return(void)
{
    GFL_SCOPE("returned")
    {
        return 1;
    }
    return 0;
}

static int play_control_flow(const char *logs, struct gpufl_init_options options)
{
    start(logs, options);
    leave_by_return();
    GFL_SCOPE("broken")
    {
        break;
    }
    GFL_SCOPE("goto")
    {
        goto out;
    }
out:
    gpufl_shutdown();
    return 0;
}

/* About 13,000 pairs a second for 5 s: 7 MB of lines. */
static int play_stream(const char *logs, struct gpufl_init_options options)
{
    long n = 100;
    start(logs, options);
    for (int i = 0; i < 300; i++) {
        scopes(&n);
        nap_ms(15);
    }
    gpufl_shutdown();
    return 0;
}

/* The child of a fork records nothing, and its end leaves the parent's session alone;
 * with \p again it then starts a session of its own. */
static int play_fork(const char *logs, struct gpufl_init_options options, bool again)
{
    int status;
    start(logs, options);
    GFL_SCOPE("parent before")
    {
    }
#ifdef __SANITIZE_ADDRESS__
    gpufl_flush(); /* its allocator, unlike glibc's, does not survive a fork at any time
                    */
#endif
    pid_t pid = fork();
    if (pid == 0) {
        GFL_SCOPE("child")
        {
        }
        gpufl_shutdown();
        options.log_path = logs;
        options.app_name = "child";
        if (again && gpufl_init(&options) == GPUFL_OK) {
            GFL_SCOPE("child's own")
            {
            }
        }
        gpufl_shutdown();
        _exit(0);
    }
    waitpid(pid, &status, 0);
    GFL_SCOPE("parent after")
    {
    }
    nap_ms(80);
    gpufl_shutdown();
    return status;
}

static bool forks_at_rename;
static pid_t forked_at_rename;

/* Instead of libc's: the collector renames a session's directory when it is locked, and
 * not yet begun. */
int renameat2(int from_dir, const char *from, int to_dir, const char *to,
              unsigned int flags)
{
    if (forks_at_rename) {
        forks_at_rename = false;
        forked_at_rename = fork();
        if (forked_at_rename == 0) {
            for (;;) {
                pause();
            }
        }
    }
    return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

/* A child that comes while the session is being opened, and outlives it. */
static int play_fork_opening(const char *logs, struct gpufl_init_options options)
{
    forks_at_rename = true;
    start(logs, options);
    GFL_SCOPE("behind")
    {
    }
    gpufl_shutdown();
    puts("ended");
    fflush(stdout);
    getchar();
    kill(forked_at_rename, SIGKILL);
    waitpid(forked_at_rename, NULL, 0);
    return 0;
}

/* Forks as soon as a library is being loaded: 0 when the child finds it loaded. */
static int play_fork_loading(const char *logs, struct gpufl_init_options options,
                             const char *begun, const char *done)
{
    int status = 1;
    start(logs, options);
    while (access(begun, F_OK) != 0) {
        nap_ms(1);
    }
    pid_t pid = fork();
    if (pid == 0) {
        /* By exec: what the writer's thread held is no leak of this child. */
        const char *answer = access(done, F_OK) == 0 ? "true" : "false";
        execlp(answer, answer, (char *)NULL);
        _exit(9);
    }
    waitpid(pid, &status, 0);
    gpufl_shutdown();
    return WEXITSTATUS(status);
}

/* Dies by SIGKILL \p ms after its last scope. */
static int play_kill(const char *logs, struct gpufl_init_options options, long ms)
{
    start(logs, options);
    for (int i = 0; i < 50; i++) {
        GFL_SCOPE("work")
        {
        }
    }
    nap_ms(ms);
    kill(getpid(), SIGKILL);
    return 0;
}

static void one_scope(void *name)
{
    GFL_SCOPE((const char *)name)
    {
    }
}

/* What a flush has written is counted and survives; then the report on standard output.
 */
static int play_stats(const char *logs, struct gpufl_init_options options)
{
    struct gpufl_stats stats = GPUFL_STATS_INIT;
    char last[] = "last";
    if (gpufl_get_stats(&stats) != GPUFL_ERR_NOT_FOUND ||
        gpufl_generate_report(NULL) != GPUFL_ERR_NOT_FOUND) {
        return 4;
    }
    start(logs, options);
    for (int i = 0; i < 10; i++) {
        GFL_SCOPE("work")
        {
        }
    }
    gpufl_flush();
    if (gpufl_get_stats(&stats) != GPUFL_OK) {
        return 5;
    }
    printf("%llu pairs\n", (unsigned long long)stats.scopes_recorded);
    gpufl_monitor("unused", one_scope, last);
    gpufl_shutdown();
    if (gpufl_get_stats(&stats) != GPUFL_OK) {
        return 6;
    }
    printf("%llu pairs\n", (unsigned long long)stats.scopes_recorded - 1);
    return gpufl_generate_report(NULL) == GPUFL_OK ? 0 : 7;
}

/* A phase of \p ms, and as long without one before and behind it. */
static int play_phases(const char *logs, struct gpufl_init_options options, long ms)
{
    options.system_sample_rate_ms = 20;
    options.simulated_gpus = 1;
    start(logs, options);
    nap_ms(ms);
    gpufl_system_start("phase");
    nap_ms(ms);
    gpufl_system_stop("phase");
    nap_ms(ms);
    gpufl_system_stop("never started");
    gpufl_shutdown();
    return 0;
}

/* Records, ends, uploads: argv[3] is the backend. */
static int play_upload(const char *logs, struct gpufl_init_options options,
                       const char *url)
{
    struct gpufl_upload_options upload = GPUFL_UPLOAD_OPTIONS_DEFAULT;
    struct gpufl_upload_result result = GPUFL_UPLOAD_RESULT_INIT;
    start(logs, options);
    GFL_SCOPE("work")
    {
    }
    upload.log_path = logs;
    upload.backend_url = url;
    upload.api_key = "gpfl_marker_key";
    upload.max_retries = 1;
    gpufl_status during = gpufl_upload_logs(&upload, &result); /* the session runs */
    gpufl_shutdown();
    gpufl_status after = gpufl_upload_logs(&upload, &result);
    printf("%d %d %u %s\n", (int)during, (int)after, result.sessions_complete,
           result.message);
    return 0;
}

static int play_disabled(const char *logs, struct gpufl_init_options options)
{
    struct gpufl_upload_options upload = GPUFL_UPLOAD_OPTIONS_DEFAULT;
    struct gpufl_upload_result result = GPUFL_UPLOAD_RESULT_INIT;
    options.log_path = logs;
    options.enabled = false;
    gpufl_status status = gpufl_init(&options);
    GFL_SCOPE("nothing")
    {
    }
    gpufl_system_start("nothing");
    gpufl_system_stop("nothing");
    gpufl_shutdown();
    upload.log_path = logs;
    upload.backend_url = "http://127.0.0.1:9";
    upload.api_key = "k";
    gpufl_status sent = gpufl_upload_logs(&upload, &result);
    printf("%d %d %d %u\n", (int)status, (int)sent, (int)result.events_uploaded,
           result.warning_count);
    return 0;
}

int main(int argc, char **argv)
{
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    const char *part = argc > 2 ? argv[2] : "";
    if (strcmp(part, "threads") == 0) {
        return play_threads(argv[1], options);
    }
    if (strcmp(part, "flood") == 0) {
        return play_flood(argv[1], options);
    }
    if (strcmp(part, "control-flow") == 0) {
        return play_control_flow(argv[1], options);
    }
    if (strcmp(part, "fork") == 0) {
        return play_fork(argv[1], options, true);
    }
    if (strcmp(part, "fork-quiet") == 0) {
        return play_fork(argv[1], options, false);
    }
    if (strcmp(part, "fork-opening") == 0) {
        return play_fork_opening(argv[1], options);
    }
    if (strcmp(part, "fork-loading") == 0 && argc > 4) {
        return play_fork_loading(argv[1], options, argv[3], argv[4]);
    }
    if (strcmp(part, "kill") == 0 && argc > 3) {
        return play_kill(argv[1], options, atol(argv[3]));
    }
    if (strcmp(part, "stream") == 0) {
        return play_stream(argv[1], options);
    }
    if (strcmp(part, "stats") == 0) {
        return play_stats(argv[1], options);
    }
    if (strcmp(part, "phases") == 0) {
        return play_phases(argv[1], options, argc > 3 ? atol(argv[3]) : 200);
    }
    if (strcmp(part, "upload") == 0 && argc > 3) {
        return play_upload(argv[1], options, argv[3]);
    }
    if (strcmp(part, "disabled") == 0) {
        return play_disabled(argv[1], options);
    }
    return 2;
}
