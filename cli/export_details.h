/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel_detail lines that launches share, and those of single launches made from
 * them. */
#ifndef GPUFL_CLI_EXPORT_DETAILS_H
#define GPUFL_CLI_EXPORT_DETAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct export_detail;

/** All zero at first. */
struct export_details {
    struct export_detail *detail;
    size_t count, cap;
    bool sorted;
};

/** Keeps a copy of \p line (without newline) if it is a kernel_detail. \return false
 * without memory. */
bool export_details_add(struct export_details *details, const char *line, size_t len);

/** Appends to \p out the line of launch \p correlation, made from that of launch
 * \p shared. \return false if there is none. */
bool export_details_put(struct export_details *details, uint64_t shared,
                        uint64_t correlation, struct text *out);

void export_details_fini(struct export_details *details);

#endif
