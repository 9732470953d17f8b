/* SPDX-License-Identifier: Apache-2.0 */
/* The directories that are watched, found by name and by watch descriptor. */
#ifndef GPUFL_AGENT_WATCH_WATCH_PLACES_H
#define GPUFL_AGENT_WATCH_WATCH_PLACES_H

#include <stdbool.h>

#include "agent/watch/watch_hints.h"
#include "base/shares.h"

#define WATCH_BUCKETS 1024u

/** The owner that stands for all roots, and of a directory that is gone. */
#define WATCH_ROOTS   SHARES_NOBODY
#define WATCH_UNKNOWN (SHARES_NOBODY - 1)

/** A directory; `wd` -1 = not watched yet. */
struct watch_place {
    struct watch_place *next; /**< in a list of requests, then in by_name */
    struct watch_place *next_by_wd;
    struct watch_place *next_in_group; /**< of what is in a group */
    struct watch_place **group_link;
    int wd;
    unsigned root;
    uint32_t owner; /**< of the directory */
    bool done;      /**< a request to stop watching */
    bool group;     /**< sessions are made in it; none was asked for if it is one, too */
    enum watch_what untold; /**< it is not watched any more: what is still to be told */
    struct watch_mark mark;
    const char *root_path; /**< until it is watched, and of a root */
    char session[]; /**< below it; "" for the root itself; the root's path follows */
};

/** Zero-initialise, but for the limit of `shares`. */
struct watch_places {
    struct shares shares; /**< directories below the roots that are watched, by owner */
    struct watch_place *by_name[WATCH_BUCKETS];
    struct watch_place *by_wd[WATCH_BUCKETS];
    struct watch_place *by_group[WATCH_BUCKETS]; /**< those in groups */
};

/** \return how many directories may be watched at once. */
unsigned watch_places_max(void);

/** \return a place of the caller's, NULL without memory. */
struct watch_place *watch_place_make(unsigned root, const char *root_path,
                                     const char *session);

/** Finds out who owns it. */
void watch_place_find_owner(struct watch_place *place, const char *path);

struct watch_place *watch_places_by_wd(struct watch_places *places, int wd);

/** The link to the place of that name; it holds NULL when there is none. */
struct watch_place **watch_places_link(struct watch_places *places, unsigned root,
                                       const char *session);

/** \return the place in the memory that it needs from now on. */
struct watch_place *watch_place_trim(struct watch_place *place);

/** \return true if its owner may have it watched. Of groups, only so many that as much is
 * free as the owner has: sessions need some, too. */
bool watch_places_have_room(const struct watch_places *places,
                            const struct watch_place *place);

/** Takes over \p place, whose wd is set. */
void watch_places_insert(struct watch_places *places, struct watch_place *place);

/** Removes the place at \p link. \return it, which is the caller's. */
struct watch_place *watch_places_remove(struct watch_places *places,
                                        struct watch_place **link);

void watch_places_free(struct watch_places *places);

/** Removes the place of \p session and all below it ("": all of the root). \p unwatch
 * takes over each of them. Without places below it, it is looked for
 * among few others: who renames directories delays nobody. \return how many were looked
 * at. */
unsigned watch_places_remove_below(struct watch_places *places, unsigned root,
                                   const char *session,
                                   void (*unwatch)(void *arg, struct watch_place *place),
                                   void *arg);

/** Frees those of a list that are of \p root. */
void watch_place_list_drop(struct watch_place **first, unsigned root);

/** Frees a list. */
void watch_place_list_free(struct watch_place *first);

#endif
