/* SPDX-License-Identifier: Apache-2.0 */
/* Options that were given and change nothing beside the others, or are hardly meant. */
#ifndef GPUFL_AGENT_OPTIONS_OPTION_UNUSED_H
#define GPUFL_AGENT_OPTIONS_OPTION_UNUSED_H

#include "agent/options/options.h"
#include "base/log.h"

/** \p name is that of the flag, variable or key that gave the option. */
typedef void option_unused_say(void *arg, const char *name, const char *why);

/** Says each of them. */
void option_unused_each(const struct options *options, option_unused_say *say, void *arg);

/** As option_unused_each(), of what works but is hardly meant. */
void option_doubtful_each(const struct options *options, option_unused_say *say,
                          void *arg);

/** Warns of each of them, and of what is doubtful. */
void option_unused_warn(const struct log *log, const struct options *options);

#endif
