/* SPDX-License-Identifier: Apache-2.0 */
/* PC sampling of one CUDA context. For one thread at a time. */
#ifndef GPUFL_COLLECTOR_CUPTI_PC_CONTEXT_H
#define GPUFL_COLLECTOR_CUPTI_PC_CONTEXT_H

#include "collector-lib/cupti/cupti_api.h"
#include "collector-lib/cupti/pc_room.h"
#include "collector-lib/cupti/stall_reasons.h"

/** The most instructions of one fetch, and of what CUPTI still has when sampling ends:
 * it decodes ten times a second, and nothing can be fetched after the end. A small
 * transformer in PyTorch had 7,000 to 10,000 at the end (H200, CUPTI 13.0.1). */
#define PC_CONTEXT_PCS      4096u
#define PC_CONTEXT_LAST_PCS 65536u

/** Zero = free. */
struct pc_context {
    CUcontext context;
    uint32_t device;
    struct stall_reasons reasons;
    struct pc_room config; /**< CUPTI keeps it and fills it at the end */
    struct pc_room fetch;
};

/** Enables sampling with a buffer of \p most_bytes, less where little memory is free, and
 * not at all where too little is. False with a sentence in \p why; then \p pc is free,
 * unless CUPTI is lost. */
bool pc_context_open(struct pc_context *pc, CUcontext context, size_t most_bytes,
                     char *why, size_t size);

/** Fetches new samples into pc->fetch. There are more if fetch.data.remainingNumPcs is
 * not 0. */
CUptiResult pc_context_fetch(struct pc_context *pc);

/** Disables sampling. The last samples are then in pc->config, except for
 * config.data.remainingNumPcs instructions that found no room. If CUPTI fails, it is
 * lost (cupti_api_lost), and \p pc must stay allocated, since CUPTI may still write to
 * it. What it had decoded can still be fetched. */
CUptiResult pc_context_disable(struct pc_context *pc);

/** Frees what \p pc holds. */
void pc_context_free(struct pc_context *pc);

#endif
