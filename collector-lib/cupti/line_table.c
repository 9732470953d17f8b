/* SPDX-License-Identifier: Apache-2.0 */
/* Looking a line up decodes a part of the module: each instruction is asked for once. */
#include "collector-lib/cupti/line_table.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector-lib/cupti/cupti_api.h"

#define CUBINS_MAX       4096u
#define CUBINS_MAX_BYTES (128u << 20)
#define FILES_MAX        4096u
#define CACHE_SLOTS      65536u

static struct {
    pthread_mutex_t lock;
    struct {
        uint64_t crc;
        char *bytes;
        size_t size;
    } cubin[CUBINS_MAX];
    size_t cubins, cubin_bytes;
    uint64_t dropped;
    char *file[FILES_MAX];
    size_t files;
    struct cached {
        uint64_t crc, pc_offset;
        const char *function;
        struct source_line line;
        bool known;    /* its module */
        size_t cubins; /* else as many as were there: it may have come since */
    } * cache;
} lines = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Its place, or lines.cubins. */
static size_t find_cubin(uint64_t crc)
{
    size_t i = 0;
    while (i < lines.cubins && lines.cubin[i].crc != crc) {
        i++;
    }
    return i;
}

static void keep_cubin(uint64_t crc, const char *cubin, size_t size)
{
    bool room = lines.cubins < CUBINS_MAX && size <= CUBINS_MAX_BYTES - lines.cubin_bytes;
    char *copy = room ? malloc(size) : NULL;
    if (!copy) {
        lines.dropped++;
        return;
    }
    memcpy(copy, cubin, size);
    lines.cubin[lines.cubins].crc = crc;
    lines.cubin[lines.cubins].bytes = copy;
    lines.cubin[lines.cubins++].size = size;
    lines.cubin_bytes += size;
}

/* The sections are .debug_line and .nv_debug_line_sass. Libraries mostly have none. */
static bool has_lines(const char *cubin, size_t size)
{
    static const char section[] = "debug_line";
    return cubin && memmem(cubin, size, section, sizeof section - 1);
}

/* Each context loads its own, of the same bytes. */
void lines_add(const char *cubin, size_t size)
{
    CUpti_GetCubinCrcParams params = {
        .size = CUpti_GetCubinCrcParamsSize, .cubinSize = size, .cubin = cubin};
    if (!has_lines(cubin, size) || !cupti.GetCubinCrc ||
        cupti.GetCubinCrc(&params) != CUPTI_SUCCESS) {
        return;
    }
    pthread_mutex_lock(&lines.lock);
    if (find_cubin(params.cubinCrc) == lines.cubins) {
        keep_cubin(params.cubinCrc, cubin, size);
    }
    pthread_mutex_unlock(&lines.lock);
}

uint64_t lines_dropped(void)
{
    pthread_mutex_lock(&lines.lock);
    uint64_t dropped = lines.dropped;
    pthread_mutex_unlock(&lines.lock);
    return dropped;
}

static const char *keep_file(const char *dir, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s%s", dir && name[0] != '/' ? dir : "",
             dir && *dir && name[0] != '/' ? "/" : "", name);
    for (size_t i = 0; i < lines.files; i++) {
        if (strcmp(lines.file[i], path) == 0) {
            return lines.file[i];
        }
    }
    char *copy = lines.files < FILES_MAX ? strdup(path) : NULL;
    if (copy) {
        lines.file[lines.files++] = copy;
    }
    return copy;
}

static struct source_line look_up(size_t cubin, const char *function, uint64_t pc_offset)
{
    struct source_line line = {0};
    if (cubin == lines.cubins || !cupti.GetSassToSourceCorrelation) {
        return line;
    }
    CUpti_GetSassToSourceCorrelationParams params = {
        .size = CUpti_GetSassToSourceCorrelationParamsSize,
        .cubin = lines.cubin[cubin].bytes,
        .cubinSize = lines.cubin[cubin].size,
        .functionName = function,
        .pcOffset = pc_offset};
    if (cupti.GetSassToSourceCorrelation(&params) == CUPTI_SUCCESS && params.fileName) {
        line.file = keep_file(params.dirName, params.fileName);
        line.number = params.lineNumber;
    }
    free(params.fileName);
    free(params.dirName);
    return line;
}

bool lines_find(uint64_t crc, const char *function, uint64_t pc_offset,
                struct source_line *out)
{
    pthread_mutex_lock(&lines.lock);
    if (!lines.cache) {
        lines.cache = calloc(CACHE_SLOTS, sizeof *lines.cache);
    }
    uint64_t hash = (crc ^ pc_offset * 0x9e3779b97f4a7c15u ^ (uintptr_t)function) *
                    0x9e3779b97f4a7c15u;
    struct cached *c = lines.cache ? &lines.cache[(hash >> 32) % CACHE_SLOTS] : NULL;
    if (c && c->crc == crc && c->pc_offset == pc_offset && c->function == function &&
        (c->known || c->cubins == lines.cubins)) {
        *out = c->line;
    } else {
        size_t cubin = find_cubin(crc);
        *out = look_up(cubin, function, pc_offset);
        if (c) {
            *c = (struct cached){.crc = crc,
                                 .pc_offset = pc_offset,
                                 .function = function,
                                 .line = *out,
                                 .known = cubin < lines.cubins,
                                 .cubins = lines.cubins};
        }
    }
    pthread_mutex_unlock(&lines.lock);
    return out->file != NULL;
}

void lines_forget(void)
{
    pthread_mutex_lock(&lines.lock);
    for (size_t i = 0; i < lines.cubins; i++) {
        free(lines.cubin[i].bytes);
    }
    for (size_t i = 0; i < lines.files; i++) {
        free(lines.file[i]);
    }
    free(lines.cache);
    lines.cubins = lines.cubin_bytes = lines.files = 0;
    lines.dropped = 0;
    lines.cache = NULL;
    pthread_mutex_unlock(&lines.lock);
}
