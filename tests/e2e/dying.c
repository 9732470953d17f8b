/* SPDX-License-Identifier: Apache-2.0 */
/* A job that ends without gpufl_shutdown while a thread records 100,000 events a second.
 * Usage: dying LOG_DIR WAY [LIBGPUFL]; prints the session id, then lines of evidence: the
 * time of the last scope in ns since 1970, how many scopes must be in the files by now,
 * and for how many ns the threads that write waited for a CPU (-1 = not known).
 *
 * With $DYING_KERNELS_MS=n it launches kernels of the fake libcupti, too; a fourth number
 * says how many were launched n ms before, and must be in the files (-1 = not known): the
 * time for which the writer waited for a CPU does not count, nor that for which CUPTI's
 * thread did, for which the writer waits. With $DYING_HOT=n so many other threads record
 * without a pause, all on one CPU. */
#include <dirent.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <gpufl/gpufl.h>

#define RECORD_MS       500
#define PAIRS_EACH_MS   50
#define NS_EACH_MS      1000000
#define EXIT_OF_THE_JOB 7
/* When the writer comes round a third time, the second round has been written; it began
 * after the first one ended, so it took all that was recorded before. */
#define ROUNDS 3
/* The job goes on until the writer has come round so often. */
#define ROUNDS_MIN       10
#define LAUNCHES_EACH_MS 5
#define PAST             4096
#define NAPS_MAX         10

static struct {
    _Atomic uint64_t recorded;   /* scopes that were not dropped */
    _Atomic int64_t recorded_ns; /* the time of the last one */
    _Atomic uint64_t kept;       /* scopes that must be in the files */
    _Atomic uint64_t rounds;     /* of the writer */
    _Atomic uint64_t launched;
    int64_t kernels_kept; /* kernels that must be */
} evidence;

static void (*launch)(const char *symbol, int grid);

static int64_t real_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 * NS_EACH_MS + t.tv_nsec;
}

static void sleep_until_next(struct timespec *next, long ms)
{
    next->tv_nsec += ms * NS_EACH_MS;
    if (next->tv_nsec >= 1000 * NS_EACH_MS) {
        next->tv_nsec -= 1000 * NS_EACH_MS;
        next->tv_sec++;
    }
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL);
}

static bool read_file(const char *task, const char *name, char *text, int size)
{
    char path[300];
    snprintf(path, sizeof path, "/proc/self/task/%s/%s", task, name);
    FILE *file = fopen(path, "re");
    bool read = file && fgets(text, size, file);
    if (file) {
        fclose(file);
    }
    return read;
}

/* proc(5): schedstat is the time on a CPU, the time that was waited for one, in ns, and
 * how often it got one; -1 = not known. A wait counts once it has ended. */
struct turns {
    int64_t delay_ns, got;
};

static struct turns turns_of(const char *task)
{
    char text[100];
    struct turns turns = {-1, -1};
    if (read_file(task, "schedstat", text, sizeof text)) {
        sscanf(text, "%*d %" SCNd64 " %" SCNd64, &turns.delay_ns, &turns.got);
    }
    return turns;
}

typedef char task_number[sizeof((struct dirent *)0)->d_name];

static task_number writer, files, cuptis;

/* They have their names when gpufl_init returns. Threads that one of them has just
 * started have its name, too, until they have their own: it is the first one. */
static void find_thread(const char *name, task_number number)
{
    char text[100];
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *e; tasks && !number[0] && (e = readdir(tasks));) {
        if (read_file(e->d_name, "comm", text, sizeof text) && strcmp(text, name) == 0) {
            memcpy(number, e->d_name, sizeof e->d_name);
        }
    }
    if (tasks) {
        closedir(tasks);
    }
}

static struct turns turns_with(struct turns turns, const char *task)
{
    const struct turns others = turns_of(task);
    turns.delay_ns =
        turns.delay_ns < 0 || others.delay_ns < 0 ? -1 : turns.delay_ns + others.delay_ns;
    return turns;
}

/* With the delays of the thread that has its files, for which it waits. */
static struct turns writers_turns(void)
{
    return turns_with(turns_of(writer), files);
}

static struct turns turns_with_cuptis(void)
{
    return turns_with(writers_turns(), cuptis);
}

static int number(const char *variable)
{
    const char *text = getenv(variable);
    return text ? atoi(text) : 0;
}

static void *record(void *arg)
{
    struct timespec next;
    (void)arg;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (;;) {
        for (int i = 0; i < PAIRS_EACH_MS; i++) {
            struct gpufl_scope scope = gpufl_scope_begin("step");
            gpufl_scope_end(scope);
            evidence.recorded += scope.instance != 0;
        }
        evidence.recorded_ns = real_ns();
        for (int i = 0; launch && i < LAUNCHES_EACH_MS; i++) {
            launch("_Z5firstPf", 4);
            evidence.launched++;
        }
        sleep_until_next(&next, 1);
    }
    return NULL;
}

/* The writer has other CPUs, where there are any. */
static void *record_without_pause(void *arg)
{
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++) {
        if (CPU_ISSET(cpu, &all)) {
            CPU_SET(cpu, &one);
        }
    }
    sched_setaffinity(0, sizeof one, &one);
    for (;;) {
        struct gpufl_scope scope = gpufl_scope_begin("hot");
        gpufl_scope_end(scope);
        if (!scope.instance) { /* its ring is full: another one may not be */
            sched_yield();
        }
    }
    return arg;
}

/* What was so at some time, of each ms; the last are kept. */
static struct past {
    int64_t ns;
    int64_t delay_ns;
    uint64_t launched;
} past[PAST];

/* In this order, so that at that time no fewer were launched and it had waited no less.
 */
static void note_launches(struct past *now)
{
    if (launch) {
        now->delay_ns = turns_with_cuptis().delay_ns;
        now->launched = evidence.launched;
        now->ns = real_ns();
    }
}

/* The writer gets a CPU once more, so that all for which it waited by now is counted. */
static int64_t kernels_kept(void)
{
    const int64_t patience_ns = (int64_t)number("DYING_KERNELS_MS") * NS_EACH_MS;
    const int64_t now_ns = real_ns();
    const struct turns then = turns_with_cuptis();
    struct turns turns = then;
    uint64_t kept = 0;
    while (then.delay_ns >= 0 && turns.got == then.got) {
        usleep(1000);
        turns = turns_with_cuptis();
    }
    for (const struct past *at = past; at < past + PAST; at++) {
        int64_t ns = now_ns - at->ns - (turns.delay_ns - at->delay_ns);
        if (at->ns && ns >= patience_ns && at->launched > kept) {
            kept = at->launched;
        }
    }
    return then.delay_ns < 0 ? -1 : (int64_t)kept;
}

/* Notes each time that the writer has taken rows what had been recorded by then. */
static void *watch(void *arg)
{
    uint64_t recorded[ROUNDS] = {0};
    uint64_t seen = 0;
    struct timespec next;
    (void)arg;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (uint64_t tick = 0;; tick++) {
        struct gpufl_stats stats = GPUFL_STATS_INIT;
        gpufl_status status = gpufl_get_stats(&stats);
        note_launches(&past[tick % PAST]);
        if (status == GPUFL_OK && stats.scopes_recorded > seen) {
            seen = stats.scopes_recorded;
            evidence.kept = recorded[evidence.rounds % ROUNDS];
            recorded[evidence.rounds % ROUNDS] = evidence.recorded;
            evidence.rounds++;
        }
        sleep_until_next(&next, 1);
    }
    return NULL;
}

static void say_id(gpufl_status (*session_id)(char *))
{
    char id[40];
    if (session_id(id) != GPUFL_OK) {
        exit(3);
    }
    puts(id);
}

static void say_evidence(int64_t delay_ns)
{
    printf("%" PRId64 " %" PRIu64 " %" PRId64 " %" PRId64 "\n", evidence.recorded_ns,
           evidence.kept, delay_ns, evidence.kernels_kept);
    fflush(stdout);
}

static void nap(void)
{
    struct timespec t = {.tv_nsec = (long)RECORD_MS * NS_EACH_MS};
    nanosleep(&t, NULL);
}

static void touch_forbidden_memory(void)
{
    volatile char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    page[0] = 1;
}

/* Grows until the kernel kills; gives the evidence with each step, so that the last is
 * known. */
static void eat_memory(void)
{
    const size_t step_bytes = 1 << 20;
    for (;;) {
        char *more = mmap(NULL, step_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (more == MAP_FAILED) {
            return;
        }
        memset(more, 1, step_bytes);
        say_evidence(-1);
    }
}

static int end(const char *way)
{
    say_evidence(writers_turns().delay_ns);
    if (strcmp(way, "kill") == 0) {
        kill(getpid(), SIGKILL);
    } else if (strcmp(way, "term") == 0) {
        kill(getpid(), SIGTERM);
    } else if (strcmp(way, "abort") == 0) {
        abort();
    } else if (strcmp(way, "segfault") == 0) {
        touch_forbidden_memory();
    } else if (strcmp(way, "oom") == 0) {
        eat_memory();
    } else if (strcmp(way, "_exit") == 0) {
        _exit(EXIT_OF_THE_JOB);
    } else if (strcmp(way, "exec") == 0) {
        execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
    } else if (strcmp(way, "return") == 0) {
        return EXIT_OF_THE_JOB;
    }
    return 2;
}

static struct {
    pthread_barrier_t unloaded;
    struct gpufl_scope (*begin)(const char *);
    void (*end)(struct gpufl_scope);
} plugin;

static void *record_by_plugin(void *arg)
{
    plugin.end(plugin.begin("plugin"));
    pthread_barrier_wait(&plugin.unloaded);
    pthread_barrier_wait(&plugin.unloaded);
    return arg;
}

/* A plugin that is unloaded while it records, before a thread that it knows ends, and
 * main, which may leave. */
static int unload(const char *logs, const char *way, const char *library)
{
    pthread_t thread;
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    gpufl_status (*init)(const struct gpufl_init_options *);
    gpufl_status (*session_id)(char *);
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    *(void **)&init = dlsym(handle, "gpufl_init");
    *(void **)&session_id = dlsym(handle, "gpufl_session_id");
    options.log_path = logs;
    if (init(&options) != GPUFL_OK) {
        return 3;
    }
    *(void **)&plugin.begin = dlsym(handle, "gpufl_scope_begin");
    *(void **)&plugin.end = dlsym(handle, "gpufl_scope_end");
    pthread_barrier_init(&plugin.unloaded, NULL, 2);
    say_id(session_id);
    if (pthread_create(&thread, NULL, record_by_plugin, NULL) != 0) {
        return 3;
    }
    pthread_barrier_wait(&plugin.unloaded);
    nap();
    dlclose(handle);
    nap();
    pthread_barrier_wait(&plugin.unloaded);
    pthread_join(thread, NULL);
    say_evidence(-1);
    if (strcmp(way, "leave") == 0) {
        fflush(stdout);
        pthread_exit(NULL);
    }
    return EXIT_OF_THE_JOB;
}

static void open_gpu(void)
{
    void *library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        fprintf(stderr, "dying: %s\n", dlerror());
        exit(4);
    }
    *(void **)&launch = dlsym(library, "fake_launch");
}

int main(int argc, char **argv)
{
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    void *(*const threads[])(void *) = {record, watch};
    pthread_t thread;
    if (argc == 4) {
        return unload(argv[1], argv[2], argv[3]);
    }
    if (number("DYING_KERNELS_MS")) {
        open_gpu();
    }
    options.log_path = argv[1];
    if (argc != 3 || gpufl_init(&options) != GPUFL_OK) {
        return 3;
    }
    find_thread("gpufl-writer\n", writer);
    find_thread("gpufl-files\n", files);
    find_thread("cuptis\n", cuptis);
    say_id(gpufl_session_id);
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        if (pthread_create(&thread, NULL, threads[i], NULL) != 0) {
            return 3;
        }
    }
    for (int i = 0; i < number("DYING_HOT"); i++) {
        if (pthread_create(&thread, NULL, record_without_pause, NULL) != 0) {
            return 3;
        }
    }
    int naps = 0;
    do {
        nap();
        evidence.kernels_kept = launch ? kernels_kept() : -1;
    } while (evidence.rounds < ROUNDS_MIN ||
             (evidence.kernels_kept == 0 && ++naps < NAPS_MAX));
    return end(argv[2]);
}
