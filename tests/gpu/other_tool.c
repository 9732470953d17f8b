/* SPDX-License-Identifier: Apache-2.0 */
/* Another tool on CUPTI's kernel records, in the same process: it reads each buffer that
 * comes back, counts whose it was, and frees it, as NVIDIA's samples do. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <cupti.h>

#define BYTES    (64u << 10)
#define LENT_MAX 1024

/** Buffers that came back, and kernels in them: [0] that it had lent, [1] of others. */
struct other_told {
    long buffers[2], kernels[2];
};

static struct {
    pthread_mutex_t lock;
    uint8_t *lent[LENT_MAX];
    struct other_told told;
} tool = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Puts \p into where \p is stands; false if nowhere. */
static bool replace(const uint8_t *is, uint8_t *into)
{
    for (size_t i = 0; i < LENT_MAX; i++) {
        if (tool.lent[i] == is) {
            tool.lent[i] = into;
            return true;
        }
    }
    return false;
}

static void CUPTIAPI request(uint8_t **bytes, size_t *size, size_t *most)
{
    pthread_mutex_lock(&tool.lock);
    *bytes = aligned_alloc(8, BYTES);
    *size = replace(NULL, *bytes) ? BYTES : 0;
    *most = 0;
    pthread_mutex_unlock(&tool.lock);
}

static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t *bytes,
                              size_t size, size_t valid)
{
    CUpti_Activity *record = NULL;
    (void)context;
    (void)stream;
    (void)size;
    pthread_mutex_lock(&tool.lock);
    int of_others = !replace(bytes, NULL);
    tool.told.buffers[of_others]++;
    while (cuptiActivityGetNextRecord(bytes, valid, &record) == CUPTI_SUCCESS) {
        tool.told.kernels[of_others] +=
            record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    }
    free(bytes);
    pthread_mutex_unlock(&tool.lock);
}

__attribute__((visibility("default"))) int other_tool_start(void);
__attribute__((visibility("default"))) int other_tool_flush(struct other_told *told);

/** For the rest of the process. 0, or CUPTI's error. */
int other_tool_start(void)
{
    CUptiResult result = cuptiActivityRegisterCallbacks(request, complete);
    return (int)(result == CUPTI_SUCCESS
                     ? cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
                     : result);
}

/** Asks for all buffers. 0, or CUPTI's error. */
int other_tool_flush(struct other_told *told)
{
    CUptiResult result = cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    pthread_mutex_lock(&tool.lock);
    *told = tool.told;
    pthread_mutex_unlock(&tool.lock);
    return (int)result;
}
