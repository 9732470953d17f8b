/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that wait until there is room for more of their owner: they are counted,
 * and found again by the next listing. Streams that wait until there is room for more of
 * its ranges in quarantine. */
#ifndef GPUFL_UPLOAD_CORE_ROOM_H
#define GPUFL_UPLOAD_CORE_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/core/registry.h"
#include "upload/core/session.h"
#include "upload/core/stream.h"

/** A directory of which nothing is known yet. */
struct room_asked {
    const char *path;
    const char *id;
    int above;      /**< the directory in which it lies */
    bool counts;    /**< asked for by a listing, which does so once */
    uint32_t owner; /**< out: whose share it takes room of */
};

/** \return false if the directory has to wait. */
bool room_for(struct root *root, struct room_asked *asked);

/** \return whose share \p session takes room of, also if it was not looked at yet. */
uint32_t room_owner_of(const struct session *session);

/** \return about how many open sessions the owner of \p session has, by what is kept of
 * them. */
uint64_t room_sessions_beside(const struct session *session);

/** Charges it, unless it is known already whose share it takes. */
void room_charge(struct session *session);

/** \return the account of the directory at \p path in the directory \p above, of which
 * nothing is known yet. */
uint32_t room_account_at(const struct root *root, const char *path, int above);

/** A round of a listing has ended: in the next one, it names directories again. */
void room_next_round(struct root *root);

/** After a listing; \p whole if it has named all there is. */
void room_listed(struct root *root, bool whole);

/** \return true if there is room for one more open session of \p owner. */
bool room_for_one(const struct root *root, uint32_t owner);

/** \return whether directories of \p owner wait. */
bool room_lacks(const struct root *root, uint32_t owner);

/** \return true if there is room for one that waits now: the next listing finds it. */
bool room_goes_on(const struct root *root);

/** \return true if there is room for one of \p owner that waits. */
bool room_goes_on_for(const struct root *root, uint32_t owner);

/** Visits the owners whose directories wait, with their number. */
void room_each(const struct root *root,
               void (*visit)(void *arg, uint32_t owner, unsigned count), void *arg);

/** \return true if one more range of \p stream may be put into quarantine; otherwise the
 * stream is held. What the journal has already is kept in any case. */
bool room_for_range(struct stream *stream);

/** Once ranges have left quarantine: looks again at those that are held and have room. */
void room_ranges_go_on(struct engine *engine);

/** Frees what is kept of the root. */
void room_close(struct root *root);

#endif
