/* SPDX-License-Identifier: Apache-2.0 */
/* Known work for the engines' tests on a GPU; prints what it did as one JSON object.
 *
 * work counted LOGS           launches, copies, sets and waits of known number in known scopes
 * work called LOGS            launches and waits of functions that a stack names, copies and sets in a scope,
 *                             allocations, a graph, two streams at once
 * work late LOGS              as many before gpufl_init as after it
 * work sudden LOGS how        what it launched is to be on disk: shutdown, exit, early (begun before CUDA), afterwards
 *                             (another session in a handler of exit() that runs after the runtime's), _exit, kill,
 *                             reset, throw, context, fault (of a kernel)
 * work hot LOGS seconds       one kernel that takes nearly all the time, by one line of its source
 * work steps LOGS n steps     40 kernels of n elements, so many times; LOGS - records nothing
 * work bare KIND n steps      the same under CUPTI alone: none, trace, samples
 * work buffers LOGS when      another tool on CUPTI's records registers earlier than the library or later, each time
 *                             while buffers of the other are out
 * work many LOGS launches     so many launches, memory watched
 * The engine comes from GPUFL_PROFILING_ENGINE. */
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <cuda.h>
#include <cuda_runtime.h>
#include <cupti.h>

#include <gpufl/gpufl.h>

static float *buffer;
static const size_t BUFFER_BYTES = 16u << 20;

static double now_ms()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

template <int N> __global__ void variant(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = x[i] * 1.0001f + N;
}

__global__ void fault(float *nowhere)
{
    *nowhere = 1;
}

__global__ void wait_cycles(long long cycles)
{
    long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void hottest(float *x, int rounds)
{
    float a = x[threadIdx.x];
    for (int i = 0; i < rounds; i++)
        a = a * 1.000001f + 0.5f; /* HOT: the loop's body */
    x[threadIdx.x] = a;
}

template <int N> struct All {
    static void launch(float *x, int n)
    {
        variant<N><<<(n + 255) / 256, 256>>>(x, n);
        All<N - 1>::launch(x, n);
    }
};
template <> struct All<0> {
    static void launch(float *, int) {}
};

static void begin(const char *logs)
{
    if (strcmp(logs, "-") == 0)
        return;
    struct gpufl_init_options o = GPUFL_INIT_OPTIONS_DEFAULT;
    o.app_name = "work";
    o.log_path = logs;
    if (gpufl_init(&o) != GPUFL_OK)
        exit(1);
}

static double steps(int n, int count)
{
    double at = now_ms();
    for (int i = 0; i < count; i++)
        All<40>::launch(buffer, n);
    cudaDeviceSynchronize();
    return now_ms() - at;
}

/* Medians of seven rounds after two to warm up. */
static void print_steps(int n, int count)
{
    std::vector<double> ms;
    for (int i = 0; i < 9; i++) {
        double round = steps(n, count);
        if (i > 1)
            ms.push_back(round);
    }
    std::sort(ms.begin(), ms.end());
    printf("{\"median_ms\":%.3f,\"min_ms\":%.3f,\"max_ms\":%.3f}\n", ms[3], ms[0], ms[6]);
}

/* ---- CUPTI alone: records are counted and thrown away ---- */

static const size_t BARE_BYTES = 1u << 20;
static long bare_records;
extern "C" int bare_samples_begin(unsigned how); /* bare_samples.c */

static void CUPTIAPI bare_request(uint8_t **bytes, size_t *size, size_t *max)
{
    *bytes = (uint8_t *)aligned_alloc(8, BARE_BYTES);
    *size = BARE_BYTES;
    *max = 0;
}

static void CUPTIAPI bare_complete(CUcontext, uint32_t, uint8_t *bytes, size_t, size_t valid)
{
    CUpti_Activity *record = NULL;
    while (cuptiActivityGetNextRecord(bytes, valid, &record) == CUPTI_SUCCESS)
        bare_records++;
    free(bytes);
}

static void bare_trace()
{
    cuptiActivityRegisterCallbacks(bare_request, bare_complete);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

static int bare(const char *kind, int n, int count)
{
    if (strcmp(kind, "trace") == 0 || strcmp(kind, "both") == 0)
        bare_trace();
    if ((strcmp(kind, "samples") == 0 || strcmp(kind, "both") == 0) && bare_samples_begin(0) != 0) {
        fprintf(stderr, "CUPTI does not sample\n");
        return 1;
    }
    print_steps(n, count);
    return 0;
}

/* ---- known work ---- */

static void scoped(const char *name, int launches)
{
    struct gpufl_scope s = gpufl_scope_begin(name);
    for (int i = 0; i < launches; i++)
        variant<7><<<4, 64>>>(buffer, 256);
    gpufl_scope_end(s);
}

/* As Triton does. */
static void launch_by_driver()
{
    cudaFunction_t function;
    int n = 256;
    void *arguments[] = {&buffer, &n};
    cudaGetFuncBySymbol(&function, (const void *)variant<10>);
    cuLaunchKernel((CUfunction)function, 4, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL);
}

static int counted(const char *logs)
{
    begin(logs);
    std::vector<char> host(1 << 20);
    scoped("a", 3);
    struct gpufl_scope b = gpufl_scope_begin("b");
    for (int i = 0; i < 5; i++)
        variant<8><<<4, 64>>>(buffer, 256);
    scoped("c", 7);
    gpufl_scope_end(b);
    uint64_t popped;
    cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 77);
    variant<10><<<4, 64>>>(buffer, 256);
    launch_by_driver();
    cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &popped);
    for (int i = 0; i < 9; i++) /* in no scope, as the two above */
        variant<9><<<dim3(2, 3, 4), dim3(32, 2, 2), 4096>>>(buffer, 256);
    cudaMemcpy(buffer, host.data(), 1 << 20, cudaMemcpyHostToDevice);
    cudaMemcpy(buffer, host.data(), 1 << 10, cudaMemcpyHostToDevice);
    cudaMemcpy(buffer + 1024, buffer, 1 << 12, cudaMemcpyDeviceToDevice);
    cudaMemcpy(host.data(), buffer, 1 << 11, cudaMemcpyDeviceToHost);
    cudaMemset(buffer, 0, 4096);
    cudaEvent_t from, to;
    cudaEventCreate(&from);
    cudaEventCreate(&to);
    cudaEventRecord(from);
    wait_cycles<<<1, 1>>>(200000000ll); /* about 100 ms */
    cudaEventRecord(to);
    cudaDeviceSynchronize();
    float ms = 0;
    cudaEventElapsedTime(&ms, from, to);
    int blocks = 0;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, variant<9>, 128, 4096);
    cudaFuncAttributes attributes;
    cudaFuncGetAttributes(&attributes, variant<9>);
    gpufl_shutdown();
    printf("{\"a\":3,\"b\":5,\"c\":7,\"none\":12,\"wait_ms\":%.3f,\"max_blocks\":%d,\"registers\":%d}\n", ms, blocks,
           attributes.numRegs);
    return 0;
}

/* Functions that a stack names: a call as the last thing would take their place there. */
__attribute__((noinline)) static bool train_step()
{
    for (int i = 0; i < 3; i++)
        variant<11><<<4, 64>>>(buffer, 256);
    return cudaDeviceSynchronize() == cudaSuccess;
}

__attribute__((noinline)) static bool eval_step()
{
    for (int i = 0; i < 2; i++)
        variant<11><<<4, 64>>>(buffer, 256);
    return cudaStreamSynchronize(0) == cudaSuccess;
}

static void allocations(int pairs)
{
    for (int i = 0; i < pairs; i++) {
        void *p = NULL;
        cudaMalloc(&p, 1 << 20);
        cudaFree(p);
        cudaMallocAsync(&p, 1 << 16, 0);
        cudaFreeAsync(p, 0);
    }
    cudaDeviceSynchronize();
}

static void graphs(int launches)
{
    cudaStream_t s;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCreate(&s);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    for (int i = 0; i < 4; i++)
        variant<12><<<4, 64, 0, s>>>(buffer, 256);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    for (int i = 0; i < launches; i++)
        cudaGraphLaunch(exec, s);
    cudaStreamSynchronize(s);
}

/* A kernel on each at the same time. */
static void two_streams()
{
    cudaStream_t s[2];
    for (auto &stream : s) {
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        wait_cycles<<<1, 1, 0, stream>>>(20000000ll); /* about 10 ms */
    }
    cudaDeviceSynchronize();
}

static int called(const char *logs)
{
    begin(logs);
    std::vector<char> host(1 << 20);
    struct gpufl_scope io = gpufl_scope_begin("io");
    bool trained = train_step();
    cudaMemcpy(buffer, host.data(), 1 << 20, cudaMemcpyHostToDevice);
    cudaMemset(buffer, 0, 4096);
    gpufl_scope_end(io);
    bool evaluated = eval_step();
    cudaMemcpy(host.data(), buffer, 1 << 10, cudaMemcpyDeviceToHost);
    allocations(10);
    graphs(100);
    two_streams();
    gpufl_shutdown();
    printf("{\"pairs\":10,\"graphs\":100,\"nodes\":4}\n");
    return trained && evaluated ? 0 : 1;
}

static int late(const char *logs)
{
    steps(1024, 25);
    begin(logs);
    double ms = steps(1024, 25);
    gpufl_shutdown();
    printf("{\"launches\":1000,\"ms\":%.3f}\n", ms);
    return 0;
}

static const char *logs_afterwards;

/* The runtime's own handlers have run by then. */
static void begin_afterwards(void)
{
    begin(logs_afterwards);
    gpufl_shutdown();
}

/* What is done before CUDA is used. */
static void sudden_before(const char *logs, const char *how)
{
    if (strcmp(how, "early") == 0)
        begin(logs);
    if (strcmp(how, "afterwards") == 0) {
        logs_afterwards = logs;
        atexit(begin_afterwards);
    }
}

static int sudden(const char *logs, const char *how)
{
    if (strcmp(how, "early") != 0)
        begin(logs);
    steps(1024, 25);
    if (strcmp(how, "shutdown") == 0 || strcmp(how, "afterwards") == 0)
        gpufl_shutdown();
    else
        usleep(400000); /* so that what is complete is written */
    printf("{\"launches\":1000}\n");
    fflush(stdout);
    if (strcmp(how, "_exit") == 0)
        _exit(7);
    if (strcmp(how, "kill") == 0)
        kill(getpid(), 9);
    if (strcmp(how, "throw") == 0) {
        try {
            struct gpufl_scope s = gpufl_scope_begin("never ended");
            (void)s;
            throw std::string("as a framework may");
        } catch (const std::string &) {
            steps(1024, 25);
            gpufl_shutdown();
        }
    }
    if (strcmp(how, "context") == 0) {
        CUcontext context;
        cuDevicePrimaryCtxRetain(&context, 0);
        cuDevicePrimaryCtxReset(0);
        gpufl_shutdown();
    }
    if (strcmp(how, "fault") == 0) { /* CUDA serves this process no more */
        fault<<<1, 1>>>((float *)8);
        return cudaDeviceSynchronize() == cudaErrorIllegalAddress ? 7 : 8;
    }
    if (strcmp(how, "reset") == 0) {
        cudaDeviceReset();
        cudaMalloc(&buffer, BUFFER_BYTES);
        steps(1024, 25);
        gpufl_shutdown();
    }
    return 7;
}

static int hot(const char *logs, double seconds)
{
    begin(logs);
    double end = now_ms() + seconds * 1e3;
    while (now_ms() < end) {
        for (int i = 0; i < 20; i++) {
            hottest<<<264, 256>>>(buffer, 20000);
            variant<3><<<4, 64>>>(buffer, 256);
        }
        cudaDeviceSynchronize();
    }
    gpufl_shutdown();
    printf("{\"file\":\"%s\"}\n", __FILE__);
    return 0;
}

/* other_tool.c */
struct other_told {
    long buffers[2], kernels[2];
};
extern "C" int other_tool_start(void);
extern "C" int other_tool_flush(struct other_told *told);

static int buffers(const char *logs, bool earlier)
{
    int failed = 0;
    if (earlier) {
        failed = other_tool_start();
    } else {
        begin(logs);
        steps(1024, 10);
        gpufl_flush();
        steps(1024, 10); /* complete, and not fetched yet */
    }
    wait_cycles<<<1, 1>>>(400000000ll); /* about 200 ms, for which none behind it is complete */
    for (int i = 0; i < 10; i++)
        All<40>::launch(buffer, 1024);
    if (earlier) {
        cudaDeviceSynchronize(); /* what the library is to record starts in its session */
        begin(logs);
    } else {
        failed = other_tool_start();
    }
    steps(1024, 10);
    gpufl_flush();
    steps(1024, 10);
    struct other_told told;
    int unflushed = other_tool_flush(&told);
    gpufl_shutdown();
    printf("{\"launches\":%d,\"failed\":[%d,%d],\"own\":%ld,\"own_kernels\":%ld,\"others\":%ld,\"others_kernels\":%ld}\n",
           earlier ? 800 : 2001, failed, unflushed, told.buffers[0], told.kernels[0], told.buffers[1], told.kernels[1]);
    return 0;
}

static long resident_kib()
{
    char line[256];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, f))
        sscanf(line, "VmRSS: %ld", &kib);
    fclose(f);
    return kib;
}

/* CPU time of the threads that write. */
static double writer_cpu_ms()
{
    char path[300], line[1024], name[64];
    double ms = 0;
    DIR *tasks = opendir("/proc/self/task");
    while (struct dirent *e = readdir(tasks)) {
        long user = 0, system = 0;
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", e->d_name);
        FILE *f = fopen(path, "r");
        if (f && fgets(line, sizeof line, f) &&
            sscanf(line, "%*d (%63[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", name, &user, &system) ==
                3 &&
            (strcmp(name, "gpufl-writer") == 0 || strcmp(name, "gpufl-files") == 0))
            ms += (user + system) * 1000.0 / sysconf(_SC_CLK_TCK);
        if (f)
            fclose(f);
    }
    closedir(tasks);
    return ms;
}

static int many(const char *logs, long launches)
{
    begin(logs);
    long first = 0, most = 0;
    double at = now_ms();
    for (long i = 0; i < launches; i++) {
        variant<5><<<1, 32>>>(buffer, 32);
        if (i % (launches / 100) == 0) {
            long kib = resident_kib();
            first = i == launches / 10 ? kib : first;
            most = kib > most ? kib : most;
        }
    }
    cudaDeviceSynchronize();
    double ms = now_ms() - at;
    double cpu_ms = writer_cpu_ms();
    gpufl_shutdown();
    printf("{\"launches\":%ld,\"ms\":%.1f,\"writer_cpu_ms\":%.0f,\"rss_at_tenth_kib\":%ld,\"rss_most_kib\":%ld}\n", launches, ms, cpu_ms,
           first, most);
    return 0;
}

int main(int argc, char **argv)
{
    std::string what = argc > 1 ? argv[1] : "";
    if (what == "sudden" && argc > 3)
        sudden_before(argv[2], argv[3]);
    if (argc < 3 || cudaMalloc(&buffer, BUFFER_BYTES)) {
        fprintf(stderr, "work: usage is at the top of its source; %s\n", cudaGetErrorString(cudaGetLastError()));
        return 2;
    }
    if (what == "counted")
        return counted(argv[2]);
    if (what == "called")
        return called(argv[2]);
    if (what == "late")
        return late(argv[2]);
    if (what == "sudden")
        return sudden(argv[2], argv[3]);
    if (what == "hot")
        return hot(argv[2], atof(argv[3]));
    if (what == "bare")
        return bare(argv[2], atoi(argv[3]), atoi(argv[4]));
    if (what == "buffers")
        return buffers(argv[2], strcmp(argv[3], "earlier") == 0);
    if (what == "many")
        return many(argv[2], atol(argv[3]));
    begin(argv[2]);
    print_steps(atoi(argv[3]), atoi(argv[4]));
    gpufl_shutdown();
    return 0;
}
