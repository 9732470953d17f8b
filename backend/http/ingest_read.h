/* SPDX-License-Identifier: Apache-2.0 */
/* What a body says, before anything of it is looked up in the database: decoded, checked
 * and digested. That is most of the work, and any thread may do it. */
#ifndef GPUFL_BACKEND_HTTP_INGEST_READ_H
#define GPUFL_BACKEND_HTTP_INGEST_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "backend/digest/lines.h"
#include "backend/http/positions_read.h"
#include "base/text.h"

struct ingest_read;

/** One request as received. NULL = header missing. */
struct ingest_request {
    const char *session;
    const char *hostname;
    const char *encoding;
    const char *window_id;
    const char *window_channel;
    const char *window_sequence;
    const char *window_crc32;
    const void *body;
    size_t len;
    bool too_large;                 /**< the body exceeded the limit and was not kept */
    const struct ingest_read *read; /**< what the body says, NULL = not read yet */
};

/** Why the lines of a part were not read; in this order. */
enum part_fault {
    PART_READ,
    PART_NAMED_TWICE, /**< two parts of a stream would have two ends in one answer */
    PART_DAMAGED,     /**< its bytes do not run its begin into its end */
    PART_UNREAD,      /**< it is read when it is stored: those before it say much */
};

struct part_read {
    enum part_fault fault;
    struct lines lines; /**< none of a part that skips */
};

/** Zero-initialise. */
struct ingest_read {
    int status; /**< of a refusal, 0 = none; */
    struct text refusal;
    char *raw;
    size_t raw_len;
    struct lines lines; /**< of a body without positions */
    struct positions_parts parts;
    struct part_read *part; /**< as many */
    size_t bytes;           /**< of memory that all of that takes, about */
};

/** Writes an error. \return \p status. */
int ingest_refuse(struct text *answer, int status, const char *error,
                  const char *message);

/** Decodes the body. *raw is malloc'd, the caller's. \return 0, or the status of a
 * refusal. */
int ingest_decode(const struct ingest_request *request, char **raw, size_t *raw_len,
                  struct text *answer);

/** Each reads the body of \p request, which must last as long as \p out. */
void ingest_read_lines(const struct ingest_request *request, struct ingest_read *out);
void ingest_read_parts(const struct ingest_request *request, struct ingest_read *out);

void ingest_read_fini(struct ingest_read *read);

#endif
