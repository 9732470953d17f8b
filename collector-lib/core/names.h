/* SPDX-License-Identifier: Apache-2.0 */
/* Interns the names of scopes and phases: equal text gets the same small id. */
#ifndef GPUFL_COLLECTOR_CORE_NAMES_H
#define GPUFL_COLLECTOR_CORE_NAMES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector-lib/core/record_dictionary.h"

#define NAMES_MAX            65536u
#define NAMES_MAX_TEXT_BYTES (8u << 20)
#define NAMES_SLOTS          (NAMES_MAX * 2)

/** A table of names. Ids start at 1 and are never reused. Initialise with NAMES_INIT. */
struct names {
    pthread_mutex_t lock;
    _Atomic uint32_t count; /* published with release after name[] is set */
    _Atomic size_t text_bytes;
    _Atomic uint64_t overflowed;
    _Atomic uint32_t other_id;
    const char *name[NAMES_MAX + 1];
    _Atomic uint32_t slot[NAMES_SLOTS]; /* set once, after name[] */
};

#define NAMES_INIT                                                                       \
    {                                                                                    \
        .lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP                                  \
    }

/** Allocates an empty table. NULL without memory. */
struct names *names_new(void);
/** Frees a table and its text. NULL is allowed. */
void names_free(struct names *names);

/** Of the names of scopes and phases, so many bytes tell one from another: what a
 * dictionary has of a text, and one more, so that it gets its ellipsis. */
#define NAMES_SCOPE_BYTES (RECORD_DICTIONARY_TEXT_BYTES + 1)

/** 64-bit FNV-1a of the first \p most bytes of \p name, or of all; how many these are,
 * into \p len. */
uint64_t names_hash(const char *name, size_t most, size_t *len);

/** True if \p stored is the first \p len bytes of \p name. */
bool names_is(const char *stored, const char *name, size_t len);

/** Takes the place of the names for which there is no room. */
#define NAMES_OTHER "(other)"

/** Returns the id of the first \p len bytes of \p name, 0 without memory, or where it has
 * interrupted itself on this thread, as in a signal handler. Sets \p stored to the
 * table's copy, which lives as long as the table. Takes the lock for a name that is new
 * only. */
uint32_t names_intern(struct names *names, const char *name, uint64_t hash, size_t len,
                      const char **stored);

#endif
