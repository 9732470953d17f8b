/* SPDX-License-Identifier: Apache-2.0 */
/* What is shown of a session, as its digests were stored. */
#ifndef GPUFL_BACKEND_STORE_STORE_QUERY_H
#define GPUFL_BACKEND_STORE_STORE_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/digest/digest.h"
#include "backend/store/store.h"

/** Which sums, the largest total first. */
struct store_tally_query {
    enum tally_kind kind;
    enum digest_dictionary names; /**< of key a; 0 = none */
    unsigned limit;
    unsigned offset;
};

struct store_tally {
    struct tally tally;
    const char *name; /**< of key a, "" = unknown; valid during the visit */
};

struct store_tally_sum {
    uint64_t keys;
    uint64_t count;
    int64_t total;
};

/** Visits sums of a session. \return GPUFL_OK, GPUFL_ERR_IO. */
GPUFL_MUST gpufl_status
store_tallies(struct store *store, int64_t session, const struct store_tally_query *query,
              void (*visit)(void *arg, const struct store_tally *tally), void *arg);

/** The same, summed over all keys of one name; \p tally has no key. */
GPUFL_MUST gpufl_status store_tallies_by_name(
    struct store *store, int64_t session, const struct store_tally_query *query,
    void (*visit)(void *arg, const struct store_tally *tally), void *arg);

/** Over all sums of a kind. */
GPUFL_MUST gpufl_status store_tally_sum(struct store *store, int64_t session,
                                        enum tally_kind kind,
                                        struct store_tally_sum *out);

/** Which tables of a session. */
struct store_range {
    int64_t session;
    enum digest_table_kind kind;
    int64_t from_ns, to_ns; /**< those with rows between */
};

/** Visits the tables of \p range, by device and time, until \p visit returns false. */
GPUFL_MUST gpufl_status store_tables(struct store *store, const struct store_range *range,
                                     bool (*visit)(void *arg,
                                                   const struct digest_table *table),
                                     void *arg);

/** What a session's tables span. */
struct store_series {
    int64_t first_ns; /**< 0 = it has none */
    int64_t last_ns;
    uint64_t metrics; /**< bit i: it has metric i of metric_columns.h */
};

GPUFL_MUST gpufl_status store_series(struct store *store, int64_t session,
                                     struct store_series *out);

/** A name from a dictionary, the caller's; NULL when it is unknown. */
char *store_name(struct store *store, int64_t session, enum digest_dictionary dictionary,
                 int64_t id);

/** A line that was kept, the caller's; NULL without one. */
char *store_text(struct store *store, int64_t session, enum digest_text which);

#endif
