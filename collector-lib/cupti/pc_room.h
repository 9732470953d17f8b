/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for the samples of one fetch. */
#ifndef GPUFL_COLLECTOR_CUPTI_PC_ROOM_H
#define GPUFL_COLLECTOR_CUPTI_PC_ROOM_H

#include <stdbool.h>

#include "collector-lib/cupti/cupti_api.h"

/** The arrays that CUPTI fills: instructions, each with all reasons. */
struct pc_room {
    CUpti_PCSamplingData data;
    CUpti_PCSamplingPCData *pc;
    CUpti_PCSamplingStallReason *reason;
};

/** Makes room for \p pcs instructions with \p reasons reasons each. False without
 * memory. */
bool pc_room_make(struct pc_room *room, size_t pcs, size_t reasons);

void pc_room_free(struct pc_room *room);

#endif
