/* SPDX-License-Identifier: Apache-2.0 */
/* gpufl info */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/json.h"
#include "cli/verbs.h"
#include "collector-lib/sample/gpu_source.h"
#include "schema/protocol.h"

static const char usage[] =
    "Usage: gpufl info [--json] [--device N]\n"
    "Shows the GPUs that libgpufl sees. What the driver does not tell is null in JSON.\n"
    "\n"
    "Exit: 0 shown; 2 wrong use or no such device; 3 no GPU.\n";

enum { EXIT_NO_GPU = 3 };

static void print_text(const char *text)
{
    if (*text) {
        json_print(text);
    } else {
        fputs("null", stdout);
    }
}

static void print_number(int64_t value)
{
    if (value > 0) {
        printf("%" PRId64, value);
    } else {
        fputs("null", stdout);
    }
}

static void print_json(unsigned at, const struct gpu_info *info,
                       const struct gpu_sample *sample)
{
    printf("{\"deviceId\":%u,\"name\":", at);
    json_print(info->name);
    fputs(",\"uuid\":", stdout);
    json_print(info->uuid);
    fputs(",\"vendor\":", stdout);
    json_print(info->vendor);
    fputs(",\"architecture\":", stdout);
    print_text(info->architecture);
    fputs(",\"computeCapability\":{\"major\":", stdout);
    print_number(info->compute_major);
    printf(",\"minor\":%d},\"memory\":{\"totalGlobalBytes\":", info->compute_minor);
    print_number(sample->total_mib > 0 ? sample->total_mib << 20 : -1);
    fputs("}}", stdout);
}

static void print_line(unsigned at, const struct gpu_info *info,
                       const struct gpu_sample *sample)
{
    printf("GPU %u: %s, %s", at, info->name, info->uuid);
    if (info->architecture[0]) {
        printf(", %s", info->architecture);
    }
    if (sample->total_mib > 0) {
        printf(", %" PRId64 " MiB", sample->total_mib);
    }
    putchar('\n');
}

static void show(const struct gpu *gpu, long only, bool json)
{
    bool first = true;
    for (unsigned i = 0; i < gpu->count; i++) {
        struct gpu_info info;
        struct gpu_sample sample;
        if (only >= 0 && (unsigned)only != i) {
            continue;
        }
        gpu->source->info(gpu->handle, i, &info);
        gpu->source->sample(gpu->handle, i, &sample);
        fputs(json && !first ? "," : "", stdout);
        first = false;
        (json ? print_json : print_line)(i, &info, &sample);
    }
}

int verb_info(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'},
                                            {"device", required_argument, NULL, 'd'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    bool json = false;
    long only = -1;
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) >= 0;) {
        char *end = NULL;
        if (c == 'j') {
            json = true;
        } else if (c == 'd') {
            only = strtol(optarg, &end, 10);
        } else {
            fputs(usage, c == 'h' ? stdout : stderr);
            return c == 'h' ? EXIT_ALL_DONE : EXIT_BAD_USE;
        }
        if (end && (*end || end == optarg || only < 0)) {
            fprintf(stderr, "gpufl info: --device %s: give a number from 0\n", optarg);
            return EXIT_BAD_USE;
        }
    }
    struct gpu gpu = gpu_open(GPUFL_BACKEND_AUTO, &(struct gpu_wish){0});
    if (gpu.count > 0 && only >= (long)gpu.count) {
        fprintf(stderr, "gpufl info: no device %ld; there are %u\n", only, gpu.count);
        gpu_close(&gpu);
        return EXIT_BAD_USE;
    }
    if (json) {
        printf("{\"schemaVersion\":1,\"gpuflVersion\":\"%s\",\"wireVersion\":%s,"
               "\"devices\":[",
               GPUFL_VERSION, PROTOCOL_WIRE_VERSION);
    }
    show(&gpu, only, json);
    fputs(json ? "]}\n" : "", stdout);
    unsigned count = gpu.count;
    gpu_close(&gpu);
    if (count == 0 && !json) {
        fputs("gpufl info: no GPU: libnvidia-ml.so.1 is missing or its driver does not "
              "answer, and the amdgpu driver has no card below /sys/class/drm\n",
              stderr);
    }
    return count ? EXIT_ALL_DONE : EXIT_NO_GPU;
}
