/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the agent's endpoint, and its log lines as JSON. */
#include <assert.h>
#include <json-c/json.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/listen_request.h"
#include "agent/log_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = '\0';
    listen_request(text, size);
    if (strlen(text) < 1024) {
        struct text out = {0};
        for (char *c = text; *c; c++) { /* as log_line leaves no control character */
            *c = (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c;
        }
        log_json(text, 1786200000123, &out);
        assert(!out.failed && out.len <= LOG_JSON_MAX);
        struct json_tokener *tokener = json_tokener_new();
        json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
        struct json_object *line = json_tokener_parse_ex(tokener, out.data, (int)out.len);
        assert(line);
        json_object_put(line);
        json_tokener_free(tokener);
        text_fini(&out);
    }
    free(text);
    return 0;
}
