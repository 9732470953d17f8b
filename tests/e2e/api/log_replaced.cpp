// SPDX-License-Identifier: Apache-2.0
// A function for messages that does not return stays set, whole, while another one is to replace it. Usage:
// log_replaced LOG_DIR, with a shutdown timeout of 100 ms and a setting that gives a message. Exit code 7.
#include <future>
#include <iostream>
#include <string>
#include <thread>

#include <gpufl/gpufl.hpp>

int main(int argc, char **argv)
{
    std::promise<void> called, ends;
    std::shared_future<void> end = ends.get_future().share();
    bool first = true;
    std::string own(100, 's'); // of the function that runs
    gpufl::InitOptions options;
    options.log_path = argc > 1 ? argv[1] : "";
    bool set = gpufl::setLogCallback([&called, end, &first, own](gpufl::LogLevel, const std::string &) {
        if (first) {
            first = false;
            called.set_value();
            end.wait();
        }
        std::cout << "old " << own.size() << own[50] << '\n';
    });
    std::thread thread([&options] { gpufl::init(options); });
    called.get_future().wait();
    bool replaced = gpufl::setLogCallback([](gpufl::LogLevel, const std::string &) { std::cout << "new\n"; });
    ends.set_value();
    thread.join();
    bool later = gpufl::setLogCallback(gpufl::LogCallback());
    std::cout << set << replaced << later << '\n';
    return 7;
}
