/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions from files: this program's own, the C library's, and broken ones. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector-lib/trace/elf_symbols.h"

/* Where the file that holds \p address was loaded, and its path. */
struct place {
    uintptr_t address, base;
    char path[512];
};

static int in_module(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct place *place = arg;
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && place->address >= begin &&
            place->address < begin + info->dlpi_phdr[i].p_memsz) {
            place->base = info->dlpi_addr;
            snprintf(place->path, sizeof place->path, "%s",
                     info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe");
            return 1;
        }
    }
    return 0;
}

static struct place place_of(uintptr_t address)
{
    struct place place = {.address = address};
    assert_int_equal(dl_iterate_phdr(in_module, &place), 1);
    return place;
}

static char *name_in(int fd, uintptr_t address)
{
    struct elf_query query = {.address = address};
    elf_symbols_name(fd, &query, 1);
    return query.name;
}

static void a_function_of_this_program(void **unused)
{
    (void)unused;
    struct place place = place_of((uintptr_t)a_function_of_this_program);
    int fd = open(place.path, O_RDONLY | O_CLOEXEC);
    struct elf_query query[] = {
        {.address = 1}, /* in the header, no function */
        {.address = place.address - place.base},
        {.address = place.address - place.base + 1},
        {.address = UINT64_MAX},
    };
    elf_symbols_name(fd, query, 4);
    assert_null(query[0].name);
    assert_string_equal(query[1].name, "a_function_of_this_program");
    assert_string_equal(query[2].name, "a_function_of_this_program");
    assert_null(query[3].name);
    free(query[1].name);
    free(query[2].name);
    close(fd);
}

static void a_library_that_was_stripped(void **unused)
{
    (void)unused;
    struct place place = place_of((uintptr_t)dl_iterate_phdr);
    int fd = open(place.path, O_RDONLY | O_CLOEXEC);
    char *name = name_in(fd, place.address - place.base);
    assert_non_null(name);
    assert_non_null(strstr(name, "dl_iterate_phdr"));
    free(name);
    close(fd);
}

/* Cut at each of many lengths, and not an ELF file at all. */
static void a_file_that_ends_too_early(void **unused)
{
    (void)unused;
    struct place place = place_of((uintptr_t)a_file_that_ends_too_early);
    int whole = open(place.path, O_RDONLY | O_CLOEXEC);
    off_t size = lseek(whole, 0, SEEK_END);
    char *bytes = malloc((size_t)size);
    assert_int_equal(pread(whole, bytes, (size_t)size, 0), size);
    int cut = memfd_create("cut", MFD_CLOEXEC);
    assert_int_equal(write(cut, bytes, (size_t)size), size);
    for (off_t length = size; length > 0; length -= size / 200 + 1) {
        assert_int_equal(ftruncate(cut, length), 0);
        char *name = name_in(cut, place.address - place.base);
        assert_true(!name ||
                    strncmp(name, "a_file_that_ends_too_early", strlen(name)) == 0);
        free(name);
    }
    bytes[0] = '#';
    assert_int_equal(pwrite(cut, bytes, (size_t)size, 0), size);
    assert_null(name_in(cut, place.address - place.base));
    assert_null(name_in(-1, 0));
    free(bytes);
    close(cut);
    close(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_of_this_program),
        cmocka_unit_test(a_library_that_was_stripped),
        cmocka_unit_test(a_file_that_ends_too_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
