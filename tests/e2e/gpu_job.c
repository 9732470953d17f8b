/* SPDX-License-Identifier: Apache-2.0 */
/* A job on the GPU behind the fake libcupti. Usage: gpu_job LOG_DIR PART; prints the
 * session id first. Options come from the environment. */
#include <dlfcn.h>
#include <execinfo.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <gpufl/gpufl.h>

#include "tests/fake/cupti.h"

#define THREADS        8
#define EACH           2000
#define FLOOD_LAUNCHES 500000
#define INNER_FRAMES   5 /* from a launch to where the library looks at the stack */

static struct {
    __typeof__(fake_init) *init;
    __typeof__(fake_launch) *launch;
    __typeof__(fake_launch_that_never_ends) *launch_endless;
    __typeof__(fake_launch_captured) *launch_captured;
    __typeof__(fake_launch_as) *launch_as;
    __typeof__(fake_use) *use;
    __typeof__(fake_others) *others;
    __typeof__(fake_waits) *waits;
    __typeof__(fake_ends) *ends;
    __typeof__(fake_context) *context;
    __typeof__(fake_hold_fetches) *hold_fetches;
    __typeof__(fake_ask) *ask;
    __typeof__(fake_run_out) *run_out;
    __typeof__(fake_completed) *completed;
    int (*listen)(void (*request)(uint8_t **, size_t *, size_t *),
                  void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t));
    int (*push)(int kind, uint64_t id);
    int (*pop)(int kind, uint64_t *id);
} gpu;

static void find(const char *name, void *into)
{
    void *at = dlsym(RTLD_DEFAULT, name);
    if (!at) {
        fprintf(stderr, "gpu_job: no %s\n", name);
        exit(4);
    }
    memcpy(into, &at, sizeof at);
}

static void open_gpu(void)
{
    if (!dlopen("libcupti.so.13", RTLD_NOW | RTLD_GLOBAL)) {
        fprintf(stderr, "gpu_job: %s\n", dlerror());
        exit(4);
    }
    find("fake_init", &gpu.init);
    find("fake_launch", &gpu.launch);
    find("fake_launch_that_never_ends", &gpu.launch_endless);
    find("fake_launch_captured", &gpu.launch_captured);
    find("fake_launch_as", &gpu.launch_as);
    find("fake_use", &gpu.use);
    find("fake_others", &gpu.others);
    find("fake_waits", &gpu.waits);
    find("fake_ends", &gpu.ends);
    find("fake_context", &gpu.context);
    find("fake_hold_fetches", &gpu.hold_fetches);
    find("fake_ask", &gpu.ask);
    find("fake_run_out", &gpu.run_out);
    find("fake_completed", &gpu.completed);
    find("cuptiActivityRegisterCallbacks", &gpu.listen);
    find("cuptiActivityPushExternalCorrelationId", &gpu.push);
    find("cuptiActivityPopExternalCorrelationId", &gpu.pop);
}

static void begin(const char *logs)
{
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    char id[40];
    options.log_path = logs;
    if (gpufl_init(&options) != GPUFL_OK) {
        exit(3);
    }
    gpufl_session_id(id);
    puts(id);
    fflush(stdout);
}

/* Functions that a stack names. */
#define A_FRAME __attribute__((noinline, noclone)) static
#define STAYS_FRAME                                                                      \
    __asm__ volatile("" ::: "memory") /* the call before is not its last */

A_FRAME void launch(const char *symbol, int times)
{
    for (int i = 0; i < times; i++) {
        gpu.launch(symbol, 4);
    }
}

/* 3 in a, 5 in b, 7 in b/c, 2 with a pushed id, 11 in none. */
static void counted(void)
{
    uint64_t id;
    GFL_SCOPE("a")
    {
        launch("_Z5firstPf", 3);
    }
    GFL_SCOPE("b")
    {
        launch("_Z6secondPf", 5);
        GFL_SCOPE("c")
        {
            launch("_Z6secondPf", 7);
        }
    }
    gpu.push(3, 99);
    launch("_Z5firstPf", 2);
    gpu.pop(3, &id);
    launch("plain_c", 11);
    gpu.others(4096);
}

A_FRAME void train_step(void)
{
    launch("_Z5firstPf", 3);
    gpu.others(4096);
    STAYS_FRAME;
}

A_FRAME void eval_step(void)
{
    launch("_Z5firstPf", 2);
    STAYS_FRAME;
}

A_FRAME void called(void)
{
    GFL_SCOPE("io")
    {
        train_step();
    }
    eval_step();
    STAYS_FRAME;
}

static void launch_twice(void)
{
    launch("_Z5firstPf", 2);
}

/* By a library at JOB_LIBRARY, whose place that at JOB_UPGRADE, if any, takes meanwhile.
 */
static void called_by_a_library(void)
{
    const char *path = getenv("JOB_LIBRARY");
    const char *upgrade = getenv("JOB_UPGRADE");
    void *library = dlopen(path, RTLD_NOW);
    void (*call)(void (*)(void)) = NULL;
    void *at = library ? dlsym(library, "call") : NULL;
    if (!at || (upgrade && rename(upgrade, path) < 0)) {
        exit(5);
    }
    memcpy(&call, &at, sizeof at);
    call(launch_twice);
}

/* Ids of two kinds, one within the other, and one after a long time without. */
static void pushed(void)
{
    uint64_t id;
    gpu.push(1, 5);
    launch("_Z5firstPf", 1);
    gpu.push(4, 6);
    launch("_Z5firstPf", 2);
    gpu.pop(4, &id);
    launch("_Z5firstPf", 3);
    gpu.pop(1, &id);
    launch("_Z5firstPf", 3000);
    gpu.push(3, 8);
    launch("_Z5firstPf", 100);
    if (gpu.pop(3, &id) != 0 || id != 8 || gpu.pop(3, &id) == 0) {
        exit(6); /* it is not as this program left it */
    }
}

/* More than there are, so that some come to nothing. */
static void asked(void)
{
    launch("_Z5firstPf", 3);
    struct fake_asked told = gpu.ask(2000);
    gpufl_flush();
    launch("_Z5firstPf", 2);
    fprintf(stderr, "asked %u %u\n", told.lent, told.distinct);
}

static void run_out(void)
{
    launch("_Z5firstPf", 3);
    fprintf(stderr, "ran out behind %u\n", gpu.run_out());
}

/* How often the fake was called so. */
static unsigned noted(const char *call)
{
    char line[64];
    unsigned found = 0;
    FILE *calls = fopen(getenv("FAKE_CUPTI_CALLS"), "r");
    while (calls && fgets(line, sizeof line, calls)) {
        found += strncmp(line, call, strlen(call)) == 0;
    }
    if (calls) {
        fclose(calls);
    }
    return found;
}

/* Time for several fetches before the first launch. */
static void idle(void)
{
    struct timespec rest = {.tv_nsec = 400000000};
    nanosleep(&rest, NULL);
    if (noted("flush")) {
        gpufl_shutdown();
        exit(8);
    }
    launch("_Z5firstPf", 1);
}

/* Long enough for samples that only an open scope asks for. */
static void sampled_in_a_scope(void)
{
    struct timespec rest = {.tv_nsec = 600000000};
    GFL_SCOPE("a")
    {
        launch("_Z5firstPf", 5);
        nanosleep(&rest, NULL);
    }
}

/* CUPTI's clock is another one, or fails, from the first flush on; the variable is there
 * before, so that no other thread that reads it is disturbed. */
static void clock_changes(char *setting)
{
    for (int i = 0; i < 4; i++) {
        launch("_Z5firstPf", 5);
        gpufl_flush();
        if (i == 0) {
            putenv(setting);
        }
    }
}

/* Of this thread: others that need the CPU do not count. */
static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* What a launch takes, and what a bare backtrace does from where the library takes its
 * own. */
struct stack_cost {
    double launch_ns, bare_ns;
};

A_FRAME void walk(int inner_frames)
{
    void *pc[48];
    if (inner_frames > 0) {
        walk(inner_frames - 1);
    } else {
        backtrace(pc, 48);
    }
    STAYS_FRAME;
}

A_FRAME void walks(const char *unused, int times)
{
    (void)unused;
    for (int i = 0; i < times; i++) {
        walk(INNER_FRAMES);
    }
}

static double each_ns(void (*what)(const char *, int))
{
    double begin = cpu_ns();
    what("_Z5firstPf", 1000);
    return (cpu_ns() - begin) / 1000;
}

/* The least of several rounds, each of which the rings have room for. */
static struct stack_cost cost_here(void)
{
    struct stack_cost least = {1e18, 1e18};
    for (int round = 0; round < 40; round++) {
        double launch_ns = each_ns(launch);
        double bare_ns = each_ns(walks);
        least.launch_ns = launch_ns < least.launch_ns ? launch_ns : least.launch_ns;
        least.bare_ns = bare_ns < least.bare_ns ? bare_ns : least.bare_ns;
        gpufl_flush();
    }
    return least;
}

A_FRAME struct stack_cost cost_below(int frames)
{
    struct stack_cost cost = frames > 0 ? cost_below(frames - 1) : cost_here();
    STAYS_FRAME;
    return cost;
}

/* At the top, below 20 frames, and below more than are recorded. */
static void stacks_cost(void)
{
    struct stack_cost c[] = {cost_below(0), cost_below(20), cost_below(60)};
    fprintf(stderr, "bare_ns %.0f %.0f %.0f\n", c[0].bare_ns, c[1].bare_ns, c[2].bare_ns);
    fprintf(stderr, "launch_ns %.0f %.0f %.0f\n", c[0].launch_ns, c[1].launch_ns,
            c[2].launch_ns);
}

static void their_request(uint8_t **buffer, size_t *size, size_t *records)
{
    static uint8_t theirs[65536];
    *buffer = theirs;
    *size = sizeof theirs;
    *records = 0;
}

static void their_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                           size_t valid)
{
    (void)context, (void)stream, (void)buffer, (void)size, (void)valid;
}

/* Another client of CUPTI, which lends buffers before we come, or frees those that we
 * lent. */
static struct {
    uint8_t before[256]; /* what lies in front of its buffer */
    uint8_t buffer[65536];
} other;

static void other_request(uint8_t **buffer, size_t *size, size_t *records)
{
    *buffer = other.buffer;
    *size = sizeof other.buffer;
    *records = 0;
}

static void other_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                           size_t valid)
{
    (void)context, (void)stream, (void)size, (void)valid;
    if (buffer != other.buffer) {
        free(buffer);
    }
}

static void other_lends(void)
{
    int (*enable)(int kind);
    find("cuptiActivityEnable", &enable);
    memset(other.before, 7, sizeof other.before);
    gpu.listen(other_request, other_complete);
    enable(10);
    launch("_Z5firstPf", 1);
}

static void other_lent(void)
{
    launch("_Z5firstPf", 2); /* into its buffer */
    gpufl_flush();
    launch("_Z5firstPf", 3);
    gpufl_flush();
    for (size_t i = 0; i < sizeof other.before; i++) {
        if (other.before[i] != 7) {
            exit(9);
        }
    }
}

static void other_frees(void)
{
    int (*flush)(uint32_t);
    find("cuptiActivityFlushAll", &flush);
    launch("_Z5firstPf", 3);
    gpu.listen(other_request, other_complete);
    launch("_Z5firstPf", 3);
    flush(0);
}

/* \p before are ours; then another profiler takes CUPTI's buffers over. */
static void taken(int before)
{
    launch("_Z5firstPf", before);
    gpufl_flush();
    gpu.listen(their_request, their_complete);
    launch("_Z5firstPf", 20);
}

static void *in_scopes(void *arg)
{
    (void)arg;
    for (int i = 0; i < EACH; i++) {
        GFL_SCOPE("step")
        {
            gpu.launch("_Z5firstPf", 4);
        }
    }
    return NULL;
}

static void threads(void)
{
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&thread[i], NULL, in_scopes, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
}

/* A child that records, too. */
static void forked(const char *logs)
{
    gpufl_flush(); /* what its thread has in hand as it begins is lost to a child */
    pid_t child = fork();
    if (child == 0) {
        begin(logs);
        gpufl_shutdown();
        exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    if (status != 0) {
        exit(5);
    }
    launch("_Z5firstPf", 1);
}

static void sampled(const char *logs, const char *at_first)
{
    struct timespec rest = {.tv_sec = 1, .tv_nsec = 300000000};
    gpu.context(0, at_first);
    launch("_Z3hotPf", 4);
    nanosleep(&rest, NULL); /* one fetch */
    gpu.context(0, logs);
    gpu.context(0, NULL);
    launch("_Z3hotPf", 1);
}

/* A context that comes, and perhaps goes, while a fetch of another takes long. */
static void made_during_a_fetch(const char *logs, bool goes, bool again)
{
    const struct timespec round = {.tv_nsec = 10000000};
    gpu.context(0, logs);
    launch("_Z3hotPf", 4);
    gpu.hold_fetches(1);
    if (again) {
        gpu.context(0, NULL);
    }
    gpu.context(again ? 0 : 1, logs);
    if (goes) {
        gpu.context(1, NULL);
    }
    gpu.hold_fetches(0);
    for (int i = 0; i < 2000 && !goes && noted("sample 1") < 2; i++) {
        nanosleep(&round, NULL);
    }
}

/* One of many contexts, 5,000 others, some of which have a line table, the kernel's. */
static void modules(const char *logs, int with_lines)
{
    char folder[4096];
    for (int i = 0; i < 5000; i++) {
        snprintf(folder, sizeof folder, "%s/%d", i < with_lines ? logs : "none", i);
        gpu.context(0, logs);
        gpu.context(0, folder);
    }
    snprintf(folder, sizeof folder, "%s/kernel", logs);
    gpu.context(0, folder);
    launch("_Z3hotPf", 1);
}

/* A child that stays is there until it is killed. */
static void holds_the_gpu(const char *logs, bool child_stays)
{
    gpu.context(0, logs);
    pid_t child = child_stays ? fork() : 0;
    if (child_stays && child == 0) {
        pause();
    } else if (child_stays) {
        gpufl_shutdown();
    }
    printf("%d\n", (int)child);
    fflush(stdout);
    getchar();
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
}

/* Knows nothing of us: `injected [exit|_exit|kill|wait|children|library]`, the last with
 * JOB_LIBRARY, which makes the first call of CUDA as it is loaded. */
static int injected(const char *part, const char *how)
{
    (void)part;
    if (strcmp(how, "children") == 0) {
        for (int i = 0; i < 3; i++) {
            if (fork() == 0) {
                execl("/proc/self/exe", "gpu_job", "-", "injected", "exit", (char *)NULL);
            }
        }
        while (wait(NULL) > 0) {
        }
        return 7;
    }
    if (strcmp(how, "library") == 0 && !dlopen(getenv("JOB_LIBRARY"), RTLD_NOW)) {
        return 5;
    }
    gpu.init();
    launch("_Z5firstPf", 20);
    puts("launched");
    fflush(stdout);
    if (strcmp(how, "wait") == 0) {
        pause();
    }
    if (strcmp(how, "_exit") == 0) {
        _exit(7);
    }
    if (strcmp(how, "kill") == 0) {
        raise(SIGKILL);
    }
    return 7;
}

/* One kernel, then again with one more of each number. */
static void various(void)
{
    struct fake_kernel kernel = {"_Z5firstPf", 40, 1024, 2048, 32768, 16, 65536, 1, 2};
    unsigned *const number[] = {&kernel.registers,       &kernel.static_shared,
                                &kernel.dynamic_shared,  &kernel.shared_executed,
                                &kernel.local_thread,    &kernel.local_total,
                                &kernel.cache_requested, &kernel.cache_executed};
    gpu.launch_as(&kernel);
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++) {
        ++*number[i];
        gpu.launch_as(&kernel);
        --*number[i];
    }
}

/* The same on two GPUs, the copies on the second one first. */
static void devices(void)
{
    gpu.use(1);
    gpu.others(1 << 20);
    launch("_Z6secondPf", 2);
    gpu.use(0);
    launch("_Z5firstPf", 3);
    gpu.others(1 << 10);
}

/* By the hostile host, where $HOSTILE_HANG names a file: while it is there. */
static void disk_hangs(bool from_now_on)
{
    const char *file = getenv("HOSTILE_HANG");
    FILE *made = file && from_now_on ? fopen(file, "w") : NULL;
    if (made) {
        fclose(made);
    } else if (file) {
        unlink(file);
    }
}

int main(int argc, char **argv)
{
    const char *part = argc > 2 ? argv[2] : "";
    setlocale(LC_ALL, "");
    open_gpu();
    if (strncmp(part, "injected", 8) == 0) {
        return injected(part, argc > 3 ? argv[3] : "");
    }
    if (strcmp(part, "other lends") == 0) {
        other_lends();
    }
    begin(argv[1]);
    if (strcmp(part, "counted") == 0) {
        counted();
    } else if (strcmp(part, "stacks cost") == 0) {
        stacks_cost();
    } else if (strcmp(part, "various") == 0) {
        various();
    } else if (strcmp(part, "called") == 0) {
        called();
    } else if (strcmp(part, "called by a library") == 0) {
        called_by_a_library();
    } else if (strcmp(part, "pushed") == 0) {
        pushed();
    } else if (strcmp(part, "waits") == 0) {
        gpu.waits();
    } else if (strcmp(part, "ends") == 0) {
        gpu.ends();
    } else if (strcmp(part, "others") == 0) {
        gpu.others(4096);
    } else if (strcmp(part, "idle") == 0) {
        idle();
    } else if (strchr(part, '=')) {
        clock_changes(argv[2]);
    } else if (strcmp(part, "metered") == 0) {
        sampled_in_a_scope();
    } else if (strcmp(part, "threads") == 0) {
        threads();
    } else if (strcmp(part, "flood") == 0) {
        disk_hangs(true);
        launch("_Z5firstPf", FLOOD_LAUNCHES);
        disk_hangs(false);
        gpufl_flush();
        fprintf(stderr, "completed %u\n", gpu.completed());
    } else if (strcmp(part, "endless") == 0) {
        launch("_Z5firstPf", 2);
        gpu.launch_endless("_Z5firstPf");
    } else if (strcmp(part, "captured") == 0) {
        launch("_Z5firstPf", 3);
        gpu.launch_captured();
        gpu.launch_captured();
        launch("_Z5firstPf", 1);
    } else if (strcmp(part, "forked") == 0) {
        forked(argv[1]);
    } else if (strcmp(part, "sampled") == 0) {
        sampled(argv[1], argv[1]);
    } else if (strcmp(part, "known late") == 0) {
        sampled(argv[1], strrchr(argv[1], '/') + 1);
    } else if (strcmp(part, "modules") == 0) {
        modules(argv[1], 0);
    } else if (strcmp(part, "too many modules") == 0) {
        modules(argv[1], 4096);
    } else if (strcmp(part, "devices") == 0) {
        devices();
    } else if (strcmp(part, "devices, then held") == 0) {
        devices();
        getchar(); /* the end of the input */
    } else if (strncmp(part, "made during a fetch", 19) == 0) {
        made_during_a_fetch(argv[1], strstr(part, "gone") != NULL,
                            strstr(part, "anew") != NULL);
    } else if (strcmp(part, "two GPUs") == 0) {
        gpu.context(0, argv[1]);
        gpu.context(1, argv[1]);
        launch("_Z3hotPf", 4);
    } else if (strcmp(part, "sampled, then traced") == 0) {
        sampled(argv[1], argv[1]);
        gpufl_shutdown();
        getchar(); /* the end of the input, or the test's word */
        setenv("GPUFL_PROFILING_ENGINE", "Trace", 1);
        begin(argv[1]);
        launch("_Z3hotPf", 3);
    } else if (strcmp(part, "holds the GPU") == 0) {
        holds_the_gpu(argv[1], false);
    } else if (strcmp(part, "held the GPU") == 0) {
        holds_the_gpu(argv[1], true);
    } else if (strcmp(part, "taken") == 0) {
        taken(0);
    } else if (strcmp(part, "taken late") == 0) {
        taken(5);
    } else if (strcmp(part, "other lends") == 0) {
        other_lent();
    } else if (strcmp(part, "asked") == 0) {
        asked();
    } else if (strcmp(part, "run out") == 0) {
        run_out();
    } else if (strcmp(part, "other frees") == 0) {
        other_frees();
    } else if (strcmp(part, "twice") == 0) {
        counted();
        gpufl_shutdown();
        begin(argv[1]);
        counted();
    } else {
        return 2;
    }
    gpufl_shutdown();
    gpufl_shutdown();
    if (getenv("GPU_JOB_REPORT")) {
        gpufl_generate_report(getenv("GPU_JOB_REPORT"));
    }
    return 7;
}
