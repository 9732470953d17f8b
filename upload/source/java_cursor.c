/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the cursor file of the JVM agent. */
#include "upload/source/java_cursor.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json_text.h"
#include "base/named_file.h"
#include "schema/layout.h"

#define CURSOR_MAX_BYTES      (16 << 20)
#define CURSOR_MAX_TREE_BYTES (64u << 20)
#define CURSOR_DEPTH          8

/* What an agent that had sent nothing yet leaves. */
static bool cursor_says_nothing(const char *text, size_t len, struct json_object *root)
{
    size_t blanks = 0;
    while (blanks < len && text[blanks] && strchr(" \t\r\n", text[blanks])) {
        blanks++;
    }
    return blanks == len || (json_object_is_type(root, json_type_object) &&
                             json_object_object_length(root) == 0);
}

struct java_cursor {
    struct json_object *root;
    struct json_object *streams; /* borrowed of root */
};

gpufl_status java_cursor_parse(const char *text, size_t len, struct java_cursor **out)
{
    *out = NULL;
    if (json_tree_bytes(text, len) > CURSOR_MAX_TREE_BYTES) {
        return GPUFL_ERR_FORMAT;
    }
    struct json_tokener *tokener = json_tokener_new_ex(CURSOR_DEPTH);
    struct java_cursor *cursor = calloc(1, sizeof *cursor);
    if (!tokener || !cursor || len > INT32_MAX) {
        json_tokener_free(tokener);
        free(cursor);
        return GPUFL_ERR_NOMEM;
    }
    cursor->root = json_tokener_parse_ex(tokener, text, (int)len);
    json_tokener_free(tokener);
    if (cursor_says_nothing(text, len, cursor->root)) {
        java_cursor_close(cursor);
        return GPUFL_ERR_NOT_FOUND;
    }
    if (!json_object_object_get_ex(cursor->root, "streams", &cursor->streams) ||
        !json_object_is_type(cursor->streams, json_type_object)) {
        java_cursor_close(cursor);
        return GPUFL_ERR_FORMAT;
    }
    *out = cursor;
    return GPUFL_OK;
}

/* \return the size of a file that is not too large; -1 otherwise. */
static ssize_t java_cursor_size(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_size <= CURSOR_MAX_BYTES ? (ssize_t)st.st_size
                                                                 : -1;
}

gpufl_status java_cursor_open(const char *path, struct java_cursor **out,
                              const char **fault)
{
    *out = NULL;
    int fd = named_file_open(path, fault);
    if (fd < 0) {
        return errno == EINVAL   ? GPUFL_ERR_USAGE
               : errno == ENOENT ? GPUFL_ERR_NOT_FOUND
                                 : GPUFL_ERR_IO;
    }
    ssize_t size = java_cursor_size(fd);
    char *text = size >= 0 ? malloc((size_t)size + 1) : NULL;
    ssize_t len = text ? file_pread_full(&sys_real, fd, text, (size_t)size, 0) : 0;
    gpufl_status status = size < 0  ? GPUFL_ERR_FORMAT
                          : !text   ? GPUFL_ERR_NOMEM
                          : len < 0 ? GPUFL_ERR_IO
                                    : java_cursor_parse(text, (size_t)len, out);
    close(fd);
    free(text);
    *fault = gpufl_status_text(status);
    return status;
}

/* An integer in [0, max]; false otherwise. */
static bool get_number(struct json_object *entry, const char *key, int64_t max,
                       int64_t *out)
{
    struct json_object *value;
    if (!json_object_object_get_ex(entry, key, &value) ||
        !json_object_is_type(value, json_type_int)) {
        return false;
    }
    *out = json_object_get_int64(value);
    return *out >= 0 && *out <= max;
}

bool java_cursor_find(const struct java_cursor *cursor, const char *session,
                      const char *channel, struct java_position *out)
{
    char key[LAYOUT_NAME_MAX + LAYOUT_CHANNEL_MAX + 2];
    struct json_object *entry;
    int64_t file;
    int64_t offset;
    int64_t head = 0;
    if (!cursor) {
        return false;
    }
    snprintf(key, sizeof key, "%s.%s", session, channel);
    if (!json_object_object_get_ex(cursor->streams, key, &entry) ||
        !json_object_is_type(entry, json_type_object) ||
        !get_number(entry, "fileIndex", 999999999, &file) ||
        !get_number(entry, "offset", INT64_MAX, &offset)) {
        return false;
    }
    if (!get_number(entry, "headSig", UINT32_MAX, &head)) {
        head = 0;
    }
    *out = (struct java_position){.file_index = (uint32_t)file,
                                  .offset = (uint64_t)offset,
                                  .head_crc = (uint32_t)head};
    return true;
}

void java_cursor_close(struct java_cursor *cursor)
{
    if (cursor) {
        json_object_put(cursor->root);
        free(cursor);
    }
}
