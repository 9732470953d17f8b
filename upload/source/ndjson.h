/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a buffer of lines into batches, and finds the records that begin and end one. */
#ifndef GPUFL_UPLOAD_SOURCE_NDJSON_H
#define GPUFL_UPLOAD_SOURCE_NDJSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/record_field.h"

/** Bounds of a batch. A single line that exceeds them still makes a batch. */
struct ndjson_limits {
    size_t max_bytes;
    uint32_t max_lines;
};

/** The cut. */
struct ndjson_cut {
    size_t bytes; /**< whole lines, newlines included; 0 when there is none */
    uint32_t lines;
    bool shutdown_first; /**< the batch is the channel's `shutdown` line, alone */
    bool shutdown_next;  /**< the line after the batch is a `shutdown` line */
};

/** Cuts the longest batch from the front of \p data. A `shutdown` line is a batch of its
 * own, so that it can be held back until all other channels are done. */
struct ndjson_cut ndjson_cut(const char *data, size_t len, struct ndjson_limits limits);

/** True when \p line (without newline) is a shutdown record. */
bool ndjson_is_shutdown(const char *line, size_t len);

/** \return true if one whole line of \p text is of a type that writers do not repeat, as
 * they do with names, at the beginning of each file. */
bool ndjson_has_row(const char *text, size_t len);

/** Finds the first line of \p text whose type is \p type; the last line may be cut.
 *  \p line is borrowed of \p text, without its newline. */
bool ndjson_find_type(const char *text, size_t len, const char *type,
                      struct record_text *line);

/** How a channel of the live layout begins. */
enum ndjson_begin {
    NDJSON_BEGIN_OPEN,  /**< no line of it is whole yet */
    NDJSON_BEGIN_FIRST, /**< with its first record */
    NDJSON_BEGIN_OTHER  /**< as does a later file, also one with a job_start again */
};

/** The type of the first record, and that it comes again, stand within so many bytes. */
#define NDJSON_BEGIN_BYTES 512u

/** \return what \p text, the first \p len bytes of a file, are. */
enum ndjson_begin ndjson_begin_of(const char *text, size_t len);

#endif
