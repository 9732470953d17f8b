/* SPDX-License-Identifier: Apache-2.0 */
/* A job whose life is a list of words. It is not linked with libgpufl: where that is
 * preloaded it is recorded, and where it is not the same calls do nothing, so that both
 * lives can be compared. Usage: life FOLDER LOG_DIR WORD..., in order:
 *
 *  - init:ENGINE, shutdown, flush, stats: the calls; elsewhere:ENGINE: init by another
 *    thread, which ends
 *  - hooked: quick_exit() calls shutdown
 *  - ops:N: N operations: a scope, memory, a launch if there is a GPU, a line of a file
 *  - threads:N:OPS: so many threads with so many each, joined
 *  - spin:N: threads that record until they are cancelled or the process ends
 *  - open:N: N scopes that are never ended
 *  - cancel: ends what spins
 *  - fork:HOW: a child that ends by exit, _exit, exec, kill, or has a session (init)
 *  - spawn, vfork: of /bin/true
 *  - closefrom: closes what the job did not open; spread: dup2 over numbers of others;
 *    renumber: dup to the lowest numbers
 *  - silent: closes standard error; deaf: makes it a pipe that nobody reads; full: one
 *    that is full
 *  - timer: a signal each millisecond from here on
 *  - name:NAME: of this thread, and of those that it starts
 *  - work:US: a thread that works for so long; callback:US: its log callback starts it
 *  - await:SIGNAL:N: a thread that takes N of a signal, which it alone blocks, by sigwait
 *  - relay:US: threads for so long, each of which makes the next one and ends
 *  - stacks:N: a thread's stack is of N KiB by default from here on
 *  - mask: an exit handler says how many signals are blocked
 *  - touch:PATH: a file comes
 *  - late: an exit handler launches, as another thread may at that moment
 *  - nofiles:N: opens files until N descriptors are left
 *  - fsize:N: no file may grow beyond N bytes
 *  - vandal:rm, vandal:cut, vandal:mv, vandal:mode: what happens to the log directory
 *  - completed:N: waits for N buffers of the GPU's records that were handed over
 *  - nap:US; exec: the words behind it are another program's
 *
 * and at the end return:N, exit:N, _exit:N, quick_exit:N, exit_thread:N (by another
 * thread), exit_handler:N (in a handler of a signal), pthread_exit, abort, kill:SIGNAL.
 * Standard output says what each came to. The file LIFE_TIMES gets the nanoseconds that
 * each operation took. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <gpufl/gpufl.h>

#include "tests/fake/cupti.h"
#include "tests/hostile/own_files.h"

#define FILES_MAX    64 /* of a process that has none left */
#define SPINNING_MAX 16
#define TIMES_MAX    65536
#define OWN_ERRNO    77

extern char **environ;

static struct {
    __typeof__(gpufl_init) *init;
    __typeof__(gpufl_shutdown) *shutdown;
    __typeof__(gpufl_flush) *flush;
    __typeof__(gpufl_get_stats) *get_stats;
    __typeof__(gpufl_set_log_callback) *set_log_callback;
    __typeof__(gpufl_scope_begin) *begin;
    __typeof__(gpufl_scope_end) *end;
    __typeof__(fake_launch) *launch;
    __typeof__(fake_completed) *completed;
} call;

static struct {
    const char *folder, *logs;
    char **words; /* those that are to come */
    pthread_t main, spins[SPINNING_MAX];
    unsigned spinning;
    int code;
    _Atomic unsigned timed;
    uint32_t ns[TIMES_MAX];
    _Atomic unsigned signals;
    _Atomic bool errno_changed;
    bool mute; /* standard error would end or hold up the job itself */
} life;

static void find(const char *name, void *into)
{
    void *at = dlsym(RTLD_DEFAULT, name);
    memcpy(into, &at, sizeof at);
}

static void find_calls(void)
{
    find("gpufl_init", &call.init);
    find("gpufl_shutdown", &call.shutdown);
    find("gpufl_flush", &call.flush);
    find("gpufl_get_stats", &call.get_stats);
    find("gpufl_set_log_callback", &call.set_log_callback);
    find("gpufl_scope_begin", &call.begin);
    find("gpufl_scope_end", &call.end);
    if (getenv("LIFE_GPU") && dlopen("libcupti.so.13", RTLD_NOW | RTLD_GLOBAL)) {
        find("fake_launch", &call.launch);
        find("fake_completed", &call.completed);
    }
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void nap_us(long us)
{
    struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    while (nanosleep(&t, &t) < 0 && errno == EINTR) {
    }
}

/* ---- operations ---- */

static struct gpufl_scope begin(const char *name)
{
    return call.begin ? call.begin(name) : (struct gpufl_scope){0};
}

static void end(struct gpufl_scope scope)
{
    if (call.end) {
        call.end(scope);
    }
}

static void one_operation(unsigned n)
{
    static const char *const names[] = {"load", "forward", "backward", "step", "log"};
    errno = OWN_ERRNO;
    struct gpufl_scope scope = begin(names[n % 5]);
    if (call.launch && n % 3 == 0) {
        call.launch("_Z4stepPf", 4);
    }
    end(scope);
    if (errno != OWN_ERRNO) {
        atomic_store(&life.errno_changed, true);
    }
    free(malloc(16u << n % 12));
}

static void operations(unsigned count, bool writes)
{
    for (unsigned i = 0; i < count; i++) {
        int64_t before = now_ns();
        one_operation(i);
        if (writes) {
            own_files_append(i);
        }
        int64_t took = now_ns() - before;
        unsigned at = atomic_fetch_add(&life.timed, 1);
        if (at < TIMES_MAX) {
            life.ns[at] = took > UINT32_MAX ? UINT32_MAX : (uint32_t)took;
        }
    }
}

static void *operate(void *count)
{
    operations(*(unsigned *)count, false);
    return NULL;
}

/* Most of the time between two points where it can be cancelled, with scopes open. */
static void *spin(void *arg)
{
    for (unsigned i = 0;; i++) {
        struct gpufl_scope scope = begin("spin");
        one_operation(i);
        if (i % 64 == 0) {
            nap_us(200);
        }
        if (i % 512 == 511 && call.flush && arg) {
            call.flush();
        }
        pthread_testcancel();
        end(scope);
    }
    return NULL;
}

/* ---- words ---- */

static void say(const char *word, long result)
{
    char line[128];
    int len = snprintf(line, sizeof line, "%.64s %ld\n", word, result);
    if (write(1, line, (size_t)len) != len) {
        _exit(91);
    }
    if (!life.mute) {
        dprintf(2, "job: %.64s\n", word);
    }
}

static void start_session(const char *engine)
{
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    options.log_path = life.logs;
    options.app_name = "life";
    options.system_sample_rate_ms = 10;
    options.continuous_system_sampling = true;
    options.profiling_engine = (enum gpufl_profiling_engine)atoi(engine);
    options.enable_stack_trace = true;
    if (call.init && call.init(&options) == GPUFL_ERR_USAGE) {
        say("job: init is refused", 0);
    }
}

static void *work_on(void *arg)
{
    nap_us(*(long *)arg);
    say("worked", 1);
    return NULL;
}

static void begin_work(void *us)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work_on, us) == 0) {
        pthread_detach(thread);
    }
}

struct awaited {
    int signal;
    long count;
};

static void *await(void *arg)
{
    const struct awaited *awaited = arg;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, awaited->signal);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    say("awaits", 0);
    for (int taken = 0, signal; taken < awaited->count; taken++) {
        sigwait(&set, &signal);
        say("took", signal);
    }
    return NULL;
}

static void begin_to_await(const char *signal, const char *count)
{
    static struct awaited awaited;
    pthread_t thread;
    awaited = (struct awaited){.signal = atoi(signal), .count = atol(count)};
    if (pthread_create(&thread, NULL, await, &awaited) == 0) {
        pthread_detach(thread);
    }
}

static void *hand_on(void *until_ns)
{
    pthread_t next;
    if (now_ns() >= *(int64_t *)until_ns) {
        say("worked", 1);
    } else if (pthread_create(&next, NULL, hand_on, until_ns) == 0) {
        pthread_detach(next);
    }
    return NULL;
}

static void begin_relay(long us)
{
    static int64_t until_ns;
    until_ns = now_ns() + us * 1000;
    pthread_t first;
    if (pthread_create(&first, NULL, hand_on, &until_ns) == 0) {
        pthread_detach(first);
    }
}

/* On whichever thread of the library says something first. */
static void start_work(void *arg, enum gpufl_log_level level, const char *line)
{
    static bool started;
    (void)level;
    (void)line;
    if (!started && !pthread_equal(pthread_self(), life.main)) {
        started = true;
        begin_work(arg);
    }
}

static void start_threads(unsigned count, unsigned each)
{
    pthread_t thread[SPINNING_MAX];
    unsigned started = 0;
    while (started < count && started < SPINNING_MAX &&
           pthread_create(&thread[started], NULL, operate, &each) == 0) {
        started++;
    }
    for (unsigned i = 0; i < started; i++) {
        pthread_join(thread[i], NULL);
    }
    say("joined", (long)started);
}

static void start_spinning(unsigned count)
{
    for (unsigned i = 0; i < count && life.spinning < SPINNING_MAX; i++) {
        void *flushes = i % 2 ? &life : NULL;
        if (pthread_create(&life.spins[life.spinning], NULL, spin, flushes) == 0) {
            life.spinning++;
        }
    }
    say("spinning", (long)life.spinning);
}

static void cancel_spinning(void)
{
    long cancelled = 0;
    for (unsigned i = 0; i < life.spinning; i++) {
        pthread_cancel(life.spins[i]);
    }
    for (unsigned i = 0; i < life.spinning; i++) {
        void *result = NULL;
        pthread_join(life.spins[i], &result);
        cancelled += result == PTHREAD_CANCELED;
    }
    life.spinning = 0;
    say("cancelled", cancelled);
}

/* The fake GPU, like a real one, does not survive a fork. */
static void be_child(const char *how)
{
    call.launch = NULL;
    end(begin("child"));
    if (strcmp(how, "exec") == 0) {
        execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
    } else if (strcmp(how, "kill") == 0) {
        kill(getpid(), SIGKILL);
    } else if (strcmp(how, "_exit") == 0) {
        _exit(6);
    } else if (strcmp(how, "init") == 0) {
        start_session("0");
        operations(50, false);
    }
    exit(7);
}

static void fork_child(const char *how)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        be_child(how);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    say("child", status);
    say("others", waitpid(-1, NULL, WNOHANG) < 0 ? errno : 0);
}

static void spawn_true(bool by_vfork)
{
    char *words[] = {"true", NULL};
    int status = -1;
    pid_t child = 0;
    if (by_vfork && (child = vfork()) == 0) {
        execv("/bin/true", words);
        _exit(9);
    } else if (!by_vfork) {
        posix_spawn(&child, "/bin/true", NULL, NULL, words, environ);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    say("true", status);
}

static void close_others(void)
{
    for (int fd = 3; fd < 1024; fd++) {
        if (!own_files_have(fd)) {
            close(fd);
        }
    }
}

/* Of a full pipe the other end stays open. */
static void lose_stderr(bool full)
{
    int pipes[2];
    char bytes[4096] = {0};
    if (pipe(pipes) < 0) {
        return;
    }
    if (full) {
        fcntl(pipes[1], F_SETFL, O_NONBLOCK);
        while (write(pipes[1], bytes, sizeof bytes) > 0) {
        }
        fcntl(pipes[1], F_SETFL, 0);
    }
    life.mute = true;
    dup2(pipes[1], 2);
    close(pipes[1]);
    if (!full) {
        close(pipes[0]);
    }
}

static void count_signal(int number)
{
    (void)number;
    atomic_fetch_add(&life.signals, 1);
}

static void start_timer(void)
{
    struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
    struct itimerval each = {.it_interval.tv_usec = 1000, .it_value.tv_usec = 1000};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &each, NULL);
}

static void limit_files(const char *bytes)
{
    struct rlimit limit = {.rlim_cur = (rlim_t)atol(bytes), .rlim_max = RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void vandalise(const char *how)
{
    char command[8300];
    const char *logs = life.logs;
    int len = -1;
    if (strcmp(how, "rm") == 0) {
        len = snprintf(command, sizeof command, "rm -rf '%s'", logs);
    } else if (strcmp(how, "cut") == 0) {
        len = snprintf(command, sizeof command,
                       "for f in '%s'/*/*.log; do : >\"$f\"; done", logs);
    } else if (strcmp(how, "mv") == 0) {
        len = snprintf(command, sizeof command, "mv -T '%s' '%s.moved'", logs, logs);
    } else if (strcmp(how, "mode") == 0) {
        len = snprintf(command, sizeof command, "chmod 0 '%s'/*", logs);
    }
    char *words[] = {"sh", "-c", command, NULL};
    pid_t child = len > 0 ? fork() : -1;
    if (child == 0) {
        close(1); /* what it says depends on what is there */
        close(2);
        execv("/bin/sh", words);
        _exit(9);
    }
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
}

static void wait_completed(unsigned count)
{
    for (int ms = 0; call.completed() < count && ms < 20000; ms++) {
        nap_us(1000);
    }
    say("completed", call.completed() >= count);
}

static void leave_open(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        begin("left open");
    }
}

static void exec_rest(void)
{
    char *self[1024] = {"/proc/self/exe", life.mute ? "--mute" : "--again",
                        (char *)life.folder, (char *)life.logs};
    size_t n = 4;
    for (char **word = life.words; *word && n < 1023; word++) {
        self[n++] = *word;
    }
    self[n] = NULL;
    execv(self[0], self);
    _exit(92);
}

/* ---- ends ---- */

static void write_times(void)
{
    const char *path = getenv("LIFE_TIMES");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    unsigned count = life.timed < TIMES_MAX ? life.timed : TIMES_MAX;
    if (fd >= 0 && write(fd, life.ns, count * sizeof *life.ns) < 0) {
        dprintf(1, "job: cannot write its times to descriptor %d: %s\n", fd,
                strerror(errno));
        _exit(93);
    }
    close(fd);
}

static void *exit_here(void *code)
{
    exit(*(int *)code);
    return NULL;
}

static void exit_in_handler(int number)
{
    (void)number;
    exit(life.code);
}

static void *signal_main(void *arg)
{
    nap_us(3000);
    pthread_kill(life.main, SIGUSR2);
    return arg;
}

/* Nothing but calls of the library is interrupted, and none that takes memory: exit() in
 * the midst of malloc() hangs by itself. */
static void wait_for_handler(void)
{
    pthread_t thread;
    end(begin("handled"));
    signal(SIGUSR2, exit_in_handler);
    pthread_create(&thread, NULL, signal_main, NULL);
    for (;;) {
        end(begin("handled"));
        if (call.flush) {
            call.flush();
        }
        nap_us(100);
    }
}

static void wait_for_exit(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, exit_here, &life.code);
    for (;;) {
        end(begin("waiting"));
    }
}

static void finish(const char *how, const char *value)
{
    life.code = atoi(value);
    say("files", own_files_are_whole());
    say("errno", !life.errno_changed);
    write_times();
    if (strcmp(how, "return") == 0) {
        return;
    } else if (strcmp(how, "exit") == 0) {
        exit(life.code);
    } else if (strcmp(how, "_exit") == 0) {
        _exit(life.code);
    } else if (strcmp(how, "quick_exit") == 0) {
        quick_exit(life.code);
    } else if (strcmp(how, "exit_thread") == 0) {
        wait_for_exit();
    } else if (strcmp(how, "exit_handler") == 0) {
        wait_for_handler();
    } else if (strcmp(how, "pthread_exit") == 0) {
        cancel_spinning();
        pthread_exit(NULL);
    } else if (strcmp(how, "abort") == 0) {
        signal(SIGABRT, SIG_DFL);
        abort();
    }
    kill(getpid(), life.code);
    for (;;) {
        pause();
    }
}

static void *start_session_there(void *engine)
{
    start_session(engine);
    return NULL;
}

static void start_session_elsewhere(char *engine)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, start_session_there, engine) == 0) {
        pthread_join(thread, NULL);
    }
}

static void launch_late(void)
{
    if (call.launch) {
        call.launch("_Z4latePf", 4);
    }
}

static void say_blocked(void)
{
    long blocked = 0;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    for (int signal = 1; signal <= SIGRTMAX; signal++) {
        blocked += sigismember(&mask, signal) == 1;
    }
    say("blocked", blocked);
}

static bool is_session_word(const char *verb, char *rest)
{
    static long us;
    struct gpufl_stats stats = GPUFL_STATS_INIT;
    if (strcmp(verb, "init") == 0) {
        start_session(rest);
    } else if (strcmp(verb, "elsewhere") == 0) {
        start_session_elsewhere(rest);
    } else if (strcmp(verb, "shutdown") == 0) {
        call.shutdown ? call.shutdown() : (void)0;
    } else if (strcmp(verb, "hooked") == 0) {
        call.shutdown ? (void)at_quick_exit(call.shutdown) : (void)0;
    } else if (strcmp(verb, "flush") == 0) {
        call.flush ? call.flush() : (void)0;
    } else if (strcmp(verb, "callback") == 0) {
        us = atol(rest);
        call.set_log_callback ? (void)call.set_log_callback(start_work, &us) : (void)0;
    } else if (strcmp(verb, "stats") == 0) {
        call.get_stats ? (void)call.get_stats(&stats) : (void)0;
    } else if (strcmp(verb, "open") == 0) {
        leave_open((unsigned)atoi(rest));
    } else {
        return false;
    }
    return true;
}

static bool is_work_word(const char *verb, const char *rest, const char *more)
{
    static long us;
    if (strcmp(verb, "ops") == 0) {
        operations((unsigned)atoi(rest), true);
        say("operated", atol(rest));
    } else if (strcmp(verb, "threads") == 0) {
        start_threads((unsigned)atoi(rest), (unsigned)atoi(more));
    } else if (strcmp(verb, "spin") == 0) {
        start_spinning((unsigned)atoi(rest));
    } else if (strcmp(verb, "name") == 0) {
        pthread_setname_np(pthread_self(), rest);
    } else if (strcmp(verb, "work") == 0) {
        us = atol(rest);
        begin_work(&us);
    } else if (strcmp(verb, "await") == 0) {
        begin_to_await(rest, more);
    } else if (strcmp(verb, "relay") == 0) {
        begin_relay(atol(rest));
    } else if (strcmp(verb, "cancel") == 0) {
        cancel_spinning();
    } else if (strcmp(verb, "fork") == 0) {
        fork_child(rest);
    } else if (strcmp(verb, "mask") == 0) {
        atexit(say_blocked);
    } else if (strcmp(verb, "touch") == 0) {
        close(open(rest, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    } else if (strcmp(verb, "late") == 0) {
        atexit(launch_late);
    } else if (strcmp(verb, "spawn") == 0 || strcmp(verb, "vfork") == 0) {
        spawn_true(*verb == 'v');
    } else if (strcmp(verb, "completed") == 0) {
        wait_completed((unsigned)atoi(rest));
    } else if (strcmp(verb, "nap") == 0) {
        nap_us(atol(rest));
    } else {
        return false;
    }
    return true;
}

static void limit_stacks(size_t kib)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, kib << 10);
    say("stacks", pthread_setattr_default_np(&attr) == 0);
    pthread_attr_destroy(&attr);
}

static void use_descriptors(unsigned left)
{
    int fd;
    dlopen("libgcc_s.so.1", RTLD_NOW); /* pthread_exit needs it */
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){FILES_MAX, FILES_MAX});
    do {
        fd = dup(1);
    } while (fd >= 0);
    for (int last = FILES_MAX - 1; left; last--) {
        left -= close(last) == 0;
    }
}

static bool is_harm_word(const char *verb, const char *rest)
{
    if (strcmp(verb, "closefrom") == 0) {
        close_others();
    } else if (strcmp(verb, "spread") == 0) {
        nap_us(50000); /* it is the library's long life that is tried, not its start */
        own_files_spread();
    } else if (strcmp(verb, "renumber") == 0) {
        own_files_renumber();
    } else if (strcmp(verb, "silent") == 0) {
        life.mute = true;
        close(2);
    } else if (strcmp(verb, "deaf") == 0 || strcmp(verb, "full") == 0) {
        lose_stderr(*verb == 'f');
    } else if (strcmp(verb, "timer") == 0) {
        start_timer();
    } else if (strcmp(verb, "stacks") == 0) {
        limit_stacks((size_t)atol(rest));
    } else if (strcmp(verb, "nofiles") == 0) {
        use_descriptors((unsigned)atoi(rest));
    } else if (strcmp(verb, "fsize") == 0) {
        limit_files(rest);
    } else if (strcmp(verb, "vandal") == 0) {
        vandalise(rest);
    } else if (strcmp(verb, "exec") == 0) {
        write_times();
        setitimer(ITIMER_REAL, &(struct itimerval){0},
                  NULL); /* its handler ends with it */
        exec_rest();
    } else {
        return false;
    }
    return true;
}

static void live(char *word)
{
    char verb[32];
    char *rest = strchr(word, ':');
    snprintf(verb, sizeof verb, "%.*s", rest ? (int)(rest - word) : 31, word);
    rest = rest ? rest + 1 : word + strlen(word);
    char *more = strchr(rest, ':');
    if (!is_session_word(verb, rest) && !is_work_word(verb, rest, more ? more + 1 : "") &&
        !is_harm_word(verb, rest)) {
        finish(verb, rest);
    }
}

int main(int argc, char **argv)
{
    life.mute = argc > 1 && strcmp(argv[1], "--mute") == 0;
    bool again = life.mute || (argc > 1 && strcmp(argv[1], "--again") == 0);
    argv += again;
    if (argc < 4 + again) {
        return 2;
    }
    life.main = pthread_self();
    life.folder = argv[1];
    life.logs = argv[2];
    find_calls();
    own_files_open(life.folder, again);
    for (life.words = argv + 3; *life.words;) {
        live(*life.words++);
    }
    return life.code;
}
