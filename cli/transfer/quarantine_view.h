/* SPDX-License-Identifier: Apache-2.0 */
/* `gpufl quarantine list` and `show`, which may run beside an agent. */
#ifndef GPUFL_CLI_TRANSFER_QUARANTINE_VIEW_H
#define GPUFL_CLI_TRANSFER_QUARANTINE_VIEW_H

#include "cli/transfer/quarantine_choice.h"

/** Lists the ranges, as one JSON array with \p json. \return the exit code. */
int quarantine_view_list(const struct quarantine_choice *choice, bool json);

/** Prints the lines of the chosen ranges. \return the exit code. */
int quarantine_view_show(const struct quarantine_choice *choice);

/** Says why there is no journal that can be read, if so: an uploader would make another
 * one. \return the exit code. */
int quarantine_view_check(const struct quarantine_choice *choice);

#endif
