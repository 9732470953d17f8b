/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates the arrays that CUPTI fills: each instruction points to its own reasons. */
#include "collector-lib/cupti/pc_room.h"

#include <stdlib.h>
#include <string.h>

void pc_room_free(struct pc_room *room)
{
    free(room->pc);
    free(room->reason);
    memset(room, 0, sizeof *room);
}

bool pc_room_make(struct pc_room *room, size_t pcs, size_t reasons)
{
    room->pc = calloc(pcs, sizeof *room->pc);
    room->reason = calloc(pcs * reasons, sizeof *room->reason);
    if (!room->pc || !room->reason) {
        pc_room_free(room);
        return false;
    }
    for (size_t i = 0; i < pcs; i++) {
        room->pc[i].size = sizeof *room->pc;
        room->pc[i].stallReason = room->reason + i * reasons;
    }
    room->data = (CUpti_PCSamplingData){
        .size = sizeof room->data, .collectNumPcs = pcs, .pPcData = room->pc};
    return true;
}
