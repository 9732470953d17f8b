/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps an array of pointers in order. For a range, those behind it are moved, or those
 * before it if they are fewer: mostly it is the last one that comes, and the first one
 * that goes. */
#include "upload/journal/range_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* \return less than 0, 0 or more than 0, as \p range lies before, at or behind a place.
 */
static int range_compare(const struct record_quarantine *range, uint32_t stream,
                         uint32_t file, uint64_t begin)
{
    return range->stream != stream ? (range->stream < stream ? -1 : 1)
           : range->file != file   ? (range->file < file ? -1 : 1)
           : range->begin != begin ? (range->begin < begin ? -1 : 1)
                                   : 0;
}

/* The number of the first one there or behind; \p behind = of the first one behind. */
static size_t range_list_at(const struct range_list *list, uint32_t stream, uint32_t file,
                            uint64_t begin, bool behind)
{
    size_t first = 0;
    size_t end = list->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        int order = range_compare(list->range[middle], stream, file, begin);
        if (order < 0 || (behind && order == 0)) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

/* Makes room for one more behind the last one. */
static bool range_list_grow(struct range_list *list)
{
    struct record_quarantine **array = list->range - list->gap;
    if (list->gap > list->count) {
        memmove(array, list->range, list->count * sizeof *array);
        list->gap = 0;
    }
    array = array_grown(array, list->gap + list->count, &list->cap, sizeof *array);
    if (array) {
        list->range = array + list->gap;
    }
    return array != NULL;
}

/* Makes a place for number \p at. */
static void range_list_open_place(struct range_list *list, size_t at)
{
    if (list->gap && at < list->count / 2) {
        list->range--;
        list->gap--;
        memmove(list->range, list->range + 1, at * sizeof *list->range);
    } else {
        memmove(&list->range[at + 1], &list->range[at],
                (list->count - at) * sizeof *list->range);
    }
    list->count++;
}

/* Closes the places from number \p kept up to, but without, \p next. */
static void range_list_close_places(struct range_list *list, size_t kept, size_t next)
{
    size_t places = next - kept;
    if (kept < list->count - next) {
        memmove(&list->range[places], list->range, kept * sizeof *list->range);
        list->range += places;
        list->gap += places;
    } else {
        memmove(&list->range[kept], &list->range[next],
                (list->count - next) * sizeof *list->range);
    }
    list->count -= places;
}

bool range_list_add(struct range_list *list, const struct record_quarantine *range)
{
    struct record_quarantine *copy = malloc(sizeof *copy);
    if (!copy || !range_list_grow(list)) {
        free(copy);
        return false;
    }
    size_t at = range_list_at(list, range->stream, range->file, range->begin, true);
    range_list_open_place(list, at);
    *copy = *range;
    list->range[at] = copy;
    return true;
}

size_t range_list_first(const struct range_list *list, uint32_t stream, uint32_t file)
{
    return range_list_at(list, stream, file, 0, false);
}

bool range_list_is_of(const struct range_list *list, size_t at, uint32_t stream)
{
    return at < list->count && list->range[at]->stream == stream;
}

static bool range_list_find(const struct range_list *list, uint32_t stream, uint32_t file,
                            uint64_t begin, size_t *at)
{
    *at = range_list_at(list, stream, file, begin, false);
    return *at < list->count && range_compare(list->range[*at], stream, file, begin) == 0;
}

bool range_list_has(const struct range_list *list, const struct record_quarantine *range)
{
    size_t at;
    return range_list_find(list, range->stream, range->file, range->begin, &at);
}

bool range_list_take(struct range_list *list, const struct record_released *released,
                     struct record_quarantine *out)
{
    size_t at;
    if (!range_list_find(list, released->stream, released->file, released->begin, &at)) {
        return false;
    }
    *out = *list->range[at];
    free(list->range[at]);
    range_list_close_places(list, at, at + 1);
    return true;
}

void range_list_keep(struct range_list *list, size_t at, size_t count,
                     bool (*keeps)(void *arg, struct record_quarantine *range), void *arg)
{
    size_t kept = at;
    for (size_t i = at; i < at + count; i++) {
        if (keeps(arg, list->range[i])) {
            list->range[kept++] = list->range[i];
        } else {
            free(list->range[i]);
        }
    }
    if (kept < at + count) {
        range_list_close_places(list, kept, at + count);
    }
}

void range_list_keep_from(struct range_list *list, uint32_t stream, uint32_t file,
                          bool (*keeps)(void *arg, struct record_quarantine *range),
                          void *arg)
{
    size_t first = range_list_first(list, stream, file);
    size_t end = first;
    while (range_list_is_of(list, end, stream)) {
        end++;
    }
    range_list_keep(list, first, end - first, keeps, arg);
}

void range_list_close(struct range_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->range[i]);
    }
    free(list->range - list->gap);
    *list = (struct range_list){0};
}
