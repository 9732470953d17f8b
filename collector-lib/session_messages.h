/* SPDX-License-Identifier: Apache-2.0 */
/* What is said at the start of a session, if there is none or another one ends. */
#ifndef GPUFL_COLLECTOR_SESSION_MESSAGES_H
#define GPUFL_COLLECTOR_SESSION_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "collector-lib/core/settings.h"

/** Says that the program begins a session of its own, so that \p id of gpufl trace ends.
 */
void session_says_instead_of(const char *id);

/** Says that no session is begun for gpufl trace, as the program has its own; \p id: "" =
 * not known. */
void session_says_records_itself(const char *id);

/** Says that session \p id, which was to end, hangs. \return GPUFL_ERR_IO, errno EBUSY.
 */
gpufl_status session_says_refused(const char *id);

/** Says why nothing is recorded: \p status, errno, and whether the directory was
 * \p opened. Keeps errno, which says why to the caller, too. */
void session_says_failed(const struct settings *settings, gpufl_status status,
                         bool opened);

/** Says that the disk has not returned for \p ms, on which was to be \p done what, with
 * which \p path. \return GPUFL_ERR_IO, errno ETIMEDOUT. */
gpufl_status session_says_given_up(const char *done, const char *path, uint64_t ms);

/** Says that it still has not. \return GPUFL_ERR_IO, errno EBUSY. */
gpufl_status session_says_still_given_up(void);

/** gpufl_init has not got the lock of calls, for \p reason of call_lock_enter: says what
 * that has not said. \return GPUFL_ERR_IO with errno. */
gpufl_status session_says_no_turn(int reason);

#endif
