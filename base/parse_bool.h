/* SPDX-License-Identifier: Apache-2.0 */
/* Reads switches: one rule for the options and variables of all parts. */
#ifndef GPUFL_BASE_PARSE_BOOL_H
#define GPUFL_BASE_PARSE_BOOL_H

#include <stdbool.h>

/** For messages. */
#define PARSE_SWITCH_WORDS "true, yes, on or 1, or false, no, off or 0"

/** Reads a word for on (`1`, `true`, `yes`, `on`) or off (`0`, `false`, `no`, `off`) in
 * any case, blanks around it ignored, into \p out. \return false for any other text, and
 * for NULL. */
bool parse_switch(const char *text, bool *out);

/** \return true for a word for on; false for everything else. */
bool parse_bool(const char *text);

#endif
