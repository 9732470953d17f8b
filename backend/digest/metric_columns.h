/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics that are charted. Their numbers are stored in the database: append only. */
#ifndef GPUFL_BACKEND_DIGEST_METRIC_COLUMNS_H
#define GPUFL_BACKEND_DIGEST_METRIC_COLUMNS_H

#include <stdbool.h>

struct metric {
    const char *name; /**< as the column, and as the page asks for it */
    const char *unit;
    double scale; /**< factor from the stored value to that unit */
    bool host;
};

extern const struct metric metrics[];
extern const unsigned metrics_count;

/** \return its number, -1 when there is none. */
int metric_column_of(const char *name);

#endif
