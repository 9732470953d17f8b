/* SPDX-License-Identifier: Apache-2.0 */
/* A directory that claims a session id. */
#ifndef GPUFL_UPLOAD_CORE_CLAIMANT_H
#define GPUFL_UPLOAD_CORE_CLAIMANT_H

#include <stdbool.h>
#include <sys/types.h>

#include "upload/core/session.h"

struct claimant {
    struct root *root;
    const char *path;
    struct session *session; /* NULL if it is parked, or not known any more */
    bool there;
    uid_t owner; /* if it is there */
    bool complete;
    bool begun;  /* something of it was sent */
    bool locked; /* by its writer */
};

/** Looks whether it is there, and whose it is. */
void claimant_ask_disk(struct claimant *c);

/** For one that is not being read. \return true if its writer holds its lock. */
bool claimant_is_locked(const struct claimant *c);

/** \return true if only its user can have made it: the id follows from the user and the
 * nonce in its manifest. */
bool claimant_is_bound(const struct claimant *c);

#endif
