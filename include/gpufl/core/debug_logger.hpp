/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that use the existing client's log macros: each writes a line to stderr. */
#ifndef GPUFL_CORE_DEBUG_LOGGER_HPP
#define GPUFL_CORE_DEBUG_LOGGER_HPP

#include <atomic>
#include <iostream>
#include <sstream>
#include <string>

namespace gpufl {

/** Joins what it is given to one line, which it writes at once. */
class DebugLogger {
public:
    /** Whether GFL_LOG_DEBUG writes; it does not until this is called. */
    static void setEnabled(bool enabled)
    {
        on().store(enabled, std::memory_order_relaxed);
    }
    static bool isEnabled()
    {
        return on().load(std::memory_order_relaxed);
    }
    template <typename... Parts> static void line(const char *prefix, const Parts &...parts)
    {
        std::ostringstream text;
        text << prefix;
        const int each[] = {0, (text << parts, 0)...};
        (void)each;
        text << '\n';
        std::cerr << text.str() << std::flush;
    }

private:
    static std::atomic<bool> &on()
    {
        static std::atomic<bool> enabled(false);
        return enabled;
    }
};

} /* namespace gpufl */

#define GFL_LOG_DEBUG(...)                                                               \
    do {                                                                                 \
        if (::gpufl::DebugLogger::isEnabled()) {                                         \
            ::gpufl::DebugLogger::line("[GPUFL] ", __VA_ARGS__);                         \
        }                                                                                \
    } while (0)
#define GFL_LOG_INFO(...)  ::gpufl::DebugLogger::line("[GPUFL] ", __VA_ARGS__)
#define GFL_LOG_WARN(...)  ::gpufl::DebugLogger::line("[GPUFL-WARN] ", __VA_ARGS__)
#define GFL_LOG_ERROR(...)                                                               \
    ::gpufl::DebugLogger::line("[GPUFL-ERROR] " __FILE__ ":", __LINE__, ": ", __VA_ARGS__)

#endif
