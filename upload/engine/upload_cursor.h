/* SPDX-License-Identifier: Apache-2.0 */
/* `.gpufl-upload-cursor.json`: tells other tools of this ecosystem which sessions are at
 * the backend. It is written only where nobody else can write, and the file of another
 * user is left alone. Format: schema/README.md, "Upload cursor". */
#ifndef GPUFL_UPLOAD_ENGINE_UPLOAD_CURSOR_H
#define GPUFL_UPLOAD_ENGINE_UPLOAD_CURSOR_H

#include "upload/core/registry.h"

/** \return false if it could not be written, as on a full disk: then it is tried again.
 */
bool upload_cursor_write(struct root *root);

/** \return true if the cursor names the session as sent, with the time in seconds of
 * 1970; false also where somebody else could have written it. */
bool upload_cursor_find(const struct root *root, const char *id, int64_t *completed_s);

#endif
