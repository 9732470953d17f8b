/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a journal file.
 *
 * A header (magic, version, generation, root, CRC-32C) stands at the start and once more
 * on the next page, so that one of them survives a damaged page. It is followed by
 * records, each behind a 24-byte frame (magic, payload length, number, CRC-32C, type) and
 * padded to 8 bytes; zeros up to the end are free space. Numbers rise by one. All
 * integers are little-endian. A crash leaves at most a torn tail, which is cut off;
 * damage further up is skipped by looking for the next frame, and reported.
 * journal_records.h lists the record types. */
#ifndef GPUFL_UPLOAD_JOURNAL_JOURNAL_FORMAT_H
#define GPUFL_UPLOAD_JOURNAL_JOURNAL_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <gpufl/status.h>

/* 1: one header. 2: no JOURNAL_ORIGIN, without which positions would be believed of
 * another backend. 3: no streams that go by positions, which would be sent as windows. */
#define JOURNAL_FORMAT_VERSION 4u
#define JOURNAL_MAX_PAYLOAD    4096u

#define JOURNAL_FILE_MAGIC  "GPUFLJ\r\n"
#define JOURNAL_FRAME_MAGIC 0x314a5247u /* "GRJ1" */
#define JOURNAL_FRAME_BYTES 24u
/* magic 8, version 4, generation 4, root length 4, CRC 4 */
#define JOURNAL_HEADER_BYTES 24u
#define JOURNAL_ROOT_MAX     4096u
#define JOURNAL_PAGE_BYTES   4096u

#define JOURNAL_RECORD_MAX (JOURNAL_FRAME_BYTES + JOURNAL_MAX_PAYLOAD)
#define JOURNAL_START_MAX                                                                \
    (2 * JOURNAL_PAGE_BYTES + JOURNAL_HEADER_BYTES + JOURNAL_ROOT_MAX)

/** One record as replayed. */
struct journal_record {
    uint32_t type;
    const unsigned char *payload; /**< valid during the callback */
    size_t len;
};

typedef void (*journal_replay_fn)(void *arg, const struct journal_record *record);

/** Makes the start of a file in \p out, JOURNAL_START_MAX bytes. \return its length; 0
 * when the root's name is too long. */
size_t journal_format_put_start(unsigned char *out, uint32_t generation,
                                const char *root);

/** Makes a record in \p out, JOURNAL_RECORD_MAX bytes; \p len at most
 * JOURNAL_MAX_PAYLOAD. \return its length. */
size_t journal_format_put_record(unsigned char *out, uint64_t number, uint32_t type,
                                 const void *payload, size_t len);

/** What a whole file holds, besides its records. */
struct journal_parsed {
    uint32_t generation;
    char root[JOURNAL_ROOT_MAX + 1];
    uint64_t last;        /**< number of the last record, 0 = none */
    uint64_t end;         /**< offset behind the last good record */
    bool damaged;         /**< records in the middle could not be read */
    bool header_damaged;  /**< one of the two headers; the other one is intact */
    bool names_no_origin; /**< its version recorded no backend */
};

/** Reads up to \p room bytes of a file to \p to, one part after the other; less only at
 * its end. \return how many; -1 with errno. */
typedef ssize_t (*journal_part_fn)(void *arg, unsigned char *to, size_t room);

/** Bytes of a file that are in memory at a time. */
struct journal_window {
    unsigned char *bytes;
    size_t len;           /**< of these */
    size_t room;          /**< for so many, JOURNAL_WINDOW_MIN at least */
    journal_part_fn part; /**< reads more; NULL = all that there is, is there */
    void *arg;
};

/** Room for the start of a file, or for any record and more. */
#define JOURNAL_WINDOW_MIN (64u << 10)

/** Replays a journal file, of which \p window has read nothing yet, or all. \return
 * GPUFL_OK; GPUFL_ERR_FORMAT when its header cannot be read: then the window has the
 * start of the file; GPUFL_ERR_IO with errno. */
GPUFL_MUST gpufl_status journal_format_replay(struct journal_window *window,
                                              journal_replay_fn replay, void *arg,
                                              struct journal_parsed *out);

/** Replays \p data, a whole journal file; for status and for fuzzing. \return as
 * journal_format_replay(). */
GPUFL_MUST gpufl_status journal_format_parse(const unsigned char *data, size_t len,
                                             journal_replay_fn replay, void *arg,
                                             struct journal_parsed *out);

/** True when \p data, which could not be parsed, was written by a newer version. */
bool journal_format_is_newer(const unsigned char *data, size_t len);

#endif
