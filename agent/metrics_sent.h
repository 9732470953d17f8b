/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of what was sent, retried and lost. */
#ifndef GPUFL_AGENT_METRICS_SENT_H
#define GPUFL_AGENT_METRICS_SENT_H

#include "base/text.h"
#include "upload/core/counters.h"
#include "upload/engine/account.h"
#include "upload/engine/engine.h"

void metrics_sent_write(struct text *out, const struct engine_summary *summary,
                        const struct counters *counters);

/** What became of all that was read. */
void metrics_account_write(struct text *out, const struct account *account);

#endif
