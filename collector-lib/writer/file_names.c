/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing is noted of the first file of a channel: it has each name from when it was new.
 */
#include "collector-lib/writer/file_names.h"

#include "collector-lib/core/record_dictionary.h"
#include "schema/records.h"

/* The names that the lines which are to be written use. NULL: the channel has none. */
static const struct name_set *file_names_used(const struct writer *w,
                                              enum channel channel,
                                              enum file_dictionary dictionary)
{
    const struct trace_uses *uses = &w->tracing.log.names.uses;
    const struct name_set *const of_scope[FILE_DICTIONARIES] = {
        [FILE_SCOPES] = &w->row_names,
        [FILE_FUNCTIONS] = &uses->functions,
        [FILE_METRICS] = &uses->metrics,
        [FILE_SOURCES] = &uses->files,
    };
    switch (channel) {
    case CHANNEL_SCOPE:
        return of_scope[dictionary];
    case CHANNEL_DEVICE:
        return dictionary == FILE_KERNELS ? &uses->kernels : NULL;
    case CHANNEL_SASS:
        return dictionary == FILE_SOURCES ? &uses->sources : NULL;
    default:
        return NULL;
    }
}

void file_names_follow(struct writer *w, enum channel channel)
{
    struct file_names *names = &w->file_names[channel];
    if (names->file != w->dir->file[channel].rotated) {
        names->file = w->dir->file[channel].rotated;
        for (int d = 0; d < FILE_DICTIONARIES; d++) {
            name_set_clear(&names->has[d]);
        }
    }
}

static void find_lacking(struct writer *w, enum channel channel, bool next)
{
    const struct file_names *names = &w->file_names[channel];
    for (int d = 0; d < FILE_DICTIONARIES; d++) {
        const struct name_set *used =
            file_names_used(w, channel, (enum file_dictionary)d);
        name_set_clear(&w->lacking[d]);
        for (size_t i = 0; used && (names->file || next) && i < used->count; i++) {
            if (next || !name_set_has(&names->has[d], used->id[i])) {
                name_set_add(&w->lacking[d], used->id[i]);
            }
        }
    }
}

static struct dictionary_part lacking_part(const struct writer *w, const char *key,
                                           const char *const *text,
                                           enum file_dictionary dictionary)
{
    const struct name_set *ids = &w->lacking[dictionary];
    return (struct dictionary_part){
        .key = key, .text = text, .to = (uint32_t)ids->count, .id = ids->id};
}

void file_names_lacking(struct writer *w, enum channel channel, bool next,
                        struct text *out)
{
    const struct trace_names *n = &w->tracing.log.names;
    find_lacking(w, channel, next);
    struct dictionary_part part[1 + TRACE_NAMES_PARTS] = {
        lacking_part(w, RECORD_SCOPE_NAME_DICT, w->names->name, FILE_SCOPES)};
    size_t parts = 1;
    if (n->kernels) {
        part[parts++] =
            lacking_part(w, RECORD_KERNEL_DICT, n->kernels->name, FILE_KERNELS);
        part[parts++] =
            lacking_part(w, RECORD_FUNCTION_DICT, n->function, FILE_FUNCTIONS);
        part[parts++] =
            lacking_part(w, RECORD_METRIC_DICT, n->metrics->name, FILE_METRICS);
        part[parts++] =
            lacking_part(w, RECORD_SOURCE_FILE_DICT, n->files->name, FILE_SOURCES);
        part[parts++] = lacking_part(w, RECORD_FUNCTION_SYMBOL_DICT, n->function_symbol,
                                     FILE_FUNCTIONS);
    }
    record_dictionary(out, &w->context, part, parts);
}

void file_names_note_lacking(struct writer *w, enum channel channel)
{
    for (int d = 0; d < FILE_DICTIONARIES; d++) {
        for (size_t i = 0; i < w->lacking[d].count; i++) {
            name_set_add(&w->file_names[channel].has[d], w->lacking[d].id[i]);
        }
    }
}

static void note_ids(struct name_set *has, uint32_t from, uint32_t to)
{
    for (uint32_t id = from + 1; id <= to; id++) {
        name_set_add(has, id);
    }
}

void file_names_note_new(struct writer *w, enum channel channel,
                         const struct writer_sent *sent)
{
    struct name_set *has = w->file_names[channel].has;
    if (!w->file_names[channel].file) {
        return;
    }
    for (size_t i = sent->scopes; i < w->used_names.count; i++) {
        name_set_add(&has[FILE_SCOPES], w->used_names.id[i]);
    }
    if (w->tracing.log.names.kernels) {
        const struct trace_names_sent all = trace_names_count(&w->tracing.log.names);
        note_ids(&has[FILE_KERNELS], sent->trace.kernels, all.kernels);
        note_ids(&has[FILE_FUNCTIONS], sent->trace.functions, all.functions);
        note_ids(&has[FILE_METRICS], sent->trace.metrics, all.metrics);
        note_ids(&has[FILE_SOURCES], sent->trace.files, all.files);
    }
}

void file_names_fini(struct writer *w)
{
    for (int d = 0; d < FILE_DICTIONARIES; d++) {
        name_set_fini(&w->lacking[d]);
        for (int c = 0; c < CHANNEL_COUNT; c++) {
            name_set_fini(&w->file_names[c].has[d]);
        }
    }
}
