/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of any bytes, asked for the names of functions and for their build id. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector-lib/trace/build_id.h"
#include "collector-lib/trace/elf_symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elf_query query[] = {
        {.address = 0}, {.address = 0x1010}, {.address = UINT64_MAX}};
    int fd = memfd_create("elf", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, data, size) == (ssize_t)size) {
        elf_symbols_name(fd, query, sizeof query / sizeof query[0]);
        struct build_id id = build_id_of_file(fd);
        struct build_id notes = build_id_in(data, size);
        if (id.len > BUILD_ID_MAX || notes.len > BUILD_ID_MAX) {
            abort();
        }
    }
    for (size_t i = 0; i < sizeof query / sizeof query[0]; i++) {
        free(query[i].name);
    }
    close(fd);
    return 0;
}
