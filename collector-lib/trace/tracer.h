/* SPDX-License-Identifier: Apache-2.0 */
/* The interface between the collector and a tracing module: a shared object that is
 * loaded for engines above Monitor, since it needs a vendor's headers to build and a
 * vendor's library to run. All times are CLOCK_MONOTONIC in ns. Strings are valid until
 * the call returns, symbols as long as the process. The functions are called by one
 * thread at a time. */
#ifndef GPUFL_COLLECTOR_TRACE_TRACER_H
#define GPUFL_COLLECTOR_TRACE_TRACER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACER_ABI    12u
#define TRACER_SYMBOL "gpufl_tracer"

/* Devices have the vendor's numbers of this process. */

/** A launch, copy or set begins. */
struct trace_call {
    uint32_t correlation;
    bool with_stack;
    uint8_t external_kind; /**< of the id that a framework pushed; 0 = none */
    uint64_t external_id;
};

/** A wait has ended. */
struct trace_wait {
    int64_t start_ns, end_ns;
    uint8_t type; /**< 1 event, 2 stream waits for event, 3 stream, 4 context */
    bool with_stack;
    uint32_t correlation, context;
    uint32_t stream, event; /**< UINT32_MAX = does not apply */
};

/** Called from within calls of CUDA, on the job's thread that makes them: must be fast.
 * */
struct tracer_listener {
    void (*called)(const struct trace_call *call);
    void (*waited)(const struct trace_wait *wait);
};

struct tracer_config {
    bool pc_sampling;     /**< sample instructions too, if possible */
    bool synchronization; /**< waits of the host */
    bool memory;          /**< allocations */
    bool graphs; /**< one record for each launch of a graph, instead of its kernels */
    bool external_correlation;  /**< ids that a framework pushed */
    bool source;                /**< lines of samples */
    bool stacks;                /**< of launches and waits */
    size_t buffer_bytes;        /**< of one buffer of records */
    unsigned buffers_max;       /**< beyond them records are dropped, and counted */
    size_t sample_buffer_bytes; /**< of one context, at most */
    const struct tracer_listener *listener; /**< outlives the tracer */
};

struct trace_kernel {
    int64_t start_ns, end_ns;
    const char *symbol; /**< mangled */
    uint32_t correlation, device, context, stream;
    int32_t grid[3], block[3];
    uint32_t registers; /**< of a thread */
    uint32_t static_shared_bytes, dynamic_shared_bytes;
    uint32_t local_thread_bytes;
    uint64_t local_total_bytes;
    uint32_t shared_executed_bytes;
    uint8_t cache_requested, cache_executed;
};

struct trace_copy {
    int64_t start_ns, end_ns;
    uint64_t bytes;
    uint32_t correlation, device, context, stream;
    uint8_t kind; /**< CUPTI's number: 1 host to device, 2 device to host, 8 within the
                     device… */
};

struct trace_set {
    int64_t start_ns, end_ns;
    uint64_t bytes;
    uint32_t correlation, device, stream;
};

struct trace_memory {
    int64_t at_ns;
    uint32_t duration_ns; /**< of the call; 0 = not known */
    uint8_t operation;    /**< 1 allocation, 2 release */
    uint8_t kind;         /**< CUPTI's number: 2 pinned, 3 device, 5 managed… */
    uint64_t address, bytes;
    uint32_t correlation, device, stream;
};

struct trace_graph {
    int64_t start_ns, end_ns;
    uint32_t correlation, device, stream, graph;
};

/** Samples of one instruction since the last ones. */
struct trace_sample {
    int64_t at_ns; /**< when they were collected */
    const char *symbol;
    const char *file; /**< full path; NULL = not known */
    uint32_t line;
    uint64_t pc_offset;
    uint32_t device;
    uint32_t stall;         /**< the vendor's number */
    const char *stall_name; /**< e.g. long_scoreboard */
    uint32_t samples;
};

/** What does not change, as far as the driver tells it: 0 or "" = it does not. */
struct trace_device {
    char uuid[48]; /**< `GPU-` or, of a part of a GPU, `MIG-`, and 36 characters */
    char name[96];
    uint32_t threads_per_warp, multi_processors;
    uint32_t warps_per_sm, blocks_per_sm;
    uint32_t registers_per_sm, registers_per_block;
    uint32_t shared_per_sm_bytes, shared_per_block_bytes, l2_bytes;
    uint32_t memory_clock_khz, memory_bus_bits;
    uint32_t compute_major, compute_minor;
};

struct tracer_sink {
    void *arg;
    void (*kernel)(void *arg, const struct trace_kernel *kernel);
    void (*copy)(void *arg, const struct trace_copy *copy);
    void (*set)(void *arg, const struct trace_set *set);
    void (*memory)(void *arg, const struct trace_memory *memory);
    void (*graph)(void *arg, const struct trace_graph *graph);
    void (*sample)(void *arg, const struct trace_sample *sample);
};

/** What the vendor's library may refuse by itself, while the rest is recorded. */
enum tracer_part {
    TRACER_COPIES,
    TRACER_SETS,
    TRACER_ALLOCATIONS,
    TRACER_GRAPHS,
    TRACER_CALLBACKS,
    TRACER_PARTS
};

/** Counters since tracer->start. */
struct tracer_status {
    uint64_t records;
    uint64_t dropped;            /**< records for which there was no buffer */
    uint64_t incomplete;         /**< kernels that had not ended at the end */
    uint64_t buffers_unread;     /**< of which the rest could not be read */
    uint64_t foreign;            /**< buffers with records that another client had lent */
    uint64_t unrecorded;         /**< other launches without a record, so far */
    uint64_t fetches_failed;     /**< it is not known how many records are missing */
    char fetch_why[256];         /**< the last of these */
    uint64_t samples;            /**< of instructions */
    uint64_t samples_dropped;    /**< at least */
    uint64_t contexts_unsampled; /**< that could not be sampled */
    uint64_t
        modules_dropped; /**< whose line tables found no room, counted at each load */
    bool lost;           /**< the library failed: records may be missing */
    char refused_why[TRACER_PARTS][256]; /**< "" = it is recorded, or was not requested */
    char pc_sampling_why[256]; /**< why it does not run; "" = it runs, or was not
                                  requested */
};

struct tracer {
    uint32_t abi;
    /** False with a sentence in \p why that says what to do. */
    bool (*start)(const struct tracer_config *config, char *why, size_t size);
    /** Fetches the records that are complete; with \p last all of them, waiting up to a
     * second for kernels that are running. */
    void (*collect)(bool last);
    /** Delivers what collect fetched, in order within a queue of the device. */
    void (*deliver)(const struct tracer_sink *sink);
    /** Describes a device by the number that records have. */
    void (*device)(uint32_t number, struct trace_device *out);
    void (*status)(struct tracer_status *out);
    void (*stop)(void);
};

#endif
