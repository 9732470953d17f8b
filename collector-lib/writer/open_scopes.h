/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes that have begun and not yet ended, by instance. */
#ifndef GPUFL_COLLECTOR_WRITER_OPEN_SCOPES_H
#define GPUFL_COLLECTOR_WRITER_OPEN_SCOPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct open_scope {
    uint64_t instance; /* 0 = free */
    int64_t begin_ns;  /**< 0 = its begin is in no file */
    uint32_t path_id;  /**< of names joined from the outermost scope; 0 = none */
    uint64_t row;      /**< of its begin, from 1, among those that were written */
};

/** Zero-initialise; release with open_scopes_fini. */
struct open_scopes {
    struct open_scope *slot;
    size_t count, cap;
};

/** Notes that the instance of \p scope, not 0, began. \return false without memory: it is
 * not known later. */
bool open_scopes_begin(struct open_scopes *scopes, struct open_scope scope);

/** The path of \p instance; 0 if it is not known. */
uint32_t open_scopes_path(const struct open_scopes *scopes, uint64_t instance);

/** Forgets \p instance. \return true and when it began, 0 if that is in no file; false
 * when it is not known. */
bool open_scopes_end(struct open_scopes *scopes, uint64_t instance, int64_t *begin_ns);

/** The begin of \p instance, if that is known, is in no file. */
void open_scopes_lose(struct open_scopes *scopes, uint64_t instance);

/** The begins in the rows behind \p from up to \p to are in no file any more. */
void open_scopes_lose_rows(struct open_scopes *scopes, uint64_t from, uint64_t to);

void open_scopes_fini(struct open_scopes *scopes);

#endif
