/* SPDX-License-Identifier: Apache-2.0 */
/* PC sampling of one CUDA context: switched on with room for what the hardware collects,
 * switched off. Not safe for several threads at once. */
#ifndef GPUFL_COLLECTOR_CUPTI_PC_CONTEXT_H
#define GPUFL_COLLECTOR_CUPTI_PC_CONTEXT_H

#include "collector-lib/cupti/cupti_api.h"
#include "collector-lib/cupti/pc_room.h"
#include "collector-lib/cupti/stall_reasons.h"

/** Most instructions of one fetch, and of what CUPTI still had as sampling ended: it
 * decodes ten times a second, and there is no fetch after the end. A small transformer of
 * PyTorch had 7,000 to 10,000 then (H200, CUPTI 13.0.1). */
#define PC_CONTEXT_PCS      4096u
#define PC_CONTEXT_LAST_PCS 65536u

/** Zero = free. */
struct pc_context {
    CUcontext context;
    uint32_t device;
    struct stall_reasons reasons;
    struct pc_room config; /**< CUPTI keeps it, and fills it at the end */
    struct pc_room fetch;
};

/** Switches sampling on. False with one sentence in \p why; then \p pc is free, unless
 * CUPTI is lost. */
bool pc_context_open(struct pc_context *pc, CUcontext context, char *why, size_t size);

/** What has come since the last fetch into pc->fetch; more waits while
 * fetch.data.remainingNumPcs is not 0. */
CUptiResult pc_context_fetch(struct pc_context *pc);

/** Switches sampling off; what the hardware still had is in pc->config, but for
 * config.data.remainingNumPcs instructions that found no room. Where CUPTI fails to, it
 * is lost (cupti_api_lost), and \p pc must stay: it may still write there. What it had
 * decoded by then can still be fetched. */
CUptiResult pc_context_disable(struct pc_context *pc);

/** Frees all of it. */
void pc_context_free(struct pc_context *pc);

#endif
