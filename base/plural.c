/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses between singular and plural. */
#include "base/plural.h"

const char *plural(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}
