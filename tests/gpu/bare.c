/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI's kernel records alone, in a process that is there: what they cost by themselves.
 * Loaded by step.py. */
#include <stdint.h>
#include <stdlib.h>

#include <cupti.h>

#define BYTES (64u << 10)

static long records;

static void CUPTIAPI request(uint8_t **bytes, size_t *size, size_t *most)
{
    *bytes = aligned_alloc(8, BYTES);
    *size = BYTES;
    *most = 0;
}

static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t *bytes,
                              size_t size, size_t valid)
{
    CUpti_Activity *record = NULL;
    (void)context;
    (void)stream;
    (void)size;
    while (cuptiActivityGetNextRecord(bytes, valid, &record) == CUPTI_SUCCESS) {
        records++;
    }
    free(bytes);
}

/** For the rest of the process. 0, or CUPTI's error. */
__attribute__((visibility("default"))) int bare_start(void);

int bare_start(void)
{
    CUptiResult result = cuptiActivityRegisterCallbacks(request, complete);
    return (int)(result == CUPTI_SUCCESS
                     ? cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
                     : result);
}
