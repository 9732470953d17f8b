/* SPDX-License-Identifier: Apache-2.0 */
/* What the page shows of a body's lines: sums, names, and packed tables of metrics and
 * scopes. Each body is digested by itself, so their order does not matter; names are
 * joined when they are shown. */
#ifndef GPUFL_BACKEND_DIGEST_DIGEST_H
#define GPUFL_BACKEND_DIGEST_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/digest/pack.h"
#include "backend/digest/rows.h"
#include "backend/digest/tally.h"

/** Stands for the host where a device index is expected. */
#define DIGEST_HOST (-1)

/** The dictionaries of `dictionary_update`; the numbers are stored in the database. */
enum digest_dictionary {
    NAMES_KERNEL = 1,
    NAMES_SCOPE = 2,
    NAMES_FUNCTION = 3,
    NAMES_METRIC = 4,
    NAMES_SOURCE_FILE = 5,
    NAMES_SOURCE_TEXT = 6,  /**< no dictionary: a source file's lines, by the same id */
    NAMES_LAUNCH_SCOPE = 7, /**< user_scope of a kernel_detail, by its corr_id */
    NAMES_LAUNCH_STACK = 8, /**< its stack_trace, likewise */
};

struct digest_name {
    enum digest_dictionary dictionary;
    int64_t id;
    char *text; /**< cut at 64 KiB, of a source file at 4 MiB */
};

/** What a packed table holds; the numbers stand in the database. */
enum digest_table_kind {
    TABLE_DEVICE = 1, /**< columns: ts_ns, then the metrics of `metrics` */
    TABLE_HOST = 2,   /**< the same */
    TABLE_SCOPES = 3, /**< columns: ts_ns, instance, name, event_type, depth */
};

struct digest_table {
    enum digest_table_kind kind;
    int64_t device; /**< DIGEST_HOST for all but TABLE_DEVICE */
    int64_t first_ns, last_ns;
    size_t rows;
    uint64_t metrics;   /**< bit i: the metric i of metric_columns.h has a column, in that
                           order */
    struct text packed; /**< pack.h */
};

/** A record that is kept, as JSON. */
enum digest_text {
    TEXT_START = 1,        /**< job_start */
    TEXT_CAPABILITIES = 2, /**< capture_capabilities */
    TEXT_COUNT = 3,
};

/** What the list of sessions shows. */
struct digest_session {
    char app[256];
    char hostname[256];
    char kind[32];
    char gpus[512];      /**< names of job_start's devices, joined by ", " */
    size_t devices;      /**< of job_start, also those without a name */
    int64_t start_ns;    /**< of job_start, 0 = none here */
    int64_t shutdown_ns; /**< of shutdown, 0 = none here */
};

/** Zero-initialise. */
struct digest {
    struct digest_session session;
    struct tallies tallies;
    struct digest_name *name;
    size_t names, name_cap;
    struct digest_table *table;
    size_t tables, table_cap;
    char *text[TEXT_COUNT];
    int64_t newest_ns; /**< of its rows, 0 = none */
    int64_t first_ns;  /**< of its tables, 0 = none */
    int64_t last_ns;
    uint64_t metrics; /**< of its tables together */
    struct rows rows; /**< while reading */
};

/** Adds a name and takes \p text over, which is NULL when there was no memory for it.
 * \return false without memory. */
bool digest_add_name(struct digest *digest, enum digest_dictionary dictionary, int64_t id,
                     char *text);

/** Adds an empty table, valid until the next one. \return NULL without memory. */
struct digest_table *digest_add_table(struct digest *digest, enum digest_table_kind kind,
                                      int64_t device);

/** Notes that a row with the time \p ts_ns was read. */
static inline void digest_note_time(struct digest *digest, int64_t ts_ns)
{
    digest->newest_ns = ts_ns > digest->newest_ns ? ts_ns : digest->newest_ns;
}

/** The memory that it takes besides itself, about. */
size_t digest_bytes(const struct digest *digest);

void digest_fini(struct digest *digest);

#endif
