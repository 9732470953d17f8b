/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the messages of gpufl. Usage: logged LOG_DIR; prints what came, with its level, and whether
 * a function was called after it was replaced. */
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <gpufl/gpufl.hpp>

static gpufl::InitOptions options;

static void print(gpufl::LogLevel level, const std::string &line)
{
    GFL_SCOPE("printing") {
        std::printf("%d %s\n", static_cast<int>(level), line.c_str());
    }
}

static void begin_and_end()
{
    gpufl::init(options);
    gpufl::shutdown();
}

/* Replaces itself, and causes a message while it runs. */
static void replace(void *arg, gpufl_log_level, const char *)
{
    gpufl_set_log_callback(nullptr, nullptr);
    ++*static_cast<int *>(arg);
}

static void replaced_by_itself()
{
    int calls = 0;
    gpufl_set_log_callback(replace, &calls);
    begin_and_end();
    std::printf("itself %d\n", calls);
}

/* One thread sets and unsets functions while others cause messages. */
static std::atomic<int> late{0};

static void count(void *arg, gpufl_log_level, const char *)
{
    if (!static_cast<std::atomic<bool> *>(arg)->load()) {
        ++late;
    }
}

static void replaced_all_the_time()
{
    std::atomic<bool> stop{false};
    std::thread sessions([&] {
        while (!stop) {
            begin_and_end();
        }
    });
    for (int i = 0; i < 200; i++) {
        std::atomic<bool> alive{true};
        gpufl_set_log_callback(count, &alive);
        std::this_thread::yield();
        gpufl_set_log_callback(nullptr, nullptr);
        alive = false;
    }
    stop = true;
    sessions.join();
    std::printf("late %d\n", late.load());
}

int main(int, char **argv)
{
    options.log_path = argv[1];
    options.enable_debug_output = true;
    gpufl::setLogCallback(print);
    begin_and_end();
    options.log_path = "/dev/null/none";
    begin_and_end();
    options.log_path = argv[1];
    gpufl::setLogCallback(nullptr);
    begin_and_end();
    if (argv[2]) {
        replaced_by_itself();
        replaced_all_the_time();
    }
    return 0;
}
