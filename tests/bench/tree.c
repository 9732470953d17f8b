/* SPDX-License-Identifier: Apache-2.0 */
/* bench-tree: session directories in the live layout, written and ended, as a job would
 * leave them. Usage: tree DIRECTORY mixed BYTES SESSIONS SEED tree DIRECTORY grown BYTES
 * SESSIONS SEED TEMPLATE.ndjson mixed: kernel batches of 1 to 200 rows, kernel details,
 * dictionaries, scopes, metric batches. grown: the template's lines again and again, each
 * time with other correlation ids. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/process_identity.h"

enum { DEVICE, SCOPE, SYSTEM, CHANNELS };

static const char *const channel_name[CHANNELS] = {"device", "scope", "system"};
/* Of a hundred bytes: a trace is mostly kernels. */
static const unsigned share[CHANNELS] = {80, 12, 8};

struct session {
    char id[37];
    FILE *file[CHANNELS];
    uint64_t ns;
    uint64_t correlation, batch;
    int kernels;
};

static uint64_t state;

static uint64_t pick(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state * 0x2545f4914f6cdd1du >> 11) % below;
}

static void fail(const char *what)
{
    fprintf(stderr, "tree: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- mixed records ---- */

static void kernel_batch(struct session *s, FILE *f)
{
    uint64_t dt = 0;
    fprintf(f,
            "{\"version\":1,\"type\":\"kernel_event_batch\",\"session_id\":\"%s\","
            "\"batch_id\":%" PRIu64 ",\"base_time_ns\":%" PRIu64
            ",\"columns\":[\"dt_ns\",\"kernel_id\",\"stream_id\",\"duration_ns\","
            "\"corr_id\",\"dyn_shared\",\"num_regs\",\"has_details\",\"external_kind\","
            "\"external_id\"],\"rows\":[",
            s->id, ++s->batch, s->ns);
    for (uint64_t rows = pick(200) + 1, i = 0; i < rows; i++) {
        uint64_t kernel = pick(pick(40) + 1);
        fprintf(f, "%s[%" PRIu64 ",%" PRIu64 ",%d,%" PRIu64 ",%" PRIu64 ",%d,%d,%d,0,0]",
                i ? "," : "", dt, kernel + 1, 7 + 6 * (int)pick(3),
                900 + kernel * 700 + pick(400), s->correlation, (int)pick(3) * 4096,
                16 + (int)kernel % 5 * 8, (int)pick(2));
        s->correlation += pick(3) + 1;
        dt += 20000 + pick(40000);
    }
    s->ns += dt;
    fputs("]}\n", f);
}

static void kernel_detail(struct session *s, FILE *f)
{
    fprintf(
        f,
        "{\"version\":1,\"type\":\"kernel_detail\",\"session_id\":\"%s\",\"pid\":590,"
        "\"app\":\"train\",\"corr_id\":%" PRIu64
        ",\"grid\":\"(%d,1,1)\",\"block\":\"(%d,1,1)\",\"static_shared\":%d,"
        "\"local_bytes\":0,\"const_bytes\":0,\"occupancy\":%.6f,\"reg_occupancy\":%.6f,"
        "\"smem_occupancy\":1.000000,\"warp_occupancy\":1.000000,"
        "\"block_occupancy\":1.000000,\"limiting_resource\":\"%s\","
        "\"max_active_blocks\":%d,\"local_mem_total_bytes\":%d,\"cache_config\":0,"
        "\"shared_mem_executed_bytes\":%d,\"user_scope\":\"\",\"stack_trace\":\"\"}\n",
        s->id, s->correlation - pick(s->correlation < 90 ? s->correlation + 1 : 90),
        1 << pick(12), 32 << pick(6), (int)pick(4) * 1024, 0.25 + 0.125 * (double)pick(6),
        0.25 + 0.125 * (double)pick(6), pick(2) ? "warps" : "registers",
        1 + (int)pick(16), (int)pick(2) * 71303168, 1024 + (int)pick(4) * 8192);
}

static void dictionary(struct session *s, FILE *f)
{
    fprintf(f,
            "{\"version\":1,\"type\":\"dictionary_update\",\"session_id\":\"%s\","
            "\"kernel_dict\":{",
            s->id);
    for (int i = 0; i < 4; i++) {
        fprintf(f,
                "%s\"%d\":\"void cutlass::Kernel<sm90_gemm_%dx%dx%d_align%d>(Params)\"",
                i ? "," : "", ++s->kernels, 64 << pick(3), 64 << pick(3), 8 << pick(3),
                1 << pick(4));
    }
    fputs("}}\n", f);
}

static void scope_batch(struct session *s, FILE *f)
{
    uint64_t dt = 0;
    fprintf(f,
            "{\"version\":3,\"type\":\"scope_event_batch\",\"session_id\":\"%s\","
            "\"batch_id\":%" PRIu64 ",\"base_time_ns\":%" PRIu64
            ",\"columns\":[\"dt_ns\",\"scope_instance_id\",\"name_id\",\"event_type\","
            "\"depth\",\"repeat\",\"warmup\",\"original_start_ns\"],\"rows\":[",
            s->id, ++s->batch, s->ns);
    for (uint64_t rows = pick(40) + 1, i = 0; i < rows; i++) {
        fprintf(f, "%s[%" PRIu64 ",%" PRIu64 ",%d,%d,%d,0,0,%" PRIu64 "]", i ? "," : "",
                dt, s->batch * 40 + i / 2, 1 + (int)pick(12), (int)(i & 1), (int)pick(4),
                s->ns + dt);
        dt += 5000 + pick(3000000);
    }
    fputs("]}\n", f);
}

static void metric_batch(struct session *s, FILE *f)
{
    fprintf(
        f,
        "{\"version\":1,\"type\":\"device_metric_batch\",\"session_id\":\"%s\","
        "\"batch_id\":%" PRIu64 ",\"base_time_ns\":%" PRIu64
        ",\"columns\":[\"dt_ns\",\"device_id\",\"gpu_util\",\"mem_util\",\"temp_c\","
        "\"power_mw\",\"used_mib\",\"total_mib\",\"clock_sm\",\"fan_speed_pct\","
        "\"temp_mem_c\",\"temp_junction_c\",\"voltage_mv\",\"energy_uj\",\"clock_mem\","
        "\"pcie_bw_bps\",\"ecc_corrected\",\"ecc_uncorrected\"],\"rows\":[",
        s->id, ++s->batch, s->ns);
    for (unsigned i = 0; i < 20; i++) {
        fprintf(f, "%s[%u,%u,%d,%d,%d,%d,%d,143771,%d,0,0,%d,0,%" PRIu64 ",3201,%d,0,0]",
                i ? "," : "", i / 2 * 100000000, i % 2, 60 + (int)pick(40),
                20 + (int)pick(30), 55 + (int)pick(9), 480000 + (int)pick(60000),
                70000 + (int)pick(400), 1905 + 15 * (int)pick(6), 55 + (int)pick(9),
                s->ns / 2 + i * 50000000, (int)pick(200) * 524288);
    }
    fputs("]}\n", f);
}

static void mixed(struct session *s, int channel)
{
    FILE *f = s->file[channel];
    if (channel == SCOPE) {
        scope_batch(s, f);
    } else if (channel == SYSTEM) {
        metric_batch(s, f);
    } else if (pick(200) == 0) {
        dictionary(s, f);
    } else if (pick(4) == 0) {
        kernel_batch(s, f);
    } else {
        kernel_detail(s, f);
    }
}

/* ---- grown records ---- */

static char *template_text;

/* One line more of the template, with its correlation id moved on. */
static void grown(struct session *s, const char **line)
{
    static const char mark[] = "\"corr_id\":";
    FILE *f = s->file[DEVICE];
    if (!**line) {
        *line = template_text;
        s->correlation += 1u << 20;
    }
    const char *end = strchr(*line, '\n') + 1;
    const char *id = memmem(*line, (size_t)(end - *line), mark, sizeof mark - 1);
    if (id) {
        char *rest;
        id += sizeof mark - 1;
        uint64_t was = strtoull(id, &rest, 10);
        fwrite(*line, 1, (size_t)(id - *line), f);
        fprintf(f, "%" PRIu64, was + s->correlation);
        fwrite(rest, 1, (size_t)(end - rest), f);
    } else {
        fwrite(*line, 1, (size_t)(end - *line), f);
    }
    *line = end;
}

/* The sample's lines become those of the session. */
static void take_template(const char *id)
{
    static const char key[] = "\"session_id\":\"";
    for (char *at = template_text; at && (at = strstr(at, key));) {
        at += sizeof key - 1;
        memcpy(at, id, strlen(id)); /* ids are all as long as this one */
    }
}

/* ---- sessions ---- */

static void open_session(struct session *s, const char *directory, unsigned number)
{
    char path[1024];
    memset(s, 0, sizeof *s);
    snprintf(s->id, sizeof s->id, "%08x-0000-4000-8000-%012llx", number,
             (unsigned long long)pick(1ull << 48));
    s->ns = 1786200000200000000u + pick(1u << 30);
    snprintf(path, sizeof path, "%s/%s", directory, s->id);
    if (mkdir(path, 0755) < 0) {
        fail(path);
    }
    snprintf(path, sizeof path, "%s/%s/.gpufl-session.lock", directory, s->id);
    FILE *lock = fopen(path, "w"); /* free: the job has ended */
    if (!lock || fclose(lock) != 0) {
        fail(path);
    }
    snprintf(path, sizeof path, "%s/%s/.gpufl-session.json", directory, s->id);
    FILE *manifest = fopen(path, "w");
    if (!manifest) {
        fail(path);
    }
    struct process_identity self;
    process_identity_read(&self);
    fprintf(manifest,
            "{\"schema_version\":1,\"layout\":\"live\",\"session_id\":\"%s\",\"pid\":1,"
            "\"boot_id\":\"%s\"}",
            s->id, self.boot_id);
    fclose(manifest);
    for (int c = 0; c < CHANNELS; c++) {
        snprintf(path, sizeof path, "%s/%s/%s.log", directory, s->id, channel_name[c]);
        s->file[c] = fopen(path, "w");
        if (!s->file[c]) {
            fail(path);
        }
        fprintf(s->file[c],
                "{\"version\":1,\"type\":\"job_start\",\"pid\":590,\"app\":\"train\","
                "\"session_id\":\"%s\",\"ts_ns\":%" PRIu64 "}\n",
                s->id, s->ns);
    }
    take_template(s->id);
}

static void close_session(struct session *s)
{
    for (int c = 0; c < CHANNELS; c++) {
        fprintf(
            s->file[c],
            "{\"type\":\"shutdown\",\"pid\":590,\"app\":\"train\",\"session_id\":\"%s\","
            "\"ts_ns\":%" PRIu64 "}\n",
            s->id, s->ns);
        if (fclose(s->file[c]) != 0) {
            fail("close");
        }
    }
}

static void read_template(const char *path)
{
    struct stat st;
    FILE *f = fopen(path, "r");
    if (!f || fstat(fileno(f), &st) < 0) {
        fail(path);
    }
    template_text = calloc(1, (size_t)st.st_size + 1);
    if (!template_text ||
        fread(template_text, 1, (size_t)st.st_size, f) != (size_t)st.st_size) {
        fail(path);
    }
    fclose(f);
}

int main(int argc, char **argv)
{
    if (argc < 6 || (argc > 6) != (strcmp(argv[2], "grown") == 0)) {
        fprintf(stderr,
                "usage: tree DIRECTORY mixed|grown BYTES SESSIONS SEED [TEMPLATE]\n");
        return 2;
    }
    uint64_t bytes = strtoull(argv[3], NULL, 10);
    unsigned sessions = (unsigned)strtoul(argv[4], NULL, 10);
    state = strtoull(argv[5], NULL, 10) * 2 + 1;
    if (argc > 6) {
        read_template(argv[6]);
    }
    for (unsigned i = 0; i < sessions; i++) {
        struct session s;
        open_session(&s, argv[1], i);
        const char *line = template_text;
        for (int c = 0; c < CHANNELS; c++) {
            uint64_t want =
                bytes / sessions * (line ? (c == DEVICE ? 100 : 0) : share[c]) / 100;
            while ((uint64_t)ftell(s.file[c]) < want) {
                if (line) {
                    grown(&s, &line);
                } else {
                    mixed(&s, c);
                }
            }
        }
        close_session(&s);
    }
    return 0;
}
