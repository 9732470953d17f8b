/* SPDX-License-Identifier: Apache-2.0 */
/* Record types and columns of the NDJSON files, in the order of the wire. Columns are
 * only ever appended. Times are nanoseconds since 1970-01-01 UTC. */
#ifndef GPUFL_SCHEMA_RECORDS_H
#define GPUFL_SCHEMA_RECORDS_H

#define RECORD_JOB_START      "job_start"
#define RECORD_SHUTDOWN       "shutdown"
#define RECORD_DICTIONARY     "dictionary_update"
#define RECORD_SCOPES         "scope_event_batch"
#define RECORD_DEVICE_METRICS "device_metric_batch"
#define RECORD_HOST_METRICS   "host_metric_batch"
#define RECORD_SYSTEM_START   "system_start"
#define RECORD_SYSTEM_STOP    "system_stop"
#define RECORD_KERNELS        "kernel_event_batch"
#define RECORD_KERNEL_DETAIL  "kernel_detail"
#define RECORD_COPIES         "memcpy_event_batch"
#define RECORD_MEMSET         "memset_event"
#define RECORD_WAITS          "synchronization_event_batch"
#define RECORD_ALLOCATIONS    "memory_alloc_event_batch"
#define RECORD_GRAPH_LAUNCH   "graph_launch_event"
#define RECORD_SAMPLES        "profile_sample_batch"
#define RECORD_SOURCE         "source_file_content"

/** Most rows of one batch. */
#define RECORD_MAX_ROWS 2048u

#define RECORD_SCOPE_COLUMNS                                                             \
    "[\"dt_ns\",\"scope_instance_id\",\"name_id\",\"event_type\",\"depth\",\"repeat\","  \
    "\"warmup\",\"original_start_ns\"]"

/* gpu_util, mem_util, fan_speed_pct %; temp_* °C; power_mw mW; *_mib MiB; clock_* MHz;
 * energy_uj µJ and ecc_* since the driver was loaded; pcie_bw_bps bytes a second, both
 * directions. */
#define RECORD_DEVICE_COLUMNS                                                            \
    "\"dt_ns\",\"device_id\",\"gpu_util\",\"mem_util\",\"temp_c\",\"power_mw\","         \
    "\"used_mib\",\"total_mib\",\"clock_sm\",\"fan_speed_pct\",\"temp_mem_c\","          \
    "\"temp_junction_c\",\"voltage_mv\",\"energy_uj\",\"clock_mem\",\"pcie_bw_bps\","    \
    "\"ecc_corrected\",\"ecc_uncorrected\""

/* Behind them where details were asked for. throttle_reasons: bits as NVML's clocks event
 * reasons. own_*: of the recording process. nvlink_*: bytes of all links since the driver
 * was loaded. xid_count, last_xid: since the session began, -1 = none yet.
 * parent_device_id: of a MIG device the one that it is a part of, else -1. */
#define RECORD_DETAIL_COLUMNS                                                            \
    "\"throttle_reasons\",\"own_used_mib\",\"own_gpu_util\",\"nvlink_rx_bytes\","        \
    "\"nvlink_tx_bytes\",\"xid_count\",\"last_xid\",\"parent_device_id\""

/* cpu_pct_x100: percent of all cores × 100. cgroup_*: of the job's control group, -1
 * where there is none or no limit; CPU in percent of one core × 100. */
#define RECORD_HOST_COLUMNS                                                              \
    "[\"dt_ns\",\"cpu_pct_x100\",\"ram_used_mib\",\"ram_total_mib\","                    \
    "\"cgroup_cpu_pct_x100\",\"cgroup_cpu_limit_pct_x100\",\"cgroup_mem_used_mib\","     \
    "\"cgroup_mem_limit_mib\"]"

/* dyn_shared bytes; external_kind and external_id what a framework pushed for the launch.
 * detail_corr_id: the kernel_detail of this name, configuration, scope and stack; that of
 * the row's own corr_id follows where has_details is 1. scope_instance_id: the innermost
 * scope around the launch, 0 = none. */
#define RECORD_KERNEL_COLUMNS                                                            \
    "[\"dt_ns\",\"kernel_id\",\"stream_id\",\"duration_ns\",\"corr_id\","                \
    "\"dyn_shared\",\"num_regs\",\"has_details\",\"external_kind\","                     \
    "\"external_id\",\"device_id\",\"detail_corr_id\",\"scope_instance_id\"]"

#define RECORD_COPY_COLUMNS                                                              \
    "[\"dt_ns\",\"stream_id\",\"duration_ns\",\"bytes\",\"copy_kind\",\"corr_id\","      \
    "\"device_id\",\"scope_instance_id\"]"

/* function_id: the call stack in function_dict, 0 = none. */
#define RECORD_WAIT_COLUMNS                                                              \
    "[\"dt_ns\",\"duration_ns\",\"sync_type\",\"stream_id\",\"event_id\","               \
    "\"context_id\",\"corr_id\",\"function_id\"]"

/* duration_ns: of the call on its thread, 0 = not known. */
#define RECORD_ALLOCATION_COLUMNS                                                        \
    "[\"dt_ns\",\"duration_ns\",\"memory_op\",\"memory_kind\",\"address\",\"bytes\","    \
    "\"device_id\",\"stream_id\",\"corr_id\"]"

/* Samples of one instruction since the batch before, not of one launch: corr_id is 0.
 * metric_id names the stall reason in metric_dict. */
#define RECORD_SAMPLE_COLUMNS                                                            \
    "[\"dt_ns\",\"corr_id\",\"device_id\",\"function_id\",\"pc_offset\","                \
    "\"metric_id\",\"metric_value\",\"stall_reason\",\"sample_kind\","                   \
    "\"scope_name_id\",\"source_file_id\",\"source_line\"]"

#endif
