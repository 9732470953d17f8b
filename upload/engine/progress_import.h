/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the progress files back when the journal was lost or damaged. */
#ifndef GPUFL_UPLOAD_ENGINE_PROGRESS_IMPORT_H
#define GPUFL_UPLOAD_ENGINE_PROGRESS_IMPORT_H

#include "upload/core/registry.h"
#include "upload/core/stream.h"
#include "upload/published/progress_file.h"

/** Takes from the files what they know better than the journal: positions, and what was
 * not delivered before these. */
void progress_import(struct root *root);

/** \return true if \p line names a later place. */
bool progress_import_is_newer(const struct progress_line *line, uint32_t file,
                              uint64_t offset);

/** The same of one stream, whose offer is not in flight. */
void progress_import_stream(struct stream *st, const struct progress_line *line);

/** Takes by what the directory of the session is known again, if nothing tells it yet. */
void progress_import_directory(struct session *session, const struct progress_line *line);

#endif
