/* SPDX-License-Identifier: Apache-2.0 */
/* Tells with which API key the positions of the progress file were sent, to programs of
 * our user and of root alone, as the journal does: who can read a hash of a key can try
 * keys. `<root>/.gpufl-agent/key` has one line:
 *
 *     gpufl-key 1 pid=<pid> state=<device>-<inode> salt=<hex> key=<hash, hex>
 *
 * with pid and state as in the first line of the progress file that it is about.
 */
#ifndef GPUFL_UPLOAD_PUBLISHED_PROGRESS_KEY_H
#define GPUFL_UPLOAD_PUBLISHED_PROGRESS_KEY_H

#include <stdbool.h>

#include "base/sys.h"
#include "upload/journal/journal_records.h"
#include "upload/published/progress_file.h"

/** Replaces the file in the directory \p dir, which is ours, if there is a key. \p
 * written is what is known to be there, 0 at first. */
void progress_key_write(const struct sys *sys, int dir,
                        const struct progress_writer *writer,
                        const struct record_origin *origin, uint32_t *written);

enum progress_key_match {
    PROGRESS_KEY_UNTOLD, /**< or not about this writer */
    PROGRESS_KEY_SAME,
    PROGRESS_KEY_OTHER,
};

/** Compares \p key, hashed as in struct origin_identity, with that of \p writer. */
enum progress_key_match progress_key_compare(const struct sys *sys, int root_fd,
                                             const struct progress_writer *writer,
                                             const unsigned char key[JOURNAL_KEY_HASH]);

#endif
