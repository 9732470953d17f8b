/* SPDX-License-Identifier: Apache-2.0 */
/* What a listing, or the watcher, does with a directory that it names. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_VISIT_H
#define GPUFL_UPLOAD_LIFECYCLE_VISIT_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/core/registry.h"

/** So many sessions of one owner are inspected in a second without any event, however
 * often the root is listed; and so many of those that are watched or over. */
#define VISIT_UNASKED_PER_S 1024u
#define VISIT_QUIET_PER_S   256u

/** Where a directory was named. */
struct visit {
    struct root *root;
    const char *group; /* "" at the top level */
    int above;         /* the group, or the root */
    uint64_t now_ms;
    bool listed; /* a listing has named it, in which owners have turns */
};

/** Looks into the directory \p name, if it is the turn of its owner, and adds the session
 * in it. If directories lie in it that may be sessions, opens it as a group. */
void visit_directory(const struct visit *visit, const char *name);

/** Marks the known sessions that are to be inspected. */
void visit_mark_due(struct root *root, uint64_t now_ms);

#endif
