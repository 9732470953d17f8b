/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a row of the option table by its field, flag, key or variable, and the nearest
 * name for one that is misspelled. */
#ifndef GPUFL_AGENT_OPTIONS_OPTION_FIND_H
#define GPUFL_AGENT_OPTIONS_OPTION_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/options/option_table.h"

/** False for the rows of what is not built in, which --help does not list. */
bool option_is_built(const struct option_row *row);

/** The row whose field lies at offset \p at of struct options. */
const struct option_row *option_of_field(size_t at);

/** The row of a flag, \p len bytes without dashes. \return NULL when there is none. */
const struct option_row *option_of_flag(const char *flag, size_t len);

/** The row of the short flag \p letter. \return NULL when there is none. */
const struct option_row *option_of_letter(char letter);

/** The row of a key of the configuration file. \return NULL when there is none. */
const struct option_row *option_of_key(const char *key);

/** The row of a variable of the environment. \return NULL when there is none. */
const struct option_row *option_of_env(const char *env);

/** The flag that \p flag (without dashes) is nearest to, or NULL. */
const char *option_nearest_flag(const char *flag);

/** The key (`group.key`) of \p group, NULL = of any, that \p key is nearest to, or NULL.
 */
const char *option_nearest_key(const char *group, const char *key);

/** The variable whose end (`TOKEN` of GPUFL_HTTP_TOKEN) \p tail is nearest to, or NULL;
 * of those that begin with \p prefix, NULL = of all. */
const char *option_nearest_env(const char *prefix, const char *tail);

#endif
