/* SPDX-License-Identifier: Apache-2.0 */
/* What a session comes to, also with many scopes open at once. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector-lib/writer/summary.h"

static void row(struct summary *s, enum row_kind kind, uint64_t instance, uint32_t name,
                int64_t t)
{
    summary_row(s, &(struct row){.kind = (uint8_t)kind,
                                 .instance = instance,
                                 .name_id = name,
                                 .mono_ns = t});
}

static void pairs_are_matched_in_any_order(void **state)
{
    (void)state;
    struct summary s = {0};
    enum { N = 5000 };
    for (uint64_t i = 1; i <= N; i++) {
        row(&s, ROW_SCOPE_BEGIN, i << 36 | i, (uint32_t)(i % 3) + 1, 0);
    }
    for (uint64_t i = 1; i <= N; i++) { /* 7919 is prime: every instance once */
        uint64_t k = i * 7919 % N + 1;
        row(&s, ROW_SCOPE_END, k << 36 | k, (uint32_t)(k % 3) + 1, (int64_t)k);
    }
    assert_int_equal(s.pairs, N);
    assert_int_equal(s.open.count, 0);
    uint64_t count = 0;
    int64_t total = 0;
    for (size_t i = 0; i < s.scope.count; i++) {
        count += s.scope.at[i].count;
        total += s.scope.at[i].total_ns;
    }
    assert_int_equal(count, N);
    assert_int_equal(total, (int64_t)N * (N + 1) / 2);
    summary_fini(&s);
}

static void an_end_without_a_begin_is_harmless(void **state)
{
    (void)state;
    struct summary s = {0};
    row(&s, ROW_SCOPE_END, 5, 1, 10);
    row(&s, ROW_SYSTEM_START, 0, 1, 10);
    assert_int_equal(s.open.count, 0);
    summary_fini(&s);
}

static void the_report_orders_by_time_and_admits_what_is_missing(void **state)
{
    (void)state;
    struct summary s = {.end_ns = 2500000000};
    struct names *names = calloc(1, sizeof *names);
    struct names *kernels = calloc(1, sizeof *kernels);
    struct gpu_info info = {.name = "Test GPU"};
    struct gpu_sample sample;
    struct text text = {0};
    memset(&sample, 0xff, sizeof sample);
    sample.gpu_util_pct = 40;
    names->name[1] = "short";
    names->name[2] = "long";
    row(&s, ROW_SCOPE_BEGIN, 1, 1, 0);
    row(&s, ROW_SCOPE_END, 1, 1, 1000000);
    row(&s, ROW_SCOPE_BEGIN, 2, 2, 0);
    row(&s, ROW_SCOPE_END, 2, 2, 9000000);
    kernels->name[1] = "gemm";
    kernels->name[2] = "copy";
    name_times_add(&s.kernel, 1, 3000000);
    name_times_add(&s.kernel, 2, 2000000);
    name_times_add(&s.kernel, 2, 2000000);
    summary_gpu(&s, 0, &sample);
    const struct summary_context context = {
        .app = "app",
        .session_id = "id",
        .names = names,
        .kernels = kernels,
        .info = &info,
        .losses.count = {[LOSS_SCOPES] = 3, [LOSS_WAITS] = 7},
        .lost_bytes = 4};
    summary_render(&s, &context, &text);
    text_append(&text, "", 1);
    assert_non_null(strstr(text.data, "2.500 s"));
    assert_true(strstr(text.data, "long") < strstr(text.data, "short"));
    assert_non_null(strstr(text.data, "4.000            2      2.000      2.000"));
    assert_true(strstr(text.data, "copy") < strstr(text.data, "gemm"));
    assert_non_null(strstr(text.data, "power        not available"));
    assert_non_null(strstr(text.data, "scopes       3"));
    assert_non_null(strstr(text.data, "  7 synchronisations that did not fit"));
    assert_null(strstr(text.data, "phases"));
    text_fini(&text);
    summary_fini(&s);
    free(kernels);
    free(names);
}

static size_t lines_in(const char *text)
{
    size_t lines = 0;
    for (; *text; text++) {
        lines += *text == '\n';
    }
    return lines;
}

static void
of_100000_names_the_report_shows_the_20_longest_and_adds_up_the_rest(void **state)
{
    (void)state;
    enum { N = 100000, NAMED = 60000 };
    struct summary s = {0};
    struct names *names = calloc(1, sizeof *names);
    struct text text = {0};
    char name[NAMED / 1000][16];
    for (uint32_t i = 1; i <= N; i++) { /* the names of the table are 1 to 60000 */
        name_times_add(&s.scope, i, i <= NAMED ? 1000000 * (int64_t)i : 1000000);
    }
    for (uint32_t i = 0; i < NAMED / 1000; i++) {
        snprintf(name[i], sizeof name[i], "name-%u", NAMED - i);
        names->name[NAMED - i] = name[i];
    }
    const struct summary_context context = {
        .app = "app", .session_id = "id", .names = names};
    summary_render(&s, &context, &text);
    text_append(&text, "", 1);
    assert_true(lines_in(text.data) < 40);
    assert_non_null(strstr(text.data, "name-60000\n"));
    assert_non_null(strstr(text.data, "name-59981\n… and 99980 more, 1798870190.000 ms "
                                      "together\n\nLosses"));
    assert_null(strstr(text.data, "name-59980\n"));
    text_fini(&text);
    summary_fini(&s);
    free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_matched_in_any_order),
        cmocka_unit_test(an_end_without_a_begin_is_harmless),
        cmocka_unit_test(the_report_orders_by_time_and_admits_what_is_missing),
        cmocka_unit_test(
            of_100000_names_the_report_shows_the_20_longest_and_adds_up_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
