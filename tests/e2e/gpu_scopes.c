/* SPDX-License-Identifier: Apache-2.0 */
/* A job whose scopes end in unusual ways, on the GPU behind the fake libcupti. Usage:
 * gpu_scopes LOG_DIR PART; prints the session id first, counters at the end, and the
 * report into GPU_SCOPES_REPORT. Options come from the environment. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <gpufl/gpufl.h>

#include "tests/fake/cupti.h"

static struct {
    __typeof__(fake_launch) *launch;
    __typeof__(fake_launch_late) *launch_late;
    __typeof__(fake_end_late) *end_late;
    __typeof__(fake_waits) *waits;
} gpu;

static void find(const char *name, void *into)
{
    void *at = dlsym(RTLD_DEFAULT, name);
    if (!at) {
        fprintf(stderr, "gpu_scopes: no %s\n", name);
        exit(4);
    }
    memcpy(into, &at, sizeof at);
}

static void open_gpu(void)
{
    if (!dlopen("libcupti.so.13", RTLD_NOW | RTLD_GLOBAL)) {
        fprintf(stderr, "gpu_scopes: %s\n", dlerror());
        exit(4);
    }
    find("fake_launch", &gpu.launch);
    find("fake_launch_late", &gpu.launch_late);
    find("fake_end_late", &gpu.end_late);
    find("fake_waits", &gpu.waits);
}

static void rest_ms(long ms)
{
    struct timespec rest = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&rest, NULL);
}

/* Long enough for samples that only an open scope asks for. */
static void waits(void)
{
    GFL_SCOPE("a")
    {
        gpu.waits();
        gpufl_system_stop("never begun");
        rest_ms(600);
    }
}

/* While the writer waits for the disk: more than a ring takes. */
static void stalled(void)
{
    GFL_SCOPE("only one")
    {
        for (int i = 0; i < 10000; i++) {
            gpu.launch("_Z5firstPf", 4);
        }
        gpu.waits();
    }
    gpufl_system_start("phase");
    remove(getenv("FAKE_SLOW_SYNC"));
}

/* A pipeline: the next batch is loaded before the last one is done. */
static void overlapping(void)
{
    struct gpufl_scope a = gpufl_scope_begin("load 1");
    struct gpufl_scope b = gpufl_scope_begin("load 2");
    gpufl_scope_end(a);
    gpu.launch("_Z6secondPf", 4); /* in load 2 */
    gpufl_scope_end(b);
    gpu.launch("_Z5firstPf", 4); /* in none */
    GFL_SCOPE("train")
    {
        gpu.launch("_Z5thirdPf", 4);
    }
}

static void *end_scope(void *arg)
{
    struct gpufl_scope *scope = arg;
    gpufl_scope_end(*scope);
    gpufl_scope_end(*scope);
    return NULL;
}

static void on_other_thread(void *(*run)(void *), void *arg)
{
    pthread_t thread;
    pthread_create(&thread, NULL, run, arg);
    pthread_join(thread, NULL);
}

/* As coroutines do, 200 times; kernels behind the end are in no scope. */
static void elsewhere(void)
{
    for (int i = 0; i < 200; i++) {
        struct gpufl_scope scope = gpufl_scope_begin("async");
        gpu.launch("_Z6secondPf", 4);
        on_other_thread(end_scope, &scope);
        gpufl_scope_end(scope);
        gpu.launch("_Z5firstPf", 4);
    }
}

static void *leave_open(void *arg)
{
    (void)arg;
    gpufl_scope_begin("left");
    GFL_SCOPE("proper")
    {
    }
    gpufl_scope_begin("left, too");
    return NULL;
}

static void forgotten(void)
{
    on_other_thread(leave_open, NULL);
    for (int i = 0; i < 9500; i++) {
        gpufl_scope_begin("async");
        if (i % 1000 == 0) {
            gpufl_flush();
        }
    }
    gpufl_flush();
    for (int i = 0; i < 100; i++) {
        GFL_SCOPE("step")
        {
        }
    }
}

static void step(const char *scope, const char *kernel, int times)
{
    for (int i = 0; i < times; i++) {
        GFL_SCOPE(scope)
        {
            gpu.launch(kernel, 4);
        }
        gpufl_flush();
    }
}

/* Two names that come again and again, and many that come once. */
static void recurring(void)
{
    char name[32];
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "once %d", i);
        step(i % 2 ? "odd" : "even", i % 2 ? "_Z5firstPf" : "_Z6secondPf", 2);
        step(name, "_Z5thirdPf", 1);
    }
}

/* Writes fail for a while. */
static void full_disk(void)
{
    const char *flag = getenv("FAKE_FULL_DISK");
    step("before", "_Z5firstPf", 1);
    fclose(fopen(flag, "w"));
    step("meanwhile", "_Z6secondPf", 20);
    remove(flag);
    step("meanwhile", "_Z6secondPf", 30);
    step("behind", "_Z5thirdPf", 20);
}

/* Scopes begin while writes fail, and end when they do not any more. */
static void full_disk_within(void)
{
    struct gpufl_scope scope[100];
    const char *flag = getenv("FAKE_FULL_DISK");
    GFL_SCOPE("around") /* keeps the samples coming */
    {
        step("before", "_Z5firstPf", 1);
        fclose(fopen(flag, "w"));
        for (int i = 0; i < 100; i++) {
            scope[i] = gpufl_scope_begin("begun meanwhile");
        }
        step("meanwhile", "_Z6secondPf", 20);
        rest_ms(100);
        gpufl_flush();
        remove(flag);
        step("meanwhile", "_Z6secondPf", 30);
        for (int i = 0; i < 100; i++) {
            gpufl_scope_end(scope[i]);
        }
        step("behind", "_Z5thirdPf", 20);
    }
}

/* Writes fail from some time on. */
static void full_disk_to_the_end(void)
{
    step("before", "_Z5firstPf", 1);
    fclose(fopen(getenv("FAKE_FULL_DISK"), "w"));
    step("meanwhile", "_Z6secondPf", 20);
}

/* Writes fail again after they had succeeded. */
static void full_disk_again(void)
{
    full_disk();
    full_disk();
}

/* Two sessions before the last one. */
/* What others do to the files of a running session. */
static void disturbed(void)
{
    struct gpufl_scope across[10];
    step("before", "_Z5firstPf", 20);
    for (int i = 0; i < 10; i++) {
        across[i] = gpufl_scope_begin("across");
    }
    step("before", "_Z5firstPf", 20);
    if (system(getenv("GPU_SCOPES_COMMAND")) != 0) {
        exit(4);
    }
    for (int i = 0; i < 3000; i++) {
        GFL_SCOPE("burst")
        {
        }
    }
    for (int i = 0; i < 10; i++) {
        gpufl_scope_end(across[i]);
    }
    step("behind", "_Z6secondPf", 3);
}

static void sessions(void)
{
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    options.log_path = getenv("GPU_SCOPES_LOGS");
    step("first", "_Z5firstPf", 1);
    for (int i = 0; i < 2; i++) {
        if (gpufl_init(&options) != GPUFL_OK) {
            exit(3);
        }
        step("second", "_Z5firstPf", 1);
    }
}

static void *record_without_pause(void *arg)
{
    (void)arg;
    while (access(getenv("GPU_SCOPES_HOT"), F_OK) == 0) {
        for (int i = 0; i < 2000; i++) {
            gpufl_scope_end(gpufl_scope_begin("hot"));
        }
    }
    return NULL;
}

/* More threads than CPUs, until the file goes. */
static void hot(void)
{
    pthread_t thread[16];
    gpufl_system_start("hot"); /* samples are wanted */
    for (int i = 0; i < 16; i++) {
        pthread_create(&thread[i], NULL, record_without_pause, NULL);
    }
    for (int i = 0; i < 16; i++) {
        pthread_join(thread[i], NULL);
    }
}

#define RESULTS 8

static int result[RESULTS]; /* descriptors of the job's own files */

static void open_results(void)
{
    for (int i = 0; i < RESULTS; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s.%d", getenv("GPU_SCOPES_REPORT"), i);
        result[i] = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
        dprintf(result[i], "weights\n");
    }
}

static void close_results(void)
{
    for (int i = 0; i < RESULTS && result[0]; i++) {
        if (dprintf(result[i], "end\n") != 4 || close(result[i]) < 0) {
            fprintf(stderr, "result %d is closed\n", i);
        }
    }
}

/* As a launcher that makes a daemon of its child. */
static void closed(void)
{
    step("before", "_Z5firstPf", 1);
    for (int fd = 3; fd < 1024; fd++) {
        close(fd);
    }
    open_results();
    step("behind", "_Z6secondPf", 3);
}

/* The descriptors of the collector become the job's. */
static void replaced(void)
{
    step("before", "_Z5firstPf", 1);
    int own = dup(2);
    open_results();
    for (int fd = 3; fd < 1024; fd++) {
        bool is_result = fd == own;
        for (int i = 0; i < RESULTS; i++) {
            is_result = is_result || fd == result[i];
        }
        if (!is_result && fcntl(fd, F_GETFD) >= 0) {
            dup2(result[fd % RESULTS], fd);
        }
    }
    step("behind", "_Z6secondPf", 3);
}

/* The fake has a launch without a callback for a kernel of a graph, and one without a
 * record for one that is captured. */
static void graphs(void)
{
    int (*callback)(unsigned, void *, int, unsigned);
    int (*records_on)(int), (*records_off)(int);
    enum { DRIVER = 1, LAUNCH_KERNEL = 307, CONCURRENT_KERNEL = 10 };
    find("cuptiEnableCallback", &callback);
    find("cuptiActivityEnable", &records_on);
    find("cuptiActivityDisable", &records_off);
    step("launched", "_Z5firstPf", 3);
    callback(0, NULL, DRIVER, LAUNCH_KERNEL);
    step("of a graph", "_Z6secondPf", 40);
    callback(1, NULL, DRIVER, LAUNCH_KERNEL);
    records_off(CONCURRENT_KERNEL);
    step("captured", "_Z5firstPf", 30);
    records_on(CONCURRENT_KERNEL);
}

static _Atomic bool restarted;

static void *launch_on(void *arg)
{
    (void)arg;
    while (!restarted) {
        GFL_SCOPE("step")
        {
            gpu.launch("_Z5firstPf", 4);
            gpu.waits();
        }
    }
    return NULL;
}

/* Sessions begin and end while threads launch and wait. */
static void restarts(void)
{
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    pthread_t thread[2];
    options.log_path = getenv("GPU_SCOPES_LOGS");
    for (int i = 0; i < 2; i++) {
        pthread_create(&thread[i], NULL, launch_on, NULL);
    }
    for (int i = 0; i < 10; i++) {
        if (gpufl_init(&options) != GPUFL_OK) {
            exit(3);
        }
        gpufl_flush();
    }
    restarted = true;
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
    }
}

static void make_hang(void)
{
    const char *hang = getenv("FAKE_CUPTI_HANG");
    if (hang) {
        gpufl_flush();
        fclose(fopen(hang, "w"));
    }
}

static void exits(void)
{
    GFL_SCOPE("step")
    {
        gpu.launch("_Z5firstPf", 4);
    }
    make_hang();
    exit(7);
}

static void exits_before_a_call(void)
{
    GFL_SCOPE("step")
    {
    }
    exit(7);
}

static _Atomic int flushes;

static void *flush_on(void *arg)
{
    (void)arg;
    for (;;) {
        gpufl_flush();
        flushes++;
    }
    return NULL;
}

static void cancelled(void)
{
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        int before = flushes;
        pthread_create(&thread, NULL, flush_on, NULL);
        while (flushes == before) {
            rest_ms(1);
        }
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
    step("behind", "_Z5firstPf", 1);
}

static void *one_scope(void *arg)
{
    (void)arg;
    GFL_SCOPE("request")
    {
        gpu.launch("_Z5firstPf", 4);
    }
    return NULL;
}

static long resident_kib(void)
{
    long all = 0;
    long resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &all, &resident) != 2) {
        exit(5);
    }
    fclose(file);
    return resident * 4;
}

/* Threads that come and go: prints how much memory 8,000 of them leave behind. */
static void churn(void)
{
    long before = 0;
    for (int i = 0; i < 9000; i++) {
        if (i == 1000) {
            before = resident_kib();
        }
        on_other_thread(one_scope, NULL);
        if (i % 50 == 0) {
            gpufl_flush();
        }
    }
    fprintf(stderr, "grown %ld\n", resident_kib() - before);
}

/* More text than the table of names takes: 8 MiB. */
static void many_names(void)
{
    for (int i = 0; i < 2200; i++) {
        char *name = malloc(4097); /* as CUPTI's, it stays */
        memset(name, 'x', 4096);
        name[4096] = '\0';
        name[snprintf(name, 40, "cutlass_device_kernel_%06d_", i)] = 'y';
        gpu.launch(name, 4);
    }
}

/* More than is recorded of a name, and than there is room for names: that of the second
 * one differs from the first one's only there. */
static void long_names(void)
{
    static char name[(9 << 20) + 1];
    memset(name, 'a', sizeof name - 1);
    for (int i = 0; i < 2; i++) {
        GFL_SCOPE(name)
        {
        }
        name[8 << 20] = '\0';
    }
    name[0] = 'b';
    GFL_SCOPE(name)
    {
    }
    GFL_SCOPE("plain")
    {
    }
}

static pthread_barrier_t limited;

static void *scopes_without_memory(void *arg)
{
    (void)arg;
    pthread_barrier_wait(&limited);
    for (int i = 0; i < 1000; i++) {
        gpufl_scope_end(gpufl_scope_begin("lost"));
    }
    return NULL;
}

static void without_memory(void)
{
    struct rlimit limit = {0, RLIM_INFINITY};
    pthread_t thread;
    gpufl_flush();
    pthread_barrier_init(&limited, NULL, 2);
    pthread_create(&thread, NULL, scopes_without_memory, NULL);
    setrlimit(RLIMIT_AS, &limit);
    pthread_barrier_wait(&limited);
    pthread_join(thread, NULL);
    limit.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_AS, &limit);
}

/* Of two calls, one for each bit of \p path: as many stacks as there are paths. */
__attribute__((noinline, noclone)) static void launch_by(unsigned path, int bits)
{
    if (bits == 0) {
        gpu.launch("_Z1fv", 1);
    } else if (path & 1) {
        launch_by(path >> 1, bits - 1);
    } else {
        launch_by(path >> 1, bits - 1);
        __asm__ volatile("" ::: "memory");
    }
    __asm__ volatile("" ::: "memory");
}

/* 20,000 launches, each with a stack of its own, and no faster than they are written. */
static void many_stacks(void)
{
    for (unsigned i = 0; i < 20000; i++) {
        launch_by(i, 15);
        if (i % 1000 == 999) {
            gpufl_flush();
        }
    }
}

/* Each scope in the one before: a path of 1,023 bytes, and one of 1,024. */
static void long_paths(void)
{
    char name[2][513];
    for (int i = 0; i < 2; i++) {
        memset(name[i], 'a' + i, 512);
        name[i][511 + i] = '\0';
    }
    for (int i = 0; i < 2; i++) {
        GFL_SCOPE(name[0])
        {
            GFL_SCOPE(name[i])
            {
                gpu.launch("_Z5firstPf", 4);
            }
        }
    }
}

/* More text than the table of paths takes, of few names. */
static void many_paths(void)
{
    char name[200];
    memset(name, 'x', sizeof name);
    for (int outer = 0; outer < 100; outer++) {
        snprintf(name + 192, 8, "%d", outer);
        struct gpufl_scope scope = gpufl_scope_begin(name);
        for (int inner = 0; inner < 220; inner++) {
            snprintf(name + 192, 8, "%d", inner);
            gpufl_scope_end(gpufl_scope_begin(name));
        }
        gpufl_scope_end(scope);
        gpufl_flush();
    }
}

/* A kernel that runs on while so many others are launched: one more than are remembered,
 * or as many. */
static void runs_on(int others)
{
    GFL_SCOPE("long")
    {
        gpu.launch_late("_Z4longPf");
    }
    GFL_SCOPE("others")
    {
        for (int i = 1; i <= others; i++) {
            gpu.launch("_Z5firstPf", 4);
            if (i % 4096 == 0) {
                gpufl_flush();
            }
        }
    }
    gpu.end_late();
}

static void runs_on_long(void)
{
    runs_on((1 << 18) - 1);
}

static void runs_on_too_long(void)
{
    runs_on(1 << 18);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*play)(void);
    } parts[] = {
        {"waits", waits},
        {"stalled", stalled},
        {"overlapping", overlapping},
        {"elsewhere", elsewhere},
        {"forgotten", forgotten},
        {"churn", churn},
        {"many names", many_names},
        {"long names", long_names},
        {"many stacks", many_stacks},
        {"long paths", long_paths},
        {"many paths", many_paths},
        {"runs on", runs_on_long},
        {"runs on too long", runs_on_too_long},
        {"without memory", without_memory},
        {"recurring", recurring},
        {"full disk", full_disk},
        {"full disk again", full_disk_again},
        {"full disk to the end", full_disk_to_the_end},
        {"full disk within", full_disk_within},
        {"hot", hot},
        {"cancelled", cancelled},
        {"exits", exits},
        {"exits before a call", exits_before_a_call},
        {"graphs", graphs},
        {"restarts", restarts},
        {"closed", closed},
        {"replaced", replaced},
        {"sessions", sessions},
        {"disturbed", disturbed},
    };
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    char id[40];
    options.log_path = argc > 1 ? argv[1] : "";
    open_gpu();
    if (argc < 3 || gpufl_init(&options) != GPUFL_OK) {
        return 3;
    }
    gpufl_session_id(id);
    puts(id);
    fflush(stdout);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strcmp(argv[2], parts[i].name) == 0) {
            parts[i].play();
        }
    }
    gpufl_shutdown();
    close_results();
    struct gpufl_stats s = GPUFL_STATS_INIT;
    if (gpufl_get_stats(&s) == GPUFL_OK) {
        fprintf(stderr, "stats %lu %lu %lu %lu %lu %lu %lu %lu %lu\n",
                (unsigned long)s.scopes_recorded, (unsigned long)s.scopes_dropped,
                (unsigned long)s.calls_dropped, (unsigned long)s.waits_dropped,
                (unsigned long)s.phases_dropped, (unsigned long)s.without_memory,
                (unsigned long)s.bytes_written, (unsigned long)s.bytes_lost,
                (unsigned long)s.samples);
    }
    gpufl_generate_report(getenv("GPU_SCOPES_REPORT"));
    return 7;
}
