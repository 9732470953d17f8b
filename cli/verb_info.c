/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the GPUs that libgpufl sees, for people or as JSON. */
#include "cli/verb_info.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/flags.h"
#include "base/message.h"
#include "base/text.h"
#include "cli/exit_codes.h"
#include "cli/version_line.h"
#include "collector-lib/sample/gpu.h"

enum { EXIT_NO_GPU = 3 };

struct info_arguments {
    bool json;
    int device; /* -1 = all */
};

static const struct flag info_flags[] = {
    {.name = "json",
     .type = FLAG_ON,
     .field = offsetof(struct info_arguments, json),
     .help = "print one JSON object; values the driver does not report are null"},
    {.name = "device",
     .type = FLAG_NUMBER,
     .value = "N",
     .field = offsetof(struct info_arguments, device),
     .max = INT32_MAX,
     .expected = "the number of a GPU, from 0",
     .help = "show this GPU only"},
};

static const struct flag_table info_table = {
    .program = "gpufl info",
    .version = VERSION_LINE,
    .usage = "[options]",
    .about = "Shows the GPUs that libgpufl sees.",
    .notes = "Exit status: 0 shown; 2 usage error or no such device; 3 no GPU.",
    .flag = info_flags,
    .count = sizeof info_flags / sizeof info_flags[0],
};

static void put_positive(struct text *out, int64_t value)
{
    if (value > 0) {
        text_i64(out, value);
    } else {
        text_puts(out, "null");
    }
}

static void info_json(unsigned at, const struct gpu_info *info,
                      const struct gpu_sample *sample, struct text *out)
{
    text_printf(out, "%s{\"deviceId\":%u,\"name\":", out->len ? "," : "", at);
    text_json_string(out, info->name);
    text_puts(out, ",\"uuid\":");
    text_json_string(out, info->uuid);
    text_puts(out, ",\"vendor\":");
    text_json_string(out, info->vendor);
    text_puts(out, ",\"architecture\":");
    if (info->architecture[0]) {
        text_json_string(out, info->architecture);
    } else {
        text_puts(out, "null");
    }
    text_puts(out, ",\"computeCapability\":{\"major\":");
    put_positive(out, info->compute_major);
    text_printf(out,
                ",\"minor\":%d},\"memory\":{\"totalGlobalBytes\":", info->compute_minor);
    put_positive(out, sample->total_mib > 0 ? sample->total_mib << 20 : -1);
    text_puts(out, "}}");
}

static void info_line(unsigned at, const struct gpu_info *info,
                      const struct gpu_sample *sample, struct text *out)
{
    text_printf(out, "GPU %u: %s, %s", at, info->name, info->uuid);
    if (info->architecture[0]) {
        text_printf(out, ", %s", info->architecture);
    }
    if (sample->total_mib > 0) {
        text_printf(out, ", %" PRId64 " MiB", sample->total_mib);
    }
    text_puts(out, "\n");
}

static void put_devices(const struct gpu *gpu, const struct info_arguments *a,
                        struct text *out)
{
    for (unsigned i = 0; i < gpu->count; i++) {
        struct gpu_info info;
        struct gpu_sample sample;
        if (a->device >= 0 && (unsigned)a->device != i) {
            continue;
        }
        gpu->source->info(gpu->handle, i, &info);
        gpu->source->sample(gpu->handle, i, &sample);
        (a->json ? info_json : info_line)(i, &info, &sample, out);
    }
}

static int show_devices(const struct gpu *gpu, const struct info_arguments *a)
{
    struct text devices = {0};
    put_devices(gpu, a, &devices);
    text_append(&devices, "", 1); /* ends the string */
    if (devices.failed) {
        message_line("gpufl info", "out of memory");
        return EXIT_NOT_ALL;
    }
    if (a->json) {
        printf("{\"schemaVersion\":1,\"gpuflVersion\":\"" GPUFL_VERSION
               "\",\"wireVersion\":" PROTOCOL_WIRE_VERSION ",\"devices\":[%s]}\n",
               devices.data);
    } else {
        fputs(devices.data, stdout);
    }
    text_fini(&devices);
    return EXIT_ALL_DONE;
}

int verb_info(int argc, char **argv)
{
    struct flag_words words = {argv, argc};
    struct info_arguments a = {.device = -1};
    int rc = flags_read(&info_table, &words, &a);
    if (rc != FLAGS_GO_ON) {
        return rc;
    }
    struct gpu gpu =
        gpu_open(GPUFL_BACKEND_AUTO, &(struct gpu_wish){.sysfs = getenv("GPUFL_SYSFS")});
    if (gpu.count > 0 && a.device >= (int)gpu.count) {
        message_line("gpufl info", "--device: no GPU %d (there are %u, from 0)", a.device,
                     gpu.count);
        rc = EXIT_BAD_USE;
    } else {
        rc = show_devices(&gpu, &a);
    }
    if (gpu.count == 0 && rc == EXIT_ALL_DONE) {
        rc = EXIT_NO_GPU;
        fputs(a.json ? ""
                     : "gpufl info: no GPU: libnvidia-ml.so.1 is missing or its driver "
                       "does not answer, and the amdgpu driver has no card in "
                       "/sys/class/drm\n",
              stderr);
    }
    gpu_close(&gpu);
    return rc;
}
