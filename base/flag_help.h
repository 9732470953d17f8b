/* SPDX-License-Identifier: Apache-2.0 */
/* The text of --help, made from a table of flags. */
#ifndef GPUFL_BASE_FLAG_HELP_H
#define GPUFL_BASE_FLAG_HELP_H

#include "base/flag.h"
#include "base/text.h"

/** Appends the whole text to \p out, 80 columns wide. */
void flag_help(const struct flag_table *table, struct text *out);

#endif
