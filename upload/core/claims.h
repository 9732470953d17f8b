/* SPDX-License-Identifier: Apache-2.0 */
/* Which directory has a session id: of the sessions in groups, and of every id that
 * several directories claim. A session right below its root is found by its id anyway. */
#ifndef GPUFL_UPLOAD_CORE_CLAIMS_H
#define GPUFL_UPLOAD_CORE_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "upload/core/registry.h"

/** The directory that has an id. */
struct claim {
    struct path_node node; /**< in the engine's table; its path is the id */
    struct root *root;
    char *path;     /**< below the root */
    bool disputed;  /**< another one claims the id, too; the journal says so */
    bool contested; /**< by a directory of another user; nothing was sent of either */
    bool has_owner; /**< for a disputed one: its user is known */
    uid_t owner;
    uint32_t listing; /**< of the root, when it was disputed last */
};

/** \return who has \p id, or NULL. */
struct claim *claims_find(const struct engine *engine, const char *id);

/** Notes that `<root>/<path>` has its id, unless another directory does. \return the
 * claim, or NULL without memory. */
struct claim *claims_add(struct root *root, const char *path);

/** Gives the id to `<root>/<path>` instead. \return false without memory. */
bool claims_move(struct claim *claim, struct root *root, const char *path);

/** Appends a disputed claim to the journal of its root. \return false if that cannot be
 * written now. */
bool claims_journal(const struct claim *claim);

/** Takes over a claim from the journal. */
void claims_restore(struct root *root, const struct record_claim *record);

/** Appends the root's disputed claims to its journal. */
void claims_write_state(struct root *root);

/** \return true if what is known of `<root>/<path>` keeps another directory from being
 * sent: that would be a session to begin with, once the other is forgotten. */
bool claims_needs(const struct root *root, const char *path);

/** \return true if `<root>/<path>` is a session that is open or parked. */
bool claims_knows(const struct root *root, const char *path);

/** \return the root right below which another session than `<root>/<path>` has the same
 * id, or NULL. One of which something was sent counts more than one that waits. */
struct root *claims_root_of(const struct root *root, const char *path);

/** After a listing: frees the claims of sessions that are not known any more. */
void claims_sweep(struct root *root);

/** Frees all claims of the root. */
void claims_close(struct root *root);

#endif
