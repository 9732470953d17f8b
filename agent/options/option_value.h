/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options: parsed into struct options, compared, copied, freed. */
#ifndef GPUFL_AGENT_OPTIONS_OPTION_VALUE_H
#define GPUFL_AGENT_OPTIONS_OPTION_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include <gpufl/status.h>

#include "agent/options/option_table.h"
#include "agent/options/options.h"

/** Longest name of an option as users write it, NUL included. */
#define OPTION_NAME_MAX 64

/** Who sets a value: its source, and the name of the option there. */
struct option_setter {
    enum option_source source;
    const char *name; /**< `--listen`, `GPUFL_AGENT_LISTEN`, `agent.listen` */
};

/** Parses \p value and stores it in the field of \p row.
 *  \return GPUFL_OK; GPUFL_ERR_USAGE with `NAME: why` in \p why; GPUFL_ERR_NOMEM. */
GPUFL_MUST gpufl_status option_set(struct options *options, const struct option_row *row,
                                   struct option_setter by, const char *value,
                                   char why[512]);

/** Sets every default. */
GPUFL_MUST gpufl_status option_set_defaults(struct options *options, char why[512]);

/** The name that the option of \p row has where its value came from: its flag, variable
 * or key. \return \p out. */
const char *option_name_used(const struct options *options, const struct option_row *row,
                             char out[OPTION_NAME_MAX]);

/** Puts the name that was used in place of the flag that \p why begins with, if any. */
void option_blame_source(const struct options *options, char why[512]);

/** True when the two hold different values in the field of \p row. */
bool option_differs(const struct option_row *row, const struct options *a,
                    const struct options *b);

/** Copies a value that is no text. */
void option_copy(const struct option_row *row, struct options *to,
                 const struct options *from);

/** Frees what the options hold. */
void option_values_free(struct options *options);

#endif
