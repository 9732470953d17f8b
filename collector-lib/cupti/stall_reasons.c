/* SPDX-License-Identifier: Apache-2.0 */
/* Asks CUPTI for the stall reasons of a context and keeps their names. */
#include "collector-lib/cupti/stall_reasons.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_MAX    256u
#define STALL_PREFIX "smsp__pcsamp_warps_issue_stalled_"

static bool reasons_alloc(struct stall_reasons *r)
{
    r->index = calloc(r->count, sizeof *r->index);
    r->name = calloc(r->count, sizeof *r->name);
    bool room = r->index && r->name;
    for (size_t i = 0; room && i < r->count; i++) {
        r->name[i] = calloc(1, CUPTI_STALL_REASON_STRING_SIZE);
        room = r->name[i] != NULL;
    }
    return room;
}

CUptiResult stall_reasons_read(struct stall_reasons *r, CUcontext context)
{
    CUpti_PCSamplingGetNumStallReasonsParams count = {
        .size = CUpti_PCSamplingGetNumStallReasonsParamsSize,
        .ctx = context,
        .numStallReasons = &r->count};
    CUptiResult result = cupti.PCSamplingGetNumStallReasons(&count);
    if (result != CUPTI_SUCCESS) {
        return result;
    }
    if (!reasons_alloc(r)) {
        return CUPTI_ERROR_OUT_OF_MEMORY;
    }
    CUpti_PCSamplingGetStallReasonsParams names = {
        .size = CUpti_PCSamplingGetStallReasonsParamsSize,
        .ctx = context,
        .numStallReasons = r->count,
        .stallReasonIndex = r->index,
        .stallReasons = r->name};
    return cupti.PCSamplingGetStallReasons(&names);
}

/* Returns a copy that is never freed, since a sample may outlive its context. The
 * devices of a process have a few dozen reasons in total. */
static const char *keep_name(const char *name)
{
    static char *kept[NAMES_MAX];
    size_t i = 0;
    while (i < NAMES_MAX && kept[i] && strcmp(kept[i], name) != 0) {
        i++;
    }
    if (i < NAMES_MAX && !kept[i]) {
        kept[i] = strdup(name);
    }
    return i < NAMES_MAX && kept[i] ? kept[i] : "unknown";
}

const char *stall_reasons_name(const struct stall_reasons *r, uint32_t index)
{
    for (size_t i = 0; i < r->count; i++) {
        if (r->index[i] == index) {
            const char *name = r->name[i];
            size_t prefix = sizeof STALL_PREFIX - 1;
            return keep_name(strncmp(name, STALL_PREFIX, prefix) == 0 ? name + prefix
                                                                      : name);
        }
    }
    return "unknown";
}

void stall_reasons_fini(struct stall_reasons *r)
{
    for (size_t i = 0; r->name && i < r->count; i++) {
        free(r->name[i]);
    }
    free(r->name);
    free(r->index);
    *r = (struct stall_reasons){0};
}
