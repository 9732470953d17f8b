/* SPDX-License-Identifier: Apache-2.0 */
/* The build id, by which a file on disk is known to be the one that was loaded: packages
 * are upgraded while programs run. Format: elf(5), a note of GNU with type 3. */
#ifndef GPUFL_COLLECTOR_TRACE_BUILD_ID_H
#define GPUFL_COLLECTOR_TRACE_BUILD_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector-lib/core/own_fd.h"

#define BUILD_ID_MAX 64u /* bytes; linkers make 16 or 20 */

struct build_id {
    uint8_t bytes[BUILD_ID_MAX];
    size_t len; /**< 0 = there is none */
};

/** Finds it in the \p len bytes of a segment of notes. */
struct build_id build_id_in(const void *notes, size_t len);

/** Finds it in a file, which is read and not mapped. */
struct build_id build_id_of_file(int fd);

bool build_id_same(const struct build_id *a, const struct build_id *b);

/** Opens the file with the symbols of the program or library of that id, which packages
 * of debug symbols put below /usr/lib/debug. The caller closes \p file.
 * \return false if there is none. */
bool build_id_open_symbols(const struct build_id *id, struct own_fd *file);

#endif
