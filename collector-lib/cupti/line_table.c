/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps modules that have a line table, and a cache of look-ups, since each decodes a
 * part of the module. */
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
        bool known;    /* the module is known */
        size_t cubins; /* if not known: how many modules there were; more may have come */
    } * cache;
} line_table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Its index, or line_table.cubins. */
static size_t find_cubin(uint64_t crc)
{
    size_t i = 0;
    while (i < line_table.cubins && line_table.cubin[i].crc != crc) {
        i++;
    }
    return i;
}

static void keep_cubin(uint64_t crc, const char *cubin, size_t size)
{
    bool room = line_table.cubins < CUBINS_MAX &&
                size <= CUBINS_MAX_BYTES - line_table.cubin_bytes;
    char *copy = room ? malloc(size) : NULL;
    if (!copy) {
        line_table.dropped++;
        return;
    }
    memcpy(copy, cubin, size);
    line_table.cubin[line_table.cubins].crc = crc;
    line_table.cubin[line_table.cubins].bytes = copy;
    line_table.cubin[line_table.cubins++].size = size;
    line_table.cubin_bytes += size;
}

/* The sections are .debug_line and .nv_debug_line_sass. Most libraries have none. */
static bool has_lines(const char *cubin, size_t size)
{
    static const char section[] = "debug_line";
    return cubin && memmem(cubin, size, section, sizeof section - 1);
}

/* Each context loads the same bytes. */
void line_table_add(const char *cubin, size_t size)
{
    CUpti_GetCubinCrcParams params = {
        .size = CUpti_GetCubinCrcParamsSize, .cubinSize = size, .cubin = cubin};
    if (!has_lines(cubin, size) || !cupti.GetCubinCrc ||
        cupti.GetCubinCrc(&params) != CUPTI_SUCCESS) {
        return;
    }
    pthread_mutex_lock(&line_table.lock);
    if (find_cubin(params.cubinCrc) == line_table.cubins) {
        keep_cubin(params.cubinCrc, cubin, size);
    }
    pthread_mutex_unlock(&line_table.lock);
}

uint64_t line_table_dropped(void)
{
    pthread_mutex_lock(&line_table.lock);
    uint64_t dropped = line_table.dropped;
    pthread_mutex_unlock(&line_table.lock);
    return dropped;
}

static const char *keep_file(const char *dir, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s%s", dir && name[0] != '/' ? dir : "",
             dir && *dir && name[0] != '/' ? "/" : "", name);
    for (size_t i = 0; i < line_table.files; i++) {
        if (strcmp(line_table.file[i], path) == 0) {
            return line_table.file[i];
        }
    }
    char *copy = line_table.files < FILES_MAX ? strdup(path) : NULL;
    if (copy) {
        line_table.file[line_table.files++] = copy;
    }
    return copy;
}

static struct source_line find_in_cubin(size_t cubin, const char *function,
                                        uint64_t pc_offset)
{
    struct source_line line = {0};
    if (cubin == line_table.cubins || !cupti.GetSassToSourceCorrelation) {
        return line;
    }
    CUpti_GetSassToSourceCorrelationParams params = {
        .size = CUpti_GetSassToSourceCorrelationParamsSize,
        .cubin = line_table.cubin[cubin].bytes,
        .cubinSize = line_table.cubin[cubin].size,
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

bool line_table_find(uint64_t crc, const char *function, uint64_t pc_offset,
                     struct source_line *out)
{
    pthread_mutex_lock(&line_table.lock);
    if (!line_table.cache) {
        line_table.cache = calloc(CACHE_SLOTS, sizeof *line_table.cache);
    }
    uint64_t hash = (crc ^ pc_offset * 0x9e3779b97f4a7c15u ^ (uintptr_t)function) *
                    0x9e3779b97f4a7c15u;
    struct cached *c =
        line_table.cache ? &line_table.cache[(hash >> 32) % CACHE_SLOTS] : NULL;
    if (c && c->crc == crc && c->pc_offset == pc_offset && c->function == function &&
        (c->known || c->cubins == line_table.cubins)) {
        *out = c->line;
    } else {
        size_t cubin = find_cubin(crc);
        *out = find_in_cubin(cubin, function, pc_offset);
        if (c) {
            *c = (struct cached){.crc = crc,
                                 .pc_offset = pc_offset,
                                 .function = function,
                                 .line = *out,
                                 .known = cubin < line_table.cubins,
                                 .cubins = line_table.cubins};
        }
    }
    pthread_mutex_unlock(&line_table.lock);
    return out->file != NULL;
}

void line_table_forget(void)
{
    pthread_mutex_lock(&line_table.lock);
    for (size_t i = 0; i < line_table.cubins; i++) {
        free(line_table.cubin[i].bytes);
    }
    for (size_t i = 0; i < line_table.files; i++) {
        free(line_table.file[i]);
    }
    free(line_table.cache);
    line_table.cubins = line_table.cubin_bytes = line_table.files = 0;
    line_table.dropped = 0;
    line_table.cache = NULL;
    pthread_mutex_unlock(&line_table.lock);
}
