/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the GPU's driver on a thread of its own. A driver may take seconds (nvmlInit
 * without the persistence daemon) or never answer (a GPU that fell off the bus): then
 * figures of devices are missing, and nothing else waits. */
#ifndef GPUFL_COLLECTOR_SAMPLE_GPU_THREAD_H
#define GPUFL_COLLECTOR_SAMPLE_GPU_THREAD_H

#include "collector-lib/sample/gpu.h"

/** The longest that a session's first lines wait for the devices and their first figures,
 * and a sample for its own, once: while the driver is slower, a sample takes what has
 * been answered since the last one. */
#define GPU_PATIENCE_MS 50
/** An answer that takes longer counts as missing. */
#define GPU_LATE_MS 1000

/** What does not change. */
struct gpu_devices {
    const char *source;
    unsigned count;
    struct gpu_info info[GPU_MAX];
};

enum gpu_answer {
    GPU_ANSWERED,
    GPU_PENDING, /**< the driver has not answered yet */
    GPU_LATE     /**< nor has it for GPU_LATE_MS */
};

struct gpu_thread;

/** Starts the thread, which opens the first source of \p kind that answers and takes a
 * sample. NULL without memory or thread, if \p kind is GPUFL_BACKEND_NONE, and, after a
 * message, while one of an earlier session hangs in the driver. */
struct gpu_thread *gpu_thread_open(enum gpufl_backend_kind kind,
                                   const struct gpu_wish *wish);

/** Waits until \p by_ns (monotonic) for what was asked. \return false if the driver has
 * not answered: then the next sample does not wait for it. */
bool gpu_thread_wait(struct gpu_thread *t, int64_t by_ns);

/** The devices, valid until gpu_thread_close; NULL while the driver has told neither them
 * nor, for GPU_PATIENCE_MS, their first figures. */
const struct gpu_devices *gpu_thread_devices(struct gpu_thread *t, int64_t now_ns);

/** Takes a sample of all devices. If it was answered, \p out (GPU_MAX entries) and \p
 * at_ns, when it was taken, are set. */
enum gpu_answer gpu_thread_sample(struct gpu_thread *t, int64_t now_ns,
                                  struct gpu_sample *out, int64_t *at_ns);

/** Ends the thread. If it was not in the driver, it has GPU_LATE_MS at least for that.
 * \return false if it is still there at \p by_ns: it is left alone with all that it uses,
 * and releases that if the driver ever returns. */
bool gpu_thread_close(struct gpu_thread *t, int64_t by_ns);

#endif
