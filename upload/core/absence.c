/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the days on which a directory is missed. */
#include "upload/core/absence.h"

#define DAY_S 86400

bool absence_count(struct absence *absence, int64_t wall_s)
{
    uint16_t day = (uint16_t)(wall_s / DAY_S);
    if (absence->days && absence->last == day) {
        return false;
    }
    absence->days += absence->days < UINT16_MAX;
    absence->last = day;
    return true;
}
