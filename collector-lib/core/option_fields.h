/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of gpufl_init_options as a table: key in the file, variable, type. */
#ifndef GPUFL_COLLECTOR_CORE_OPTION_FIELDS_H
#define GPUFL_COLLECTOR_CORE_OPTION_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpufl/gpufl.h>

#include "collector-lib/core/flat_json.h"

/** Takes the fields that end within the struct_size of \p given: its caller may have been
 * compiled with a shorter struct, or with a longer one. */
void option_fields_take_whole(struct gpufl_init_options *into,
                              const struct gpufl_init_options *given);

/** Takes the fields of \p given that differ from the defaults: those were set in code. */
void option_fields_take_code(struct gpufl_init_options *into,
                             const struct gpufl_init_options *given);

/** Whether each field is within its range, as the header says; \p why says which is not.
 * What comes from the environment and from a file always is. */
gpufl_status option_fields_check(const struct gpufl_init_options *given, char why[256]);

/** Takes what the environment sets. Values that are wrong, or out of range, are reported
 * on stderr and ignored: what is set for every job keeps none from recording. */
void option_fields_take_env(struct gpufl_init_options *into);

/** The configuration file that members are taken from. */
struct option_members {
    const char *path;
    uint64_t seen; /**< a bit for each field, 0 at first */
};

/** Takes one member of the configuration file; strings are borrowed. An unknown key, a
 * second one, or a wrong type or value is reported on stderr; what is wrong is ignored.
 */
void option_fields_take_member(struct gpufl_init_options *into,
                               struct option_members *members, const char *key,
                               enum flat_json_kind kind, const char *value);

/** A whole decimal number from \p min to \p max; false for anything else. */
bool option_fields_number(const char *text, long long min, long long max, long long *out);

/** The engine of that name, in any case; false if there is none. */
bool option_fields_engine(const char *name, enum gpufl_profiling_engine *out);

/** So much of a value is in a message, so that the reason behind it is, too. */
#define OPTION_SHOWN_BYTES 100

/** Room for app_name. */
#define OPTION_APP_NAME_BYTES 256

/** The word of kernel_details. */
#define OPTION_PER_LAUNCH "per_launch"

/** Names of engines, in the order of their values. */
#define OPTION_ENGINES 8
#define OPTION_ENGINE_WORDS                                                              \
    "Monitor, Trace, PcSampling, SassMetrics, RangeProfiler, Deep, PmSampling or "       \
    "RangeProfilerKernelReplay"
extern const char *const option_engine_name[OPTION_ENGINES];

#endif
