/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and classifies the names of the directory protocol. */
#include "schema/layout.h"

#include <stdio.h>
#include <string.h>

#define SIDECAR_PREFIX ".gpufl-window."
#define LOSS_PREFIX    ".gpufl-transport-loss."
#define NEXT_PREFIX    ".gpufl-next."

static bool word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '-';
}

bool layout_name_ok(const char *name)
{
    size_t len = strnlen(name, LAYOUT_NAME_MAX + 1);
    if (len == 0 || len > LAYOUT_NAME_MAX || name[0] == '.') {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (!word_char(name[i]) && name[i] != '.') {
            return false;
        }
    }
    return true;
}

static bool channel_ok(const char *name, size_t len)
{
    if (len == 0 || len > LAYOUT_CHANNEL_MAX) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (!word_char(name[i])) {
            return false;
        }
    }
    return true;
}

bool layout_channel_ok(const char *name)
{
    return channel_ok(name, strnlen(name, LAYOUT_CHANNEL_MAX + 1));
}

/* A window number: decimal, no leading zero, at most 9 digits so that +1 never wraps. */
static bool parse_number(const char *text, size_t len, uint32_t *out)
{
    if (len == 0 || len > 9 || text[0] == '0') {
        return false;
    }
    uint32_t value = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        value = value * 10 + (uint32_t)(text[i] - '0');
    }
    *out = value;
    return true;
}

/* Splits `<channel>` or `<channel>.<number>`; a channel holds no dot. */
static bool parse_stem(const char *stem, size_t len, struct layout_name *out)
{
    const char *dot = memchr(stem, '.', len);
    size_t channel_len = dot ? (size_t)(dot - stem) : len;
    if (!channel_ok(stem, channel_len)) {
        return false;
    }
    out->number = 0;
    if (dot && !parse_number(dot + 1, len - channel_len - 1, &out->number)) {
        return false;
    }
    memcpy(out->channel, stem, channel_len);
    out->channel[channel_len] = '\0';
    return true;
}

static bool strip_suffix(const char *name, size_t *len, const char *suffix)
{
    size_t n = strlen(suffix);
    if (*len <= n || memcmp(name + *len - n, suffix, n) != 0) {
        return false;
    }
    *len -= n;
    return true;
}

size_t layout_log_dir_len(const char *path)
{
    size_t len = strlen(path);
    strip_suffix(path, &len, ".log");
    return len;
}

/* Splits `<prefix><channel>.<number>`, of which the first \p len bytes of \p name are. */
static bool parse_prefixed(const char *name, size_t len, const char *prefix,
                           struct layout_name *out)
{
    size_t n = strlen(prefix);
    return len > n && strncmp(name, prefix, n) == 0 &&
           parse_stem(name + n, len - n, out) && out->number > 0;
}

static struct layout_name parse_dotted(const char *name)
{
    struct layout_name out = {.kind = LAYOUT_OTHER};
    size_t len = strlen(name);
    if (strcmp(name, LAYOUT_MANIFEST) == 0) {
        out.kind = LAYOUT_IS_MANIFEST;
    } else if (strcmp(name, LAYOUT_LOCK) == 0) {
        out.kind = LAYOUT_IS_LOCK;
    } else if (strcmp(name, LAYOUT_TMP_DIR) == 0) {
        out.kind = LAYOUT_IS_TMP;
    } else if (strcmp(name, LAYOUT_UPLOADED) == 0) {
        out.kind = LAYOUT_IS_UPLOADED;
    } else if (strncmp(name, LOSS_PREFIX, sizeof LOSS_PREFIX - 1) == 0) {
        out.kind = LAYOUT_LOSS;
    } else if (parse_prefixed(name, len, NEXT_PREFIX, &out)) {
        out.kind = LAYOUT_NEXT;
    } else if (strip_suffix(name, &len, ".json") &&
               parse_prefixed(name, len, SIDECAR_PREFIX, &out)) {
        out.kind = LAYOUT_SIDECAR;
    }
    return out;
}

struct layout_name layout_parse(const char *name)
{
    if (name[0] == '.') {
        return parse_dotted(name);
    }
    struct layout_name out = {.kind = LAYOUT_OTHER};
    size_t len = strnlen(name, LAYOUT_NAME_MAX + 1);
    if (len > LAYOUT_NAME_MAX) {
        return out;
    }
    out.gz = strip_suffix(name, &len, ".gz");
    if (strip_suffix(name, &len, ".log") && parse_stem(name, len, &out)) {
        out.kind = out.number > 0 ? LAYOUT_NUMBERED : LAYOUT_ACTIVE;
    }
    return out;
}

void layout_active(char out[LAYOUT_PATH_MAX], const char *channel, bool gz)
{
    snprintf(out, LAYOUT_PATH_MAX, "%s.log%s", channel, gz ? ".gz" : "");
}

void layout_numbered(char out[LAYOUT_PATH_MAX], const char *channel, uint32_t number,
                     bool gz)
{
    snprintf(out, LAYOUT_PATH_MAX, "%s.%u.log%s", channel, number, gz ? ".gz" : "");
}

void layout_loss(char out[LAYOUT_PATH_MAX], const char *category, uint32_t index)
{
    snprintf(out, LAYOUT_PATH_MAX, LOSS_PREFIX "%s.%u.json", category, index);
}

void layout_ack(char out[LAYOUT_PATH_MAX], const char *channel, uint32_t number)
{
    snprintf(out, LAYOUT_PATH_MAX, ".gpufl-window-ack.%s.%u", channel, number);
}

void layout_next(char out[LAYOUT_PATH_MAX], const char *channel, uint32_t number)
{
    snprintf(out, LAYOUT_PATH_MAX, NEXT_PREFIX "%s.%u", channel, number);
}

void layout_beside(char out[LAYOUT_SESSION_PATH_MAX], const char *path, const char *id)
{
    const char *slash = strrchr(path, '/');
    snprintf(out, LAYOUT_SESSION_PATH_MAX, "%.*s%s", slash ? (int)(slash + 1 - path) : 0,
             path, id);
}

void layout_sidecar(char out[LAYOUT_PATH_MAX], const char *channel, uint32_t number)
{
    snprintf(out, LAYOUT_PATH_MAX, SIDECAR_PREFIX "%s.%u.json", channel, number);
}

void layout_lock_file(char out[LAYOUT_LOCK_FILE_TEXT], uint64_t device, uint64_t inode)
{
    snprintf(out, LAYOUT_LOCK_FILE_TEXT, "%llu:%llu", (unsigned long long)device,
             (unsigned long long)inode);
}
