/* SPDX-License-Identifier: Apache-2.0 */
/* What must be settled of some sessions, as their directories were at the call, and what
 * another uploader tells of that. */
#ifndef GPUFL_UPLOAD_HOLDER_TARGETS_H
#define GPUFL_UPLOAD_HOLDER_TARGETS_H

#include <stdint.h>

#include <gpufl/status.h>

#include "upload/engine/engine_report.h"
#include "upload/journal/journal_read.h"
#include "upload/published/progress_file.h"
#include "upload/source/select.h"

struct holder_targets;

/** What else the holder says of the user whose sessions are waited for. */
struct holder_room {
    unsigned waits; /**< so many directories for which it has no room; 0 = none */
    uint32_t owner; /**< of these */
};

/** Looks at the sessions of \p selection, which stays. *out is to be closed in any case.
 * \p journal as in struct holder_look. \return GPUFL_OK or GPUFL_ERR_NOMEM. */
GPUFL_MUST gpufl_status holder_targets_open(const struct sys *sys, int root,
                                            const struct selection *selection,
                                            const struct journal_read *journal,
                                            struct holder_targets **out);

void holder_targets_close(struct holder_targets *targets);

/** \return true if all is settled that can be before somebody acts.
 * \param holds_may_pass what is held may not have been looked at since */
bool holder_targets_over(struct holder_targets *targets, bool holds_may_pass);

/** \return true with one of them in \p which, if only sessions of other users are not
 * over; *moved stands for what is settled of all. */
bool holder_targets_of_others(struct holder_targets *targets, uint64_t *moved,
                              char which[256]);

/** \return true with one of them in \p which, and how many more there are, if any is not
 * over. */
bool holder_targets_left(struct holder_targets *targets, char which[300]);

/** \return whether there is no room for one of them. */
struct holder_room holder_targets_room(const struct holder_targets *targets);

/** Adds the sessions to the figures of \p out. \p journal as in struct holder_look. */
void holder_targets_count(const struct holder_targets *targets,
                          const struct journal_read *journal, struct engine_summary *out);

#endif
