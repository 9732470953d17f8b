/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the values of options with a choice, for the table of options. Each list
 * ends with NULL. */
#ifndef GPUFL_AGENT_OPTIONS_OPTION_CHOICES_H
#define GPUFL_AGENT_OPTIONS_OPTION_CHOICES_H

extern const char *const option_compressions[];
extern const char *const option_identities[];
extern const char *const option_watches[];
extern const char *const option_states[];
extern const char *const option_quotas[];
extern const char *const option_deletions[];
extern const char *const option_log_levels[];
extern const char *const option_log_formats[];
extern const char *const option_confinements[];

#endif
