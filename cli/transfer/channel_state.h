/* SPDX-License-Identifier: Apache-2.0 */
/* How far one channel of a session is sent, by the journal and the files. */
#ifndef GPUFL_CLI_TRANSFER_CHANNEL_STATE_H
#define GPUFL_CLI_TRANSFER_CHANNEL_STATE_H

#include "upload/journal/journal_read.h"
#include "upload/source/scan.h"

/** What of one channel is settled, and what waits. */
struct channel_state {
    int64_t since_s; /**< time of the first record that waits; 0 = unknown */
    uint64_t settled_lines;
    uint64_t refused_lines;
    uint64_t waiting_bytes;
    uint32_t waiting_files;
    bool
        figures_untold; /**< nobody tells lines, refused lines, losses and what is gone */
    bool untold;        /**< something was sent, and nothing shows how much is left */
    bool front_missing;
    bool lost;          /**< a person gave up part of it */
    uint32_t losses;    /**< ranges that the backend knows to be lost */
    bool missing;       /**< no file of it is there */
    const char *awaits; /**< the channel for whose end its own waits, unless the writer is
                           gone; NULL = its next line is no shutdown */
    uint32_t rewritten; /**< number of a file that was sent, and is another one now; 0 =
                           none is known */
};

/** What is known of \p known without its files. */
struct channel_state channel_state_settled(const struct journal_read_stream *known);

/** Compares the files of channel \p c of the session \p path in \p root with the
 * position in \p journal. */
struct channel_state channel_state(int root, const struct journal_read *journal,
                                   const char *path, const struct scan *scan,
                                   const struct scan_channel *c);

/** The same of a \p channel that is listed. \return false if a file of it is there, or it
 * is not known. */
bool channel_state_missing(int root, const struct journal_read *journal, const char *path,
                           const struct scan *scan, const char *channel,
                           struct channel_state *out);

#endif
