/* SPDX-License-Identifier: Apache-2.0 */
/* Each names what a session lacked, and what to do. */
#include "collector-lib/session_messages.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/message.h"
#include "collector-lib/core/library_log.h"

#define PATH_SHOWN_BYTES 300

void session_says_instead_of(const char *id)
{
    library_log(GPUFL_LOG_INFO,
                "the program begins a session of its own: session %s of gpufl trace ends "
                "here",
                id);
}

void session_says_records_itself(const char *id)
{
    library_log(
        GPUFL_LOG_INFO,
        "the program records itself%s%s: no other session is begun for gpufl trace",
        *id ? ", in session " : "", id);
}

void session_says_failed(const struct settings *settings, gpufl_status status,
                         bool opened)
{
    int reason = errno;
    if (status == GPUFL_ERR_NOMEM) {
        library_log(GPUFL_LOG_ERROR,
                    "not recording: out of memory, or of keys for data of threads "
                    "(PTHREAD_KEYS_MAX)");
    } else if (opened) {
        bool limited = reason == EAGAIN || reason == ENOMEM; /* nothing tells which */
        library_log(GPUFL_LOG_ERROR, "not recording: cannot start a thread: %s (%s)",
                    message_reason(reason),
                    limited ? "raise the limit of processes, ulimit -u or pids.max, of "
                              "memory, ulimit -v, or of locked memory, ulimit -l"
                            : "allow clone and clone3 in the filter of system calls");
    } else {
        library_log(GPUFL_LOG_ERROR,
                    "not recording: cannot create a session in %.*s%s: %s (set %s to a "
                    "writable directory)",
                    MESSAGE_VALUE(settings->log_path, PATH_SHOWN_BYTES),
                    message_reason(reason), settings->log_path_by);
    }
    errno = reason;
}

gpufl_status session_says_refused(const char *id)
{
    library_log(GPUFL_LOG_ERROR,
                "not recording: session %s has no end yet: the disk or the GPU's library "
                "does not return (gpufl_init works again once it has)",
                id);
    errno = EBUSY;
    return GPUFL_ERR_IO;
}

gpufl_status session_says_given_up(const char *done, const char *path, uint64_t ms)
{
    library_log(
        GPUFL_LOG_ERROR,
        "not recording: cannot %s %.*s%s: the disk has not returned for %" PRIu64
        " ms (use another disk, or raise GPUFL_SHUTDOWN_TIMEOUT_MS if this one is "
        "only slow)",
        done, MESSAGE_VALUE(path, PATH_SHOWN_BYTES), ms);
    errno = ETIMEDOUT;
    return GPUFL_ERR_IO;
}

gpufl_status session_says_still_given_up(void)
{
    library_log(GPUFL_LOG_ERROR, "not recording: the disk that was waited for before has "
                                 "not returned yet (gpufl_init works again once it has)");
    errno = EBUSY;
    return GPUFL_ERR_IO;
}

gpufl_status session_says_no_turn(int reason)
{
    if (reason == ECHILD) {
        library_log(GPUFL_LOG_ERROR,
                    "not recording: this process was made by _Fork(), vfork() or "
                    "clone(2) while its parent recorded (use fork(), or exec)");
    }
    errno = reason;
    return GPUFL_ERR_IO;
}
