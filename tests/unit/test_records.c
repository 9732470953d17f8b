/* SPDX-License-Identifier: Apache-2.0 */
/* Each record that we write, byte for byte as in schema/golden/. After a deliberate
 * change `GOLDEN=write build/release/tests/unit/test_records` writes the files anew. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector-lib/records.h"

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
     .compute_major = 9},
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
    {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
};

static const struct host host = {.hostname = "node-3", .ip_addr = "10.1.4.27"};
static const struct host_sample host_sample = {.cpu_pct_x100 = 1250,
                                               .ram_used_mib = 18231,
                                               .ram_total_mib = 257421,
                                               .cgroup = {7500, 40000, 812, 4096}};
static const struct record_state state = {.host = &host,
                                          .host_sample = {1250, 18231, 257421, {0}},
                                          .gpus = 2,
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
    record_job_start(&text, &context, &state, 5 * SECOND_NS);
    is_golden("job_start", &text);
    record_shutdown(&text, &context, 9 * SECOND_NS);
    is_golden("shutdown", &text);
    record_system_mark(&text, &context, &state, true, "load\tdata", 6 * SECOND_NS);
    is_golden("system_start", &text);
    record_system_mark(&text, &context, &state, false, "load\tdata", 7 * SECOND_NS);
    is_golden("system_stop", &text);
}

static void what_was_collected(void **unused)
{
    (void)unused;
    struct text text = {0};
    struct settings settings = {
        .engine = GPUFL_ENGINE_TRACE, .synchronization = true, .source_collection = true};
    record_capabilities(&text, &context, &settings, 0, 8 * SECOND_NS);
    record_capabilities(&text, &context, &settings, 17, 8 * SECOND_NS);
    is_golden("capture_capabilities", &text);
}

static void names_of_scopes(void **unused)
{
    (void)unused;
    struct text text = {0};
    struct names *names = calloc(1, sizeof *names);
    names->name[1] = "step";
    names->name[2] = "\xc3\xa9poque \"1\"\\\n\x01\xff";
    record_dictionary(&text, &context, names, 0, 2);
    record_dictionary(&text, &context, names, 2, 2); /* nothing new: no line */
    is_golden("dictionary_update", &text);
    free(names);
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
    record_device_metrics(&text, &context, row, 3, 7);
    is_golden("device_metric_batch", &text);
    record_host_metrics(&text, &context, &host, row, 3, 7);
    is_golden("host_metric_batch", &text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lifecycle_records), cmocka_unit_test(what_was_collected),
        cmocka_unit_test(names_of_scopes),   cmocka_unit_test(rows_of_scopes),
        cmocka_unit_test(rows_of_metrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
