/* SPDX-License-Identifier: Apache-2.0 */
/* `gpufl quarantine retry` and `drop`, which need the directory for themselves. */
#ifndef GPUFL_CLI_TRANSFER_QUARANTINE_ACT_H
#define GPUFL_CLI_TRANSFER_QUARANTINE_ACT_H

#include "cli/transfer/quarantine_choice.h"
#include "upload/http/transport_http.h"

/** Offers the chosen ranges to \p backend again. \return the exit code. */
int quarantine_act_retry(const struct quarantine_choice *choice,
                         const struct transport_http_config *backend);

/** Gives the chosen ranges up. \return the exit code. */
int quarantine_act_drop(const struct quarantine_choice *choice);

#endif
