/* SPDX-License-Identifier: Apache-2.0 */
/* What a session comes to, also with many scopes open at once. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector-lib/writer/open_scopes.h"
#include "collector-lib/writer/summary.h"

static void pairs_are_matched_in_any_order(void **state)
{
    (void)state;
    struct open_scopes open = {0};
    int64_t begin_ns;
    enum { N = 5000 };
    for (uint64_t i = 1; i <= N; i++) {
        open_scopes_begin(&open, (struct open_scope){i << 36 | i, (int64_t)i, 3, i});
    }
    assert_int_equal(open_scopes_path(&open, 1ull << 36 | 1), 3);
    for (uint64_t i = 1; i <= N; i++) { /* 7919 is prime: every instance once */
        uint64_t k = i * 7919 % N + 1;
        assert_true(open_scopes_end(&open, k << 36 | k, &begin_ns));
        assert_int_equal(begin_ns, k);
        assert_false(open_scopes_end(&open, k << 36 | k, &begin_ns));
    }
    assert_int_equal(open.count, 0);
    assert_int_equal(open_scopes_path(&open, 1ull << 36 | 1), 0);
    open_scopes_fini(&open);
}

static void an_end_without_a_begin_is_harmless(void **state)
{
    (void)state;
    struct open_scopes open = {0};
    int64_t begin_ns;
    assert_false(open_scopes_end(&open, 5, &begin_ns));
    assert_int_equal(open_scopes_path(&open, 5), 0);
    open_scopes_fini(&open);
}

static void the_report_orders_by_time_and_admits_what_is_missing(void **state)
{
    (void)state;
    struct summary s = {.end_ns = 2500000000};
    struct names *names = calloc(1, sizeof *names);
    struct names *kernels = calloc(1, sizeof *kernels);
    struct gpu_info info = {.name = "Test GPU"};
    const unsigned id = 3;
    struct gpu_sample sample;
    struct text text = {0};
    const struct tracer_status traced = {.contexts_unsampled = 5, .foreign = 6};
    memset(&sample, 0xff, sizeof sample);
    sample.gpu_util_pct = 40;
    names->name[1] = "short";
    names->name[2] = "long";
    summary_scope(&s, 1, 1000000);
    summary_scope(&s, 2, 9000000);
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
        .id = &id,
        .scopes = 2,
        .losses.count = {[LOSS_SCOPES] = 3, [LOSS_WAITS] = 7},
        .lost_bytes = 4,
        .traced = &traced};
    summary_render(&s, &context, &text);
    text_append(&text, "", 1);
    assert_non_null(strstr(text.data, "2.500 s\n  scopes       2\n"));
    assert_true(strstr(text.data, "long") < strstr(text.data, "short"));
    assert_non_null(strstr(text.data, "4.000            2      2.000      2.000"));
    assert_true(strstr(text.data, "copy") < strstr(text.data, "gemm"));
    assert_non_null(strstr(text.data, "power        not available"));
    assert_non_null(strstr(text.data, "\nGPU 3  Test GPU\n"));
    assert_non_null(strstr(text.data, "scopes       3"));
    assert_non_null(strstr(text.data, "  7 synchronisations that did not fit"));
    assert_non_null(strstr(text.data, "  5 contexts of CUDA that were not sampled\n"));
    assert_non_null(strstr(text.data, "  6 buffers of another profiler: the records"));
    assert_null(strstr(text.data, "phases"));
    assert_null(strstr(text.data, "PC samples"));
    text_fini(&text);
    summary_fini(&s);
    free(kernels);
    free(names);
}

static void rows_are_counted_by_kind_in_whole_lines(void **state)
{
    (void)state;
    static const char lines[] =
        "{\"version\":1,\"type\":\"host_metric_batch\",\"session_id\":\"s\",\"hostname\":"
        "\"\\\"rows\\\":[[1],[2]]\",\"columns\":[\"a\",\"b\"],\"rows\":[[1,2],[3,4]]}\n"
        "{\"version\":1,\"type\":\"job_start\",\"devices\":[[1]],\"rows\":[[1]]}\n"
        "{\"version\":1,\"type\":\"kernel_event_batch\",\"rows\":[[1],[2],[3]]}\n"
        "{\"version\":3,\"type\":\"scope_event_batch\",\"rows\":[]}\n"
        "{\"version\":1,\"type\":\"kernel_event_batch\",\"rows\":[[1],[2";
    struct row_counts counts = {0};
    struct text text = {0};
    row_counts_add(&counts, lines, sizeof lines - 1);
    row_counts_add(&counts, NULL, 0);
    row_counts_text(&counts, &text);
    text_append(&text, "", 1);
    assert_string_equal(text.data, "3 kernels, 2 samples of the host");
    text_fini(&text);
}

static void a_scope_whose_begin_is_in_no_file_has_no_time(void **state)
{
    (void)state;
    struct open_scopes open = {0};
    int64_t begin_ns;
    open_scopes_lose(&open, 7);
    open_scopes_begin(&open, (struct open_scope){7, 70, 3, 1});
    open_scopes_begin(&open, (struct open_scope){8, 80, 3, 2});
    open_scopes_lose(&open, 7);
    open_scopes_lose(&open, 9);
    assert_int_equal(open_scopes_path(&open, 7), 3); /* kernels in it have their scope */
    assert_true(open_scopes_end(&open, 7, &begin_ns));
    assert_int_equal(begin_ns, 0);
    assert_true(open_scopes_end(&open, 8, &begin_ns));
    assert_int_equal(begin_ns, 80);
    for (uint64_t i = 1; i <= 5; i++) {
        open_scopes_begin(&open, (struct open_scope){i, 90, 3, i});
    }
    open_scopes_lose_rows(&open, 2, 4);
    for (uint64_t i = 1; i <= 5; i++) {
        assert_true(open_scopes_end(&open, i, &begin_ns));
        assert_int_equal(begin_ns, i == 3 || i == 4 ? 0 : 90);
    }
    open_scopes_fini(&open);
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
    const struct tracer_status traced = {0};
    const struct summary_context context = {
        .app = "app", .session_id = "id", .names = names, .traced = &traced};
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
        cmocka_unit_test(rows_are_counted_by_kind_in_whole_lines),
        cmocka_unit_test(a_scope_whose_begin_is_in_no_file_has_no_time),
        cmocka_unit_test(the_report_orders_by_time_and_admits_what_is_missing),
        cmocka_unit_test(
            of_100000_names_the_report_shows_the_20_longest_and_adds_up_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
