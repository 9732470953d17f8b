/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of files that were given up, or, in the layout of 1.1, that were gone
 * before they were read. If one comes back, that is said, in the other layouts once: it
 * is behind the position, so nothing else would notice it. */
#ifndef GPUFL_UPLOAD_CORE_PASSED_H
#define GPUFL_UPLOAD_CORE_PASSED_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/journal/record_passed.h"

struct parked_session;
struct root;

/** Notes that files \p first to \p last of a stream were given up or gone. What cannot be
 * noted now is not told. */
void passed_add(struct root *root, uint32_t stream, uint32_t first, uint32_t last);

/** Applies a record of the journal. */
void passed_apply(struct root *root, const struct record_passed *record);

/** \return true if any file of the stream was given up and has not come back. */
bool passed_any(const struct root *root, uint32_t stream);

/** \return true if that file was given up and has not come back. */
bool passed_has(const struct root *root, uint32_t stream, uint32_t file);

/** Notes that a file has come back. */
void passed_take(struct root *root, uint32_t stream, uint32_t file);

/** Notes that the numbers of the stream's files were raised. */
void passed_raise(struct root *root, uint32_t stream, uint32_t by);

/** Forgets what was given up of a stream: it is read again, or forgotten itself. */
void passed_forget(struct root *root, uint32_t stream);

/** The same from \p file on. */
void passed_forget_from(struct root *root, uint32_t stream, uint32_t file);

/** The same for all streams of a parked session. */
void passed_forget_parked(struct root *root, const struct parked_session *session);

/** Appends a record for each to the journal that is being rewritten. */
void passed_write_state(const struct root *root);

#endif
