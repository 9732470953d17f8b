/* SPDX-License-Identifier: Apache-2.0 */
/* The lock by which others know that the writer of a session lives. */
#ifndef GPUFL_COLLECTOR_CORE_SESSION_LOCK_H
#define GPUFL_COLLECTOR_CORE_SESSION_LOCK_H

#include "collector-lib/core/own_fd.h"

struct session_lock {
    struct own_fd file;
    bool held;
    bool lost;   /**< was held, and another has locked the file since */
    int refused; /**< the error's number, if the file system has no locks */
};

/** Creates the lock file in \p dir and locks it, where that is possible. \return 0, or -1
 * with errno. */
int session_lock_take(struct session_lock *lock, int dir);

/** Opens and locks the file again if its descriptor was closed. Whoever waited for the
 * lock may have it by then: it is tried again each time. \return true if lock->lost has
 * changed, which is to be told. */
bool session_lock_mend(struct session_lock *lock, int dir);

#endif
