/* SPDX-License-Identifier: Apache-2.0 */
/* Says what a person gave up with gpufl resolve, and what follows. */
#ifndef GPUFL_UPLOAD_RESOLVE_RESOLVE_TEXT_H
#define GPUFL_UPLOAD_RESOLVE_RESOLVE_TEXT_H

#include "upload/core/session.h"
#include "upload/resolve/resolve_find.h"

/** Adds to the text that \p extent of \p channel was given up; either may be "". */
void resolve_text_add(struct resolve_result *out, const char *channel, const char *extent,
                      enum held_reason reason);

/** The same of what \p r gives up. Call it before the position is moved. */
void resolve_text_channel(const struct resolving *r, enum held_reason reason);

/** Adds that the files are an earlier copy. */
void resolve_text_copy(const struct resolving *r);

/** Adds so many files that are not read. */
void resolve_text_unread(unsigned files, struct resolve_result *out);

/** Says why nothing was given up; \p any: it has the channel that was named. */
void resolve_text_nothing(bool any, struct resolve_result *out);

/** Adds what follows for the session \p path of \p root; \p session: NULL = it is
 * complete. */
void resolve_text_end(const struct root *root, const char *path,
                      const struct session *session, struct resolve_result *out);

#endif
