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

/** \return true unless both belong to the same user. */
bool claimant_owner_differs(const struct claimant *a, const struct claimant *b);

/** One who uploads sessions of its own, not as a service, knows best which those are.
 * \return true if it is such a one. */
bool claimant_is_own(const struct claimant *c);

/** \return true once all directories of its user were seen, in each root that is there,
 * but for those in groups of others who have very many. */
bool claimant_owner_is_served(const struct claimant *c);

/** For one that is not being read. \return true if its writer holds its lock. */
bool claimant_is_locked(const struct claimant *c);

/** \return true if only its user can have made it: the id follows from the user and the
 * nonce in its manifest. */
bool claimant_is_bound(const struct claimant *c);

/** \return the user who owns the directory of the session (uid plus one), if its id
 * proves that; else 0. */
uint32_t claimant_proved_user(const struct session *session);

/** The backend has the session complete, as one of the user \p of (uid plus one, 0 = not
 * told), whose id proved that. \return false if the directory is of somebody else, who
 * may have copied the files: what is added there is not of that session. */
bool claimant_may_continue(const struct session *session, uint32_t of);

#endif
