/* SPDX-License-Identifier: Apache-2.0 */
/* Tells what another uploader has published from what this one has. */
#ifndef GPUFL_UPLOAD_ENGINE_PROGRESS_OTHERS_H
#define GPUFL_UPLOAD_ENGINE_PROGRESS_OTHERS_H

#include "upload/core/registry.h"
#include "upload/published/progress_file.h"
#include "upload/published/progress_key.h"

/** What the first line of the files says of this uploader. */
struct progress_writer progress_writer_here(const struct root *root);

/** \return true if \p writer has the same state directory, or is this process. */
bool progress_writer_is_here(const struct root *root,
                             const struct progress_writer *writer);

/** Compares the key of the settings with that of \p writer, where \p named does not say
 * that the databases are the same: then they count, as a key may be replaced. */
enum progress_key_match progress_others_key(const struct root *root,
                                            const struct progress_writer *writer,
                                            bool named);

/** \return true while the positions of the journal are about another backend than that
 * of the settings, and what another uploader has published may be about that one: it is
 * to be read once that has taken the key, and not to be written over before. */
bool progress_others_are_first(const struct root *root);

#endif
