/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C: its published values, and the same one by each way of computing it. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "base/crc32c.h"
#include "base/crc32c_combine.h"
#include "base/crc32c_processor.h"
#include "base/crc32c_slices.h"

enum { LONGEST = 64 * 1024 };

static void published_values_are_found(void **state)
{
    (void)state;
    unsigned char zeros[32] = {0}, ones[32], rising[32];
    memset(ones, 0xff, sizeof ones);
    for (size_t i = 0; i < sizeof rising; i++) {
        rising[i] = (unsigned char)i;
    }
    assert_int_equal(crc32c(0, zeros, sizeof zeros), 0x8a9136aa); /* RFC 3720, B.4 */
    assert_int_equal(crc32c(0, ones, sizeof ones), 0x62a8ab43);
    assert_int_equal(crc32c(0, rising, sizeof rising), 0x46dd794e);
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(crc32c(0, "", 0), 0);
}

/* One bit at a time, as the definition says. */
static uint32_t by_definition(uint32_t crc, const unsigned char *at, size_t len)
{
    crc = ~crc;
    for (size_t i = 0; i < len; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
        }
    }
    return ~crc;
}

static void each_way_finds_the_same_checksum(void **state)
{
    (void)state;
    unsigned seed = (unsigned)time(NULL);
    print_message("seed %u\n", seed);
    static unsigned char data[LONGEST + 8];
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (unsigned char)rand_r(&seed);
    }
    /* Around each border of blocks, and some anywhere. */
    size_t near[] = {0, 8, 3 * 256, 2 * 3 * 256, 3 * 4096, 3 * 4096 + 3 * 256};
    for (int round = 0; round < 400; round++) {
        size_t border = near[(size_t)round % (sizeof near / sizeof *near)];
        size_t len = round % 3 ? border + (size_t)rand_r(&seed) % 17
                               : (size_t)rand_r(&seed) % LONGEST;
        const unsigned char *at = data + rand_r(&seed) % 8;
        uint32_t start = (uint32_t)rand_r(&seed);
        uint32_t want = by_definition(start, at, len);
        assert_int_equal(crc32c(start, at, len), want);
        assert_int_equal(crc32c_slices(start, at, len), want);
        if (crc32c_processor_has_it()) {
            assert_int_equal(crc32c_processor(start, at, len), want);
        }
    }
}

/* As the processor itself tells; on ARM, the kernel, as no program may ask. */
static void an_instruction_that_is_there_is_found(void **state)
{
    (void)state;
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    assert_true(__get_cpuid(1, &a, &b, &c, &d));
    assert_int_equal(crc32c_processor_has_it(), (c & bit_SSE4_2) && (c & bit_PCLMUL));
#elif defined(__aarch64__)
    unsigned long has = getauxval(AT_HWCAP);
    assert_int_equal(crc32c_processor_has_it(),
                     (has & HWCAP_CRC32) && (has & HWCAP_PMULL));
#else
    assert_false(crc32c_processor_has_it());
#endif
}

static void a_checksum_is_continued(void **state)
{
    (void)state;
    static unsigned char data[LONGEST];
    memset(data, 'x', sizeof data);
    uint32_t whole = crc32c(0, data, sizeof data);
    for (size_t cut = 0; cut <= sizeof data; cut += 4093) {
        assert_int_equal(crc32c(crc32c(0, data, cut), data + cut, sizeof data - cut),
                         whole);
    }
}

static void checksums_are_joined_without_the_bytes(void **state)
{
    (void)state;
    static unsigned char data[LONGEST];
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (unsigned char)(i * 7 + i / 251);
    }
    uint32_t whole = crc32c(0, data, sizeof data);
    for (size_t cut = 0; cut <= sizeof data; cut += cut < 40 ? 1 : 4093) {
        size_t rest = sizeof data - cut;
        assert_int_equal(
            crc32c_combine(crc32c(0, data, cut), crc32c(0, data + cut, rest), rest),
            whole);
    }
    assert_int_equal(crc32c_combine(0x1234, 0x77, 0), 0x1234 ^ 0x77);
}

static void zeros_need_not_be_there(void **state)
{
    (void)state;
    static const unsigned char zeros[LONGEST];
    uint32_t before = crc32c(0, "before", 6);
    for (size_t len = 0; len <= sizeof zeros; len += len < 40 ? 1 : 4093) {
        assert_int_equal(crc32c_zeros(before, len), crc32c(before, zeros, len));
    }
    uint64_t many = (uint64_t)1 << 50;
    assert_int_equal(crc32c_zeros(crc32c_zeros(before, many), 3 * many),
                     crc32c_zeros(before, 4 * many));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_values_are_found),
        cmocka_unit_test(each_way_finds_the_same_checksum),
        cmocka_unit_test(an_instruction_that_is_there_is_found),
        cmocka_unit_test(a_checksum_is_continued),
        cmocka_unit_test(checksums_are_joined_without_the_bytes),
        cmocka_unit_test(zeros_need_not_be_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
