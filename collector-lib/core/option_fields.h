/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of gpufl_init_options as a table: key in the file, variable, type. */
#ifndef GPUFL_COLLECTOR_CORE_OPTION_FIELDS_H
#define GPUFL_COLLECTOR_CORE_OPTION_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include <gpufl/gpufl.h>

#include "collector-lib/core/flat_json.h"

/** Takes the fields that end within the struct_size of \p given: its caller may have been
 * compiled with a shorter struct, or with a longer one. */
void option_fields_take_whole(struct gpufl_init_options *into,
                              const struct gpufl_init_options *given);

/** Takes the fields of \p given that differ from the defaults: those were set in code. */
void option_fields_take_code(struct gpufl_init_options *into,
                             const struct gpufl_init_options *given);

/** Takes what the environment sets; invalid values are reported on stderr and ignored. */
void option_fields_take_env(struct gpufl_init_options *into);

/** Takes one member of the configuration file; strings are borrowed. An unknown key or a
 * wrong type is reported on stderr and ignored. */
void option_fields_take_member(struct gpufl_init_options *into, const char *path,
                               const char *key, enum flat_json_kind kind,
                               const char *value);

/** The engine of that name, in any case. \return NULL, or the names that are expected. */
const char *option_fields_engine(const char *name, enum gpufl_profiling_engine *out);

/** Names of engines, in the order of their values. */
#define OPTION_ENGINES 8
extern const char *const option_engine_name[OPTION_ENGINES];

#endif
