/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps ranges of numbers, and splits one from which a file has come back. */
#include "upload/core/passed.h"

#include "base/array.h"
#include "upload/core/registry.h"

static void passed_put(struct root *root, uint32_t stream, uint32_t first, uint32_t last)
{
    struct record_passed *more =
        array_grown(root->passed, root->passes, &root->passes_cap, sizeof *more);
    if (more) {
        root->passed = more;
        more[root->passes++] =
            (struct record_passed){.stream = stream, .first = first, .last = last};
    }
}

/* What is left of a range is added behind it. */
static void passed_cut(struct root *root, const struct record_passed *out)
{
    for (size_t i = 0; i < root->passes;) {
        const struct record_passed is = root->passed[i];
        if (is.stream != out->stream || is.last < out->first || is.first > out->last) {
            i++;
            continue;
        }
        root->passed[i] = root->passed[--root->passes];
        if (is.first < out->first) {
            passed_put(root, is.stream, is.first, out->first - 1);
        }
        if (is.last > out->last) {
            passed_put(root, is.stream, out->last + 1, is.last);
        }
    }
}

void passed_apply(struct root *root, const struct record_passed *record)
{
    passed_cut(root, record);
    if (!record->returned) {
        passed_put(root, record->stream, record->first, record->last);
    }
}

static void passed_note(struct root *root, const struct record_passed *record)
{
    (void)record_append_passed(root->journal, record); /* or when it is rewritten */
    passed_apply(root, record);
}

void passed_add(struct root *root, uint32_t stream, uint32_t first, uint32_t last)
{
    const struct record_passed record = {.stream = stream, .first = first, .last = last};
    passed_note(root, &record);
}

bool passed_any(const struct root *root, uint32_t stream)
{
    for (size_t i = 0; i < root->passes; i++) {
        if (root->passed[i].stream == stream) {
            return true;
        }
    }
    return false;
}

bool passed_has(const struct root *root, uint32_t stream, uint32_t file)
{
    for (size_t i = 0; i < root->passes; i++) {
        const struct record_passed *is = &root->passed[i];
        if (is->stream == stream && is->first <= file && file <= is->last) {
            return true;
        }
    }
    return false;
}

void passed_take(struct root *root, uint32_t stream, uint32_t file)
{
    const struct record_passed record = {
        .stream = stream, .first = file, .last = file, .returned = 1};
    passed_note(root, &record);
}

void passed_raise(struct root *root, uint32_t stream, uint32_t by)
{
    const struct record_passed all = {
        .stream = stream, .first = 1, .last = UINT32_MAX, .returned = 1};
    if (by == 0 || !passed_any(root, stream)) {
        return;
    }
    (void)record_append_passed(root->journal, &all);
    for (size_t i = 0; i < root->passes; i++) {
        struct record_passed *is = &root->passed[i];
        if (is->stream == stream) {
            is->first += by;
            is->last += by;
            (void)record_append_passed(root->journal, is);
        }
    }
}

void passed_forget_from(struct root *root, uint32_t stream, uint32_t file)
{
    const struct record_passed all = {
        .stream = stream, .first = file, .last = UINT32_MAX};
    if (stream) {
        passed_cut(root, &all);
    }
}

void passed_forget(struct root *root, uint32_t stream)
{
    passed_forget_from(root, stream, 1);
}

void passed_forget_parked(struct root *root, const struct parked_session *s)
{
    struct packed_stream stream[SCAN_CHANNELS_MAX];
    if (root->passes && !s->held) {
        parked_streams(s, stream);
        for (unsigned i = 0; i < s->streams; i++) {
            passed_forget(root, stream[i].id);
        }
    }
}

void passed_write_state(const struct root *root)
{
    for (size_t i = 0; i < root->passes; i++) {
        (void)record_append_passed(root->journal, &root->passed[i]);
    }
}
