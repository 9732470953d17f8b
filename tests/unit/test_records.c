/* SPDX-License-Identifier: Apache-2.0 */
/* Each record that we write, byte for byte as in schema/golden/. After a deliberate
 * change `GOLDEN=write build/release/tests/unit/test_records` writes the files anew. */
#include "tests/support/check.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector-lib/trace/trace_log.h"
#include "collector-lib/trace/trace_records.h"
#include "collector-lib/trace/tracing.h"
#include "collector-lib/writer/capabilities.h"
#include "collector-lib/writer/metric_records.h"
#include "collector-lib/writer/scope_records.h"
#include "collector-lib/writer/session_records.h"

#define SECOND_NS 1000000000ll

static const struct pod no_pod;
static const struct record_context context = {
    .pod = &no_pod,
    .session_id = "7d1e9c52-3a64-4f0b-9a2e-5c8b1f6d0e37",
    .app = "resnet \"50\"",
    .log_path = "logs",
    .pid = 4242,
    .anchor_ns = 1790000000 * SECOND_NS,
};

static const struct gpu_info info[2] = {
    {.name = "NVIDIA H200",
     .uuid = "GPU-11111111-2222-3333-4444-555555555555",
     .vendor = "NVIDIA",
     .architecture = "sm_90",
     .pci_bus = 27,
     .compute_major = 9,
     .multi_processors = 132,
     .warp_size = 32},
    {.name = "AMD Instinct MI300X OAM",
     .uuid = "3f1c5a7e9b2d4c68",
     .vendor = "AMD",
     .architecture = "gfx942",
     .pci_bus = 195,
     .compute_major = 9,
     .compute_minor = 4,
     .multi_processors = 304,
     .warp_size = 64},
};

static const struct gpu_sample sample[2] = {
    {.gpu_util_pct = 87,
     .mem_util_pct = 41,
     .temp_c = 61,
     .power_mw = 512340,
     .used_mib = 70211,
     .free_mib = 73560,
     .total_mib = 143771,
     .clock_gfx_mhz = 1980,
     .clock_sm_mhz = 1965,
     .clock_mem_mhz = 3201,
     .throttle_power = 1,
     .throttle_thermal = 0,
     .fan_pct = -1,
     .temp_mem_c = 55,
     .temp_junction_c = 61,
     .voltage_mv = -1,
     .energy_uj = 912345678000,
     .pcie_rx_bps = 104857600,
     .pcie_tx_bps = 2048,
     .ecc_corrected = 3,
     .ecc_uncorrected = 0},
    {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
     -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
};

static const struct host host = {.hostname = "node-3", .ip_addr = "10.1.4.27"};
static const struct host_sample host_sample = {.cpu_pct_x100 = 1250,
                                               .ram_used_mib = 18231,
                                               .ram_total_mib = 257421,
                                               .cgroup = {7500, 40000, 812, 4096}};
static const struct record_state state = {.host = &host,
                                          .host_sample = {1250, 18231, 257421, {0}},
                                          .gpus = 2,
                                          .id = (const unsigned[]){0, 1},
                                          .info = info,
                                          .sample = sample};

/* The file's text, or "" when there is none. */
static char *read_golden(const char *path)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) {
        fclose(file);
    }
    text[n] = '\0';
    return text;
}

static void is_golden(const char *type, struct text *text)
{
    char path[128];
    const char *mode = getenv("GOLDEN");
    snprintf(path, sizeof path, "schema/golden/%s.ndjson", type);
    text_append(text, "", 1);
    assert_false(text->failed);
    if (mode && strcmp(mode, "write") == 0) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(text->data, file);
        fclose(file);
    }
    assert_string_equal(text->data, read_golden(path));
    text_fini(text);
}

static void lifecycle_records(void **unused)
{
    (void)unused;
    struct text text = {0};
    struct text devices_and_host = {0};
    record_job_start(&text, &context, &state, GPUFL_ENGINE_MONITOR, 5 * SECOND_NS);
    struct text start = {0};
    text_join(&start, &text);
    record_job_start_repeated(&text, &start);
    text_fini(&start);
    is_golden("job_start", &text);
    record_shutdown(&text, &context, 9 * SECOND_NS);
    is_golden("shutdown", &text);
    record_mark_state(&devices_and_host, &state);
    record_system_mark(&text, &context, &devices_and_host, true, "load\tdata",
                       6 * SECOND_NS);
    is_golden("system_start", &text);
    record_system_mark(&text, &context, &devices_and_host, false, "load\tdata",
                       7 * SECOND_NS);
    is_golden("system_stop", &text);
    text_fini(&devices_and_host);
}

static void what_was_collected(void **unused)
{
    (void)unused;
    struct text text = {0};
    struct settings settings = {
        .engine = GPUFL_ENGINE_TRACE, .synchronization = true, .source_collection = true};
    static struct tracing none = {.profiler.why = "libcupti.so was not found"};
    static struct tracing traced = {
        .profiler.runs = GPUFL_ENGINE_PC_SAMPLING,
        .log = {.kernels = 5, .waits = 1, .files = 2, .files_cut = 1},
        .status = {.dropped = 3,
                   .incomplete = 1,
                   .buffers_unread = 1,
                   .fetches_failed = 2,
                   .fetch_why = "CUPTI refused to return records: CUPTI_ERROR_UNKNOWN",
                   .samples = 70,
                   .samples_dropped = 2,
                   .refused_why = {[TRACER_COPIES] = "CUPTI refused memory copy records: "
                                                     "CUPTI_ERROR_NOT_COMPATIBLE"}}};
    struct losses losses = {0};
    record_capabilities(&text, &context, &settings, &none, &losses, 8 * SECOND_NS);
    losses.count[LOSS_SCOPES] = 16;
    losses.count[LOSS_CALLS] = 1;
    losses.count[LOSS_SCOPE_PATHS] = 2;
    losses.count[LOSS_FORGOTTEN] = 1;
    record_capabilities(&text, &context, &settings, &none, &losses, 8 * SECOND_NS);
    losses = (struct losses){.count = {[LOSS_WAITS] = 4,
                                       [LOSS_RECORDS] = 4,
                                       [LOSS_LAUNCHES] = 30,
                                       [LOSS_FETCHES] = 2,
                                       [LOSS_BUFFERS] = 1,
                                       [LOSS_SOURCES] = 1}};
    settings.engine = GPUFL_ENGINE_PC_SAMPLING;
    record_capabilities(&text, &context, &settings, &traced, &losses, 8 * SECOND_NS);
    is_golden("capture_capabilities", &text);
}

static void names_of_scopes(void **unused)
{
    (void)unused;
    struct text text = {0};
    const char *name[3] = {NULL, "step", "\xc3\xa9poque \"1\"\\\n\x01\xff"};
    const char *kernel[2] = {NULL, "void gemm<float>(float const*, int)"};
    struct dictionary_part part[2] = {{"scope_name_dict", name, 0, 2, NULL},
                                      {"kernel_dict", kernel, 1, 1, NULL}};
    record_dictionary(&text, &context, part, 2);
    part[0].from = 2;
    record_dictionary(&text, &context, part, 2); /* nothing new: no line */
    part[1].from = 0;
    record_dictionary(&text, &context, part, 2);
    is_golden("dictionary_update", &text);
}

static void long_dictionaries_are_lines_below_1_mib(void **unused)
{
    (void)unused;
    struct text text = {0};
    enum { NAMES = 40 };
    const char *name[NAMES + 1] = {NULL};
    for (size_t i = 1; i <= NAMES; i++) { /* control characters take six bytes each */
        size_t len = i == NAMES ? 9 << 20 : 60000;
        char *made = malloc(len + 1);
        memset(made, '\1', len);
        made[len] = '\0';
        name[i] = made;
    }
    struct dictionary_part part = {"scope_name_dict", name, 0, NAMES, NULL};
    record_dictionary(&text, &context, &part, 1);
    assert_true(text.len > (NAMES - 1) * 360000u);
    size_t lines = 0;
    for (char *at = text.data, *end; at < text.data + text.len; at = end + 1, lines++) {
        end = memchr(at, '\n', (size_t)(text.data + text.len - at));
        assert_true(end - at < 1 << 20);
        *end = '\0';
        struct json_object *line = json_tokener_parse(at);
        assert_non_null(line);
        json_object_put(line);
    }
    assert_true(lines > NAMES / 2 / 2);
    assert_non_null(strstr(text.data + text.len - 20, "\xe2\x80\xa6\"}}"));
    for (size_t i = 1; i <= NAMES; i++) {
        free((char *)(uintptr_t)name[i]);
    }
    text_fini(&text);
}

static void rows_of_scopes(void **unused)
{
    (void)unused;
    struct text text = {0};
    uint64_t batch_id = 0;
    struct row row[4] = {
        {.mono_ns = SECOND_NS, .instance = (1ull << 36) + 1, .name_id = 1},
        {.mono_ns = SECOND_NS + 20, .kind = ROW_SYSTEM_START},
        {.mono_ns = SECOND_NS + 40,
         .instance = (1ull << 36) + 2,
         .name_id = 2,
         .depth = 1},
        {.mono_ns = 3 * SECOND_NS,
         .instance = (1ull << 36) + 2,
         .name_id = 2,
         .depth = 1,
         .kind = ROW_SCOPE_END},
    };
    struct row_list rows = {.row = row, .count = 4};
    record_scopes(&text, &context, &rows, &batch_id);
    is_golden("scope_event_batch", &text);
}

static void rows_of_metrics(void **unused)
{
    (void)unused;
    struct text text = {0};
    struct metric_row row[3] = {
        {.mono_ns = SECOND_NS, .device = 0, .gpu = sample[0], .host = host_sample},
        {.mono_ns = SECOND_NS, .device = 1, .gpu = sample[1], .host = host_sample},
        {.mono_ns = 2 * SECOND_NS, .device = 0, .gpu = sample[0], .host = host_sample},
    };
    row[1].host.cgroup = (struct cgroup_sample){-1, -1, -1, -1};
    record_device_metrics(&text, &context, row, 3, 7, false);
    row[1].parent = -1;
    row[2].parent = 1;
    row[2].gpu.throttle_reasons = 0x24;
    row[2].gpu.own_used_mib = 512;
    row[2].gpu.own_util_pct = 61;
    row[2].gpu.nvlink_rx_bytes = 1ll << 40;
    row[2].gpu.nvlink_tx_bytes = 1ll << 41;
    row[2].gpu.xid_count = 1;
    row[2].gpu.last_xid = 79;
    record_device_metrics(&text, &context, row + 1, 2, 8, true);
    is_golden("device_metric_batch", &text);
    record_host_metrics(&text, &context, &host, row, 3, 7);
    is_golden("host_metric_batch", &text);
}

/* ---- what a tracer tells ---- */

static const struct trace_kernel gemm = {.start_ns = SECOND_NS,
                                         .end_ns = SECOND_NS + 20480,
                                         .symbol = "_Z4gemmIfEvPKT_i",
                                         .correlation = 7001,
                                         .device = 1,
                                         .context = 3,
                                         .stream = 13,
                                         .grid = {64, 2, 1},
                                         .block = {128, 1, 1},
                                         .registers = 96,
                                         .static_shared_bytes = 512,
                                         .dynamic_shared_bytes = 2048,
                                         .local_thread_bytes = 16,
                                         .local_total_bytes = 155713536,
                                         .shared_executed_bytes = 65536,
                                         .cache_executed = 3};
static const struct trace_device h200 = {.uuid =
                                             "GPU-22222222-0000-4000-8000-000000000001",
                                         .name = "NVIDIA H200",
                                         .multi_processors = 132,
                                         .l2_bytes = 62914560,
                                         .memory_clock_khz = 3201000,
                                         .memory_bus_bits = 6144,
                                         .threads_per_warp = 32,
                                         .warps_per_sm = 64,
                                         .blocks_per_sm = 32,
                                         .registers_per_sm = 65536,
                                         .registers_per_block = 65536,
                                         .shared_per_sm_bytes = 233472,
                                         .compute_major = 9};

static void describe(uint32_t number, struct trace_device *out)
{
    *out = h200;
    out->uuid[strlen(out->uuid) - 1] = (char)('0' + number);
    out->shared_per_block_bytes = number ? 49152 : 0;
}

/* As after the devices of job_start: device 1 of the tracer is device 0 here. */
static struct device_table devices;

static void open_log(struct trace_log *log, struct name_times *times)
{
    devices = (struct device_table){.count = 0};
    device_table_id(&devices, "GPU-22222222-0000-4000-8000-000000000001");
    device_table_id(&devices, "GPU-22222222-0000-4000-8000-000000000000");
    log->devices = (struct trace_devices){.table = &devices, .describe = describe};
    assert_true(trace_log_init(log, &context, times, NULL));
}

static struct name_times kernel_times;

static char *find_detail(const struct text *lines)
{
    static const char begin[] = "{\"version\":1,\"type\":\"kernel_detail\"";
    return memmem(lines->data, lines->len, begin, sizeof begin - 1);
}

/* The first launch in a scope, two like it in none: two details. */
static void a_traced_session(void **unused)
{
    (void)unused;
    struct trace_log log = {0};
    open_log(&log, &kernel_times);
    struct tracer_sink sink = trace_log_sink(&log);
    uint32_t path = launches_path_below(&log.launches, 0, "step");
    launches_call(&log.launches,
                  &(struct row){.instance = 5, .name_id = 7001, .depth = 1}, path);
    struct trace_kernel again = gemm, outside = gemm;
    again.correlation = 7002; /* in no scope, so that its detail is another */
    again.start_ns -= 512;
    outside.correlation = 7003;
    launches_call(&log.launches,
                  &(struct row){.name_id = 7003, .type = 3, .value = UINT64_MAX}, 0);
    sink.kernel(sink.arg, &gemm);
    sink.kernel(sink.arg, &again);
    sink.kernel(sink.arg, &outside);
    trace_log_finish(&log);
    char *detail = find_detail(&log.device_lines);
    char *kernels = strchr(log.device_lines.data, '\n') + 1;
    struct text device = {0}, batch = {0}, details = {0};
    text_append(&device, log.device_lines.data,
                (size_t)(kernels - log.device_lines.data));
    text_append(&batch, kernels, (size_t)(detail - kernels));
    text_append(&details, detail,
                log.device_lines.len - (size_t)(detail - log.device_lines.data));
    text_clear(&log.device_lines);
    sink.kernel(sink.arg, &outside);
    trace_log_finish(&log);
    assert_null(find_detail(&log.device_lines)); /* it was said */
    text_clear(&log.device_lines);
    trace_log_rewind(&log);
    sink.kernel(sink.arg, &outside);
    trace_log_finish(&log);
    assert_non_null(find_detail(&log.device_lines)); /* and lost */
    is_golden("device_properties", &device);
    is_golden("kernel_event_batch", &batch);
    is_golden("kernel_detail", &details);
    trace_log_fini(&log);
}

static void the_rest_of_a_trace(void **unused)
{
    (void)unused;
    static const char *const type[] = {
        "memcpy_event_batch",       "memset_event_batch", "synchronization_event_batch",
        "memory_alloc_event_batch", "graph_launch_event", "profile_sample_batch"};
    for (unsigned i = 0; i < sizeof type / sizeof type[0]; i++) {
        struct trace_log log = {0};
        open_log(&log, &kernel_times);
        trace_devices_find(&log.devices, 1)->written = true;
        struct tracer_sink s = trace_log_sink(&log);
        switch (i) {
        case 0:
            s.copy(s.arg, &(struct trace_copy){SECOND_NS, SECOND_NS + 84000, 1 << 20, 902,
                                               1, 3, 7, 1});
            break;
        case 1:
            s.set(s.arg,
                  &(struct trace_set){SECOND_NS, SECOND_NS + 2000, 4096, 904, 1, 7});
            break;
        case 2:
            trace_log_row(&log,
                          &(struct row){.mono_ns = 2 * SECOND_NS,
                                        .value = SECOND_NS,
                                        .type = 3,
                                        .name_id = 905,
                                        .context = 1,
                                        .stream = 7,
                                        .event = UINT32_MAX,
                                        .kind = ROW_WAIT},
                          0);
            break;
        case 3:
            s.memory(s.arg, &(struct trace_memory){SECOND_NS, 51200, 1, 3,
                                                   139872450379776, 1 << 26, 880, 1, 7});
            break;
        case 4:
            s.graph(s.arg,
                    &(struct trace_graph){SECOND_NS, SECOND_NS + 3000000, 930, 1, 7, 5});
            break;
        default:
            s.sample(s.arg,
                     &(struct trace_sample){SECOND_NS, gemm.symbol, "/src/gemm.cu", 44,
                                            352, 1, 14, "long_scoreboard", 17});
            break;
        }
        trace_log_finish(&log);
        struct text *lines = log.device_lines.len ? &log.device_lines : &log.scope_lines;
        struct text copy = {0};
        text_append(&copy, lines->data, lines->len);
        is_golden(type[i], &copy);
        trace_log_fini(&log);
    }
}

/* Or a line would lack them. */
static void rows_that_find_no_memory_fail_their_lines(void **unused)
{
    (void)unused;
    for (int behind = 0; behind < 2; behind++) {
        struct trace_log log = {0};
        open_log(&log, &kernel_times);
        struct tracer_sink s = trace_log_sink(&log);
        s.kernel(s.arg, &gemm);
        struct text *part = behind ? &log.kernel.behind : &log.kernel.rows;
        part->failed = true;
        trace_log_finish(&log);
        assert_true(log.device_lines.failed);
        trace_log_fini(&log);
    }
}

/* Those of functions with one name too many, and of a line in a file without a name. */
static void samples_without_a_name_are_counted(void **unused)
{
    (void)unused;
    struct trace_log log = {0};
    open_log(&log, &kernel_times);
    struct tracer_sink s = trace_log_sink(&log);
    char symbol[16];
    struct trace_sample taken = {SECOND_NS, symbol, "/src/gemm.cu",    44, 352,
                                 1,         14,     "long_scoreboard", 17};
    for (unsigned i = 0; i < NAMES_MAX + 9; i++) {
        snprintf(symbol, sizeof symbol, "f%u", i);
        s.sample(s.arg, &taken);
        assert_int_equal(log.samples_unnamed,
                         17 * (uint64_t)(i + 1 < NAMES_MAX ? 0 : i + 2 - NAMES_MAX));
    }
    uint64_t before = log.samples_unnamed;
    snprintf(symbol, sizeof symbol, "f1");
    taken.file = NULL;
    s.sample(s.arg, &taken);
    assert_int_equal(log.samples_unnamed, before + 17);
    taken.line = 0; /* whose module has no lines */
    s.sample(s.arg, &taken);
    assert_int_equal(log.samples_unnamed, before + 17);
    trace_log_fini(&log);
}

static void the_text_of_a_source_file(void **unused)
{
    (void)unused;
    struct text text = {0};
    static const char source[] =
        "__global__ void k(float *x)\n{\n\n    x[0] = \"1\"[0];\n}";
    record_source(&text, &context, 1, source, sizeof source - 1);
    is_golden("source_file_content", &text);
    name_times_fini(&kernel_times);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lifecycle_records),
        cmocka_unit_test(what_was_collected),
        cmocka_unit_test(names_of_scopes),
        cmocka_unit_test(long_dictionaries_are_lines_below_1_mib),
        cmocka_unit_test(rows_of_scopes),
        cmocka_unit_test(rows_of_metrics),
        cmocka_unit_test(a_traced_session),
        cmocka_unit_test(the_rest_of_a_trace),
        cmocka_unit_test(rows_that_find_no_memory_fail_their_lines),
        cmocka_unit_test(samples_without_a_name_are_counted),
        cmocka_unit_test(the_text_of_a_source_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
