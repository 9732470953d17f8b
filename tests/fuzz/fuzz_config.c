/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration files and backend urls of any bytes. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/options/config.h"
#include "agent/options/option_value.h"
#include "base/duration.h"
#include "upload/http/endpoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct options options = {0};
    char why[512];
    char prefix[512];
    uint64_t ms;
    struct config_text file = {.path = "file", .text = (const char *)data, .len = size};
    if (config_parse(&file, &options, why) != GPUFL_OK && !why[0]) {
        __builtin_trap(); /* a refusal without a sentence */
    }
    option_values_free(&options);
    char *text = strndup((const char *)data, size);
    if (text) {
        struct transport_http_config config = {.backend_url = text, .api_path = text};
        if (endpoint_prefix(&config, prefix, why) == GPUFL_OK &&
            strpbrk(prefix, "\r\n ")) {
            __builtin_trap();
        }
        (void)duration_parse(text, &ms);
        free(text);
    }
    return 0;
}
