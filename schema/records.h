/* SPDX-License-Identifier: Apache-2.0 */
/* Record types and columns of the NDJSON files, in the order of the wire. Columns are
 * only ever appended. Times are nanoseconds since 1970-01-01 UTC. */
#ifndef GPUFL_SCHEMA_RECORDS_H
#define GPUFL_SCHEMA_RECORDS_H

/* In every channel. */
#define RECORD_JOB_START    "job_start"
#define RECORD_SHUTDOWN     "shutdown"
#define RECORD_DICTIONARY   "dictionary_update"
#define RECORD_CAPABILITIES "capture_capabilities"

/* A member of each job_start but a channel's first record. */
#define RECORD_REPEATED "repeated"

#define RECORD_SCOPES              "scope_event_batch"
#define RECORD_SAMPLES             "profile_sample_batch"
#define RECORD_PM_SAMPLES          "pm_sample_batch"
#define RECORD_PM_SAMPLING         "pm_sampling_config"
#define RECORD_WAITS               "synchronization_event_batch"
#define RECORD_ALLOCATIONS         "memory_alloc_event_batch"
#define RECORD_NVTX_MARKER         "nvtx_marker_event"
#define RECORD_GRAPH_LAUNCH        "graph_launch_event"
#define RECORD_GRAPH_NODE          "graph_node_definition"
#define RECORD_PERF_METRIC         "perf_metric_event"
#define RECORD_EXECUTION_SIGNATURE "execution_signature"
#define RECORD_DEEP_WINDOW         "deep_window_event"
#define RECORD_DEEP_WINDOW_RULE    "deep_window_rule_summary"
#define RECORD_COUNTER_QUALITY     "counter_data_quality_summary"

#define RECORD_DEVICE_METRICS "device_metric_batch"
#define RECORD_HOST_METRICS   "host_metric_batch"
#define RECORD_SYSTEM_START   "system_start"
#define RECORD_SYSTEM_STOP    "system_stop"

#define RECORD_DEVICE_PROPERTIES  "device_properties"
#define RECORD_KERNELS            "kernel_event_batch"
#define RECORD_KERNEL_DETAIL      "kernel_detail"
#define RECORD_COPIES             "memcpy_event_batch"
#define RECORD_MEMSET             "memset_event" /* of earlier versions */
#define RECORD_SETS               "memset_event_batch"
#define RECORD_KERNEL_PERF_METRIC "kernel_perf_metric_event"
#define RECORD_SASS_CONFIG        "sass_config"

#define RECORD_CUBIN  "cubin_disassembly"
#define RECORD_SOURCE "source_file_content"
#define RECORD_PTX    "ptx_disassembly"

/** X(type, channel) for each type that lies in one channel alone. Some are written by the
 * existing clients only. */
#define RECORD_CHANNELS(X)                                                               \
    X(RECORD_SCOPES, SCOPE)                                                              \
    X(RECORD_SAMPLES, SCOPE)                                                             \
    X(RECORD_PM_SAMPLES, SCOPE)                                                          \
    X(RECORD_PM_SAMPLING, SCOPE)                                                         \
    X(RECORD_WAITS, SCOPE)                                                               \
    X(RECORD_ALLOCATIONS, SCOPE)                                                         \
    X(RECORD_NVTX_MARKER, SCOPE)                                                         \
    X(RECORD_GRAPH_LAUNCH, SCOPE)                                                        \
    X(RECORD_GRAPH_NODE, SCOPE)                                                          \
    X(RECORD_PERF_METRIC, SCOPE)                                                         \
    X(RECORD_EXECUTION_SIGNATURE, SCOPE)                                                 \
    X(RECORD_DEEP_WINDOW, SCOPE)                                                         \
    X(RECORD_DEEP_WINDOW_RULE, SCOPE)                                                    \
    X(RECORD_COUNTER_QUALITY, SCOPE)                                                     \
    X(RECORD_DEVICE_METRICS, SYSTEM)                                                     \
    X(RECORD_HOST_METRICS, SYSTEM)                                                       \
    X(RECORD_SYSTEM_START, SYSTEM)                                                       \
    X(RECORD_SYSTEM_STOP, SYSTEM)                                                        \
    X(RECORD_DEVICE_PROPERTIES, DEVICE)                                                  \
    X(RECORD_KERNELS, DEVICE)                                                            \
    X(RECORD_KERNEL_DETAIL, DEVICE)                                                      \
    X(RECORD_COPIES, DEVICE)                                                             \
    X(RECORD_SETS, DEVICE)                                                               \
    X(RECORD_MEMSET, DEVICE)                                                             \
    X(RECORD_KERNEL_PERF_METRIC, DEVICE)                                                 \
    X(RECORD_SASS_CONFIG, DEVICE)                                                        \
    X(RECORD_CUBIN, SASS)                                                                \
    X(RECORD_SOURCE, SASS)                                                               \
    X(RECORD_PTX, SASS)

/* The dictionaries of a dictionary_update: texts by id. */
#define RECORD_KERNEL_DICT          "kernel_dict"
#define RECORD_SCOPE_NAME_DICT      "scope_name_dict"
#define RECORD_FUNCTION_DICT        "function_dict"
#define RECORD_FUNCTION_SYMBOL_DICT "func_symbol_dict"
#define RECORD_METRIC_DICT          "metric_dict"
#define RECORD_SOURCE_FILE_DICT     "source_file_dict"

/** Most rows of one batch. */
#define RECORD_MAX_ROWS 2048u

/* The columns of each batch, as FIRST(name) and X(name) for each that follows: two
 * macros, so that a text made of them has its commas. */

/* clang-format indents each line of such a list further than the one before. */
/* clang-format off */

#define RECORD_SCOPE_COLUMNS(FIRST, X)                                                   \
    FIRST(dt_ns) X(scope_instance_id) X(name_id) X(event_type) X(depth) X(repeat)        \
    X(warmup) X(original_start_ns)

/* gpu_util, mem_util, fan_speed_pct %; temp_* °C; power_mw mW; *_mib MiB; clock_* MHz;
 * energy_uj µJ and ecc_* since the driver was loaded; pcie_bw_bps bytes a second, both
 * directions. */
#define RECORD_DEVICE_COLUMNS(FIRST, X)                                                  \
    FIRST(dt_ns) X(device_id) X(gpu_util) X(mem_util) X(temp_c) X(power_mw)              \
    X(used_mib) X(total_mib) X(clock_sm) X(fan_speed_pct) X(temp_mem_c)                  \
    X(temp_junction_c) X(voltage_mv) X(energy_uj) X(clock_mem) X(pcie_bw_bps)            \
    X(ecc_corrected) X(ecc_uncorrected)

/* Behind them where details were asked for. throttle_reasons: bits as NVML's clocks event
 * reasons. own_*: of the recording process. nvlink_*: bytes of all links since the driver
 * was loaded. xid_count, last_xid: since the session began, -1 = none yet.
 * parent_device_id: of a MIG device the one that it is a part of, else -1. */
#define RECORD_DETAIL_COLUMNS(X)                                                         \
    X(throttle_reasons) X(own_used_mib) X(own_gpu_util) X(nvlink_rx_bytes)               \
    X(nvlink_tx_bytes) X(xid_count) X(last_xid) X(parent_device_id)

#define RECORD_DETAILED_COLUMNS(FIRST, X)                                                \
    RECORD_DEVICE_COLUMNS(FIRST, X) RECORD_DETAIL_COLUMNS(X)

/* cpu_pct_x100: percent of all cores × 100. cgroup_*: of the job's control group, -1
 * where there is none or no limit; CPU in percent of one core × 100. */
#define RECORD_HOST_COLUMNS(FIRST, X)                                                    \
    FIRST(dt_ns) X(cpu_pct_x100) X(ram_used_mib) X(ram_total_mib)                        \
    X(cgroup_cpu_pct_x100) X(cgroup_cpu_limit_pct_x100) X(cgroup_mem_used_mib)           \
    X(cgroup_mem_limit_mib)

/* dyn_shared bytes; external_kind and external_id what a framework pushed for the launch.
 * detail_corr_id: the kernel_detail of this name, configuration, scope and stack; that of
 * the row's own corr_id follows where has_details is 1. scope_instance_id: the innermost
 * scope around the launch, 0 = none. device_id: in job_start or device_properties, here
 * and in all rows below. */
#define RECORD_KERNEL_COLUMNS(FIRST, X)                                                  \
    FIRST(dt_ns) X(kernel_id) X(stream_id) X(duration_ns) X(corr_id) X(dyn_shared)       \
    X(num_regs) X(has_details) X(external_kind) X(external_id) X(device_id)              \
    X(detail_corr_id) X(scope_instance_id) X(context_id)

#define RECORD_COPY_COLUMNS(FIRST, X)                                                    \
    FIRST(dt_ns) X(stream_id) X(duration_ns) X(bytes) X(copy_kind) X(corr_id)            \
    X(device_id) X(scope_instance_id) X(context_id)

#define RECORD_SET_COLUMNS(FIRST, X)                                                     \
    FIRST(dt_ns) X(stream_id) X(duration_ns) X(bytes) X(corr_id) X(device_id)            \
    X(scope_instance_id)

/* function_id: the call stack in function_dict, 0 = none. */
#define RECORD_WAIT_COLUMNS(FIRST, X)                                                    \
    FIRST(dt_ns) X(duration_ns) X(sync_type) X(stream_id) X(event_id) X(context_id)      \
    X(corr_id) X(function_id)

/* duration_ns: of the call on its thread, 0 = not known. */
#define RECORD_ALLOCATION_COLUMNS(FIRST, X)                                              \
    FIRST(dt_ns) X(duration_ns) X(memory_op) X(memory_kind) X(address) X(bytes)          \
    X(device_id) X(stream_id) X(corr_id)

/* Samples of one instruction since the batch before, not of one launch: corr_id is 0.
 * metric_id names the stall reason in metric_dict. */
#define RECORD_SAMPLE_COLUMNS(FIRST, X)                                                  \
    FIRST(dt_ns) X(corr_id) X(device_id) X(function_id) X(pc_offset) X(metric_id)        \
    X(metric_value) X(stall_reason) X(sample_kind) X(scope_name_id) X(source_file_id)    \
    X(source_line)

/* clang-format on */

#define RECORD_FIRST_TEXT_(name) "\"" #name "\""
#define RECORD_NEXT_TEXT_(name)  ",\"" #name "\""

/** A list of columns as a JSON array. */
#define RECORD_COLUMN_TEXT(list) "[" list(RECORD_FIRST_TEXT_, RECORD_NEXT_TEXT_) "]"

#endif
