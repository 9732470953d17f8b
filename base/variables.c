/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the variables that begin as a program's own do, and misspelled ones. */
#include "base/variables.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"

#define VARIABLE_NAME_MAX 128

/* Kubernetes gives each container variables for each service: for one that is named
 * gpufl-agent or gpufl-agent-metrics they begin as ours do.
 * https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
 */
static bool is_of_kubernetes(const char *name)
{
    size_t len = strlen(name);
    return strstr(name, "_SERVICE_HOST") || strstr(name, "_SERVICE_PORT") ||
           strstr(name, "_PORT_") || (len > 5 && strcmp(name + len - 5, "_PORT") == 0);
}

void variables_each(char *const *environment, const char *prefix, variables_visit *visit,
                    void *arg)
{
    for (; environment && *environment; environment++) { /* clearenv(3) leaves none */
        char name[VARIABLE_NAME_MAX];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*environment, "="),
                 *environment);
        if (strncmp(name, prefix, strlen(prefix)) == 0 && !is_of_kubernetes(name)) {
            visit(arg, name);
        }
    }
}

#define UNREAD_PREFIX       "GPUFL_"
#define UNREAD_COUNT(names) (sizeof(names) / sizeof(names)[0])

/* What the recorder and gpufl read; gpufl-agent and gpufl-backend look after their own.
 */
static const char *const unread_own[] = {
    "API_KEY",
    "API_PATH",
    "APP_NAME",
    "BACKEND_URL",
    "CONFIG_FILE",
    "DEBUG",
    "DEVICE_DETAILS",
    "DISABLED",
    "FLUSH_LOGS_ALWAYS",
    "KERNEL_DETAILS",
    "LOG_DIR",
    "LOG_MAX_SPOOL_BYTES",
    "LOG_MIN_FREE_BYTES",
    "LOG_ROTATE_AFTER_MS",
    "LOG_ROTATE_BYTES",
    "MAX_ENGINE",
    "NODE_NAME",
    "PC_SAMPLING_BUFFER_MIB",
    "POD_NAME",
    "POD_NAMESPACE",
    "PROFILING_ENGINE",
    "REMOTE_UPLOAD",
    "RUNTIME_DIRECTORY",
    "SHUTDOWN_TIMEOUT_MS",
    "SIMULATED_GPUS",
    "SOURCE_ROOTS",
    "SYSFS",
    "SYSTEM_SAMPLE_RATE_MS",
    "TRACE_BUFFER_KIB",
};

/* Of the existing client and its tools. */
static const char *const unread_theirs[] = {
    "ANALYSIS_ID",
    "API_URL",
    "COUNTER_RUNTIME_PATH",
    "CURSOR_FILE",
    "DEBUG_PRELOAD",
    "DEEP_AFTER_MS",
    "DEEP_ARM",
    "DEEP_MAX_WINDOWS",
    "DEEP_PC_ONLY",
    "DEEP_RATE_WINDOW_MS",
    "DEEP_REARM_AT",
    "DEEP_STALE_AFTER_MS",
    "DEEP_TRY_BOTH",
    "DEEP_WHEN",
    "DEEP_WINDOW_COOLDOWN_MS",
    "DEEP_WINDOW_MAX_LAUNCHES",
    "DEEP_WINDOW_MS",
    "DISABLE_CUBIN_CAPTURE",
    "EAGER_MODULE_LOADING",
    "ENGINE_COMBO",
    "EXPECT_NO_KERNEL_EVENTS",
    "INJECT",
    "INJECT_COMPLETION_FD",
    "INJECT_INIT_DELAY_MS",
    "INJECT_LAUNCH_WAIT_MS",
    "INJECT_MANUAL_INIT",
    "INJECT_PROCESS_SCOPE",
    "INJECT_PROFILE",
    "INJECT_SHUTDOWN_DELAY_MS",
    "INJECT_SYNC_WAIT_MS",
    "INJECT_UPLOAD",
    "INJECT_USE_CONSTRUCTOR",
    "LOG_TYPES",
    "MONITOR_APP",
    "MONITOR_INTERVAL_MS",
    "MONITOR_LOG_DIR",
    "PASS_COUNT",
    "PASS_INDEX",
    "PC_KERNEL_COLLECT",
    "PC_SAMPLING_PERIOD",
    "PUBLISHER_TYPE",
    "REMOTE_CONFIG",
    "RUN_ID",
    "RUN_ROLL_EVERY_MS",
    "RUN_ROLL_MAX_BYTES",
    "SASS_ALLOW_EXTERNAL_CORRELATION",
    "SASS_DEFER_SCOPE_FLUSH",
    "SASS_DISABLE_CUBIN_CAPTURE",
    "SASS_EXCLUDE_ARCHS",
    "SASS_FORCE_SAFE_ACTIVITY",
    "SASS_LAZY_PATCHING",
    "SASS_METRICS_ONLY",
    "SEGMENT_EVERY_MS",
    "SEGMENT_MAX_ROWS",
    "SOURCE_FOLDER",
    "SOURCE_FOLDERS",
    "SOURCE_PREFIX",
    "STOP_EVENT",
    "TRACE_IMPORT_URL",
};

struct unread_sink {
    variables_say *say;
    void *arg;
};

static bool unread_has(const char *const *names, size_t count, const char *tail)
{
    size_t i = 0;
    while (i < count && strcmp(names[i], tail) != 0) {
        i++;
    }
    return i < count;
}

static void unread_visit(void *arg, const char *name)
{
    const struct unread_sink *to = arg;
    const char *tail = name + strlen(UNREAD_PREFIX);
    if (!unread_has(unread_own, UNREAD_COUNT(unread_own), tail) &&
        !unread_has(unread_theirs, UNREAD_COUNT(unread_theirs), tail)) {
        const char *near = nearest_name(tail, unread_own, UNREAD_COUNT(unread_own));
        if (near && nearest_is_slip(tail, near)) {
            to->say(to->arg, name, near);
        }
    }
}

void variables_each_unread(char *const *environment, variables_say *say, void *arg)
{
    struct unread_sink to = {.say = say, .arg = arg};
    variables_each(environment, UNREAD_PREFIX, unread_visit, &to);
}
