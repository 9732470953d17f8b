/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of names with open addressing and linear probing. */
#include "collector-lib/core/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "collector-lib/core/fork_guard.h"

struct names *names_new(void)
{
    struct names *names = calloc(1, sizeof *names);
    if (names) {
        names->lock = (pthread_mutex_t)PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    }
    return names;
}

void names_free(struct names *names)
{
    if (!names) {
        return;
    }
    for (uint32_t id = 1; id <= names->count; id++) {
        free((char *)names->name[id]);
    }
    pthread_mutex_destroy(&names->lock);
    free(names);
}

uint64_t names_hash(const char *name, size_t most, size_t *len)
{
    uint64_t hash = HASH64_BASIS;
    size_t i = 0;
    for (; i < most && name[i]; i++) {
        hash = hash64_word(hash, (unsigned char)name[i]);
    }
    *len = i;
    return hash;
}

bool names_is(const char *stored, const char *name, size_t len)
{
    return strnlen(stored, len + 1) == len && memcmp(stored, name, len) == 0;
}

/* The slot that holds \p name, or the free one where it belongs. */
static _Atomic uint32_t *find_name_slot(struct names *names, const char *name,
                                        uint64_t hash, size_t len)
{
    size_t at = (size_t)(hash ^ (hash >> 32)) % NAMES_SLOTS;
    uint32_t id;
    /* Pairs with the release of who set it: name[id] is there. */
    while ((id = atomic_load_explicit(&names->slot[at], memory_order_acquire)) &&
           !names_is(names->name[id], name, len)) {
        at = (at + 1) % NAMES_SLOTS;
    }
    return &names->slot[at];
}

static uint32_t intern_new_name(struct names *names, _Atomic uint32_t *slot,
                                const char *name, size_t len)
{
    char *copy = malloc(len + 1);
    if (!copy) {
        return 0;
    }
    memcpy(copy, name, len);
    copy[len] = '\0'; /* the program may be writing to the name */
    uint32_t id = atomic_load_explicit(&names->count, memory_order_relaxed) + 1;
    names->name[id] = copy;
    atomic_fetch_add_explicit(&names->text_bytes, len, memory_order_relaxed);
    atomic_store_explicit(slot, id, memory_order_release);
    /* Pairs with the writer's acquire load: it reads name[id] after seeing the count. */
    atomic_store_explicit(&names->count, id, memory_order_release);
    return id;
}

static bool names_full(struct names *names, size_t len)
{
    /* One id is kept free for "(other)". */
    return atomic_load_explicit(&names->count, memory_order_relaxed) >= NAMES_MAX - 1 ||
           atomic_load_explicit(&names->text_bytes, memory_order_relaxed) + len >
               NAMES_MAX_TEXT_BYTES;
}

static uint32_t intern_other_name(struct names *names)
{
    static const char text[] = NAMES_OTHER;
    size_t len;
    uint64_t hash = names_hash(text, sizeof text, &len);
    _Atomic uint32_t *slot = find_name_slot(names, text, hash, len);
    uint32_t id = *slot ? *slot : intern_new_name(names, slot, text, len);
    atomic_store_explicit(&names->other_id, id, memory_order_release);
    return id;
}

static uint32_t intern_locked(struct names *names, const char *name, uint64_t hash,
                              size_t len)
{
    if (fork_guard_lock(&names->lock) != 0) {
        return 0;
    }
    _Atomic uint32_t *slot = find_name_slot(names, name, hash, len);
    uint32_t id = *slot;
    if (!id) {
        id = names_full(names, len) ? intern_other_name(names)
                                    : intern_new_name(names, slot, name, len);
    }
    pthread_mutex_unlock(&names->lock);
    return id;
}

uint32_t names_intern(struct names *names, const char *name, uint64_t hash, size_t len,
                      const char **stored)
{
    uint32_t id = atomic_load_explicit(find_name_slot(names, name, hash, len),
                                       memory_order_relaxed);
    if (!id && names_full(names, len)) {
        id = atomic_load_explicit(&names->other_id, memory_order_acquire);
    }
    id = id ? id : intern_locked(names, name, hash, len);
    *stored = id ? names->name[id] : NULL;
    if (id && !names_is(*stored, name, len)) {
        atomic_fetch_add_explicit(&names->overflowed, 1, memory_order_relaxed);
    }
    return id;
}
