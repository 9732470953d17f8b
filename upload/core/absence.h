/* SPDX-License-Identifier: Apache-2.0 */
/* For how long a session's directory has not been there. Days are counted on which a
 * listing of its root did not name it, not time: a clock that steps adds one day at most,
 * and neither a host that is off nor a root that cannot be listed adds any. */
#ifndef GPUFL_UPLOAD_CORE_ABSENCE_H
#define GPUFL_UPLOAD_CORE_ABSENCE_H

#include <stdbool.h>
#include <stdint.h>

/** After so many days a session that is complete is forgotten. */
#define ABSENCE_COMPLETE_DAYS 7u
/** After so many, any other. */
#define ABSENCE_OPEN_DAYS 30u

/** All zero while the directory is there. */
struct absence {
    uint16_t days; /**< UINT16_MAX = so many or more */
    uint16_t last; /**< the day that was counted last, since 1970; it ends in 2149 */
};

/** Counts the day of \p wall_s. \return false if it is counted already. */
bool absence_count(struct absence *absence, int64_t wall_s);

#endif
