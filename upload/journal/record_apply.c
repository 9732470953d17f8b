/* SPDX-License-Identifier: Apache-2.0 */
/* Counts lines as records say. */
#include "upload/journal/record_apply.h"

void record_apply_settled(const struct record_settled *settled, uint64_t *lines,
                          uint64_t *refused_lines)
{
    if (settled->at.at.file && settled->how == SETTLED_ACKED) {
        uint64_t all = settled->at.at.lines; /* an end may be taken back, too */
        *lines = all > *refused_lines ? all - *refused_lines : 0;
    } else if (settled->how == SETTLED_ACKED || settled->how == SETTLED_UNPROVEN) {
        *lines += settled->lines;
        *refused_lines += settled->rejected_lines;
    } else if (settled->how >= SETTLED_GIVEN_UP) {
        *refused_lines -=
            settled->lines < *refused_lines ? settled->lines : *refused_lines;
    } else {
        *refused_lines += settled->lines;
    }
}

bool record_goes_back(const struct record_settled *settled, uint32_t file,
                      uint64_t offset)
{
    return settled->file < file || (settled->file == file && settled->end < offset);
}

bool record_range_is_settled(const struct record_quarantine *range, uint32_t file,
                             uint64_t offset)
{
    return range->file < file || (range->file == file && range->end <= offset);
}

void record_apply_released(const struct record_released *released,
                           const struct record_quarantine *range, uint64_t *lines,
                           uint64_t *refused_lines)
{
    *refused_lines -= range->lines < *refused_lines ? range->lines : *refused_lines;
    *lines += released->stored ? range->lines : 0;
}
