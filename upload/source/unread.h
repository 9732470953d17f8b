/* SPDX-License-Identifier: Apache-2.0 */
/* What lies in a session directory and is not read, by reason. Nothing is passed over in
 * silence: whatever may hold records keeps its session from being complete. */
#ifndef GPUFL_UPLOAD_SOURCE_UNREAD_H
#define GPUFL_UPLOAD_SOURCE_UNREAD_H

#include <stdbool.h>
#include <stdint.h>

/** X(identifier, key, text): why a file that may hold records is not read. */
#define UNREAD_REASONS(X)                                                                \
    X(LINKED, "linked", "it has a second name, and another owner than its directory")    \
    X(IRREGULAR, "irregular", "not a regular file")                                      \
    X(CHANNEL, "channel", "not a file of a known channel")                               \
    X(NAME, "name", "not a name that a writer makes")                                    \
    X(NUMBER, "number", "its number is beyond the limit of its layout")                  \
    X(LAYOUT, "layout", "not a file of the layout of its session")                       \
    X(SECOND, "second_form",                                                             \
      "the file is there uncompressed, too: remove the one that holds less "             \
      "uncompressed, as `zcat X.gz | cmp - X` tells, or either if they are equal")       \
    X(BEYOND, "beyond", "the active file begins with what it holds")                     \
    X(DAMAGED, "damaged", "it cannot be read to its end")

#define UNREAD_ENUM_(id, key, text) UNREAD_##id,

enum unread_reason { UNREAD_REASONS(UNREAD_ENUM_) UNREAD_REASONS_COUNT };

/** Of names that are shown as an example, NUL included. */
#define UNREAD_NAME_MAX 64

struct unread_group {
    unsigned names;
    char example[UNREAD_NAME_MAX]; /**< the first in byte order, fit to be printed */
};

struct unread {
    struct unread_group reason[UNREAD_REASONS_COUNT];
    struct unread_group other; /**< files that cannot hold records; they block nothing */
    unsigned names;            /**< of all reasons */
    uint64_t mark; /**< stands for the set of these names; 0 = there are none */
};

const char *unread_key(enum unread_reason reason);
const char *unread_text(enum unread_reason reason);

/** Adds \p name, which may hold records. */
void unread_add(struct unread *unread, enum unread_reason reason, const char *name);

/** Adds \p name, which no layout has, unless it is part of the protocol. */
void unread_add_name(struct unread *unread, const char *name);

#endif
