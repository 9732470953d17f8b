/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a caller that was compiled with an older header. */
#include "tests/support/check.h"

#include <stddef.h>
#include <string.h>

#include "collector-lib/core/settings.h"

#define END_OF(field)                                                                    \
    (offsetof(struct gpufl_init_options, field) +                                        \
     sizeof(((struct gpufl_init_options *)NULL)->field))

static void resolve(const struct gpufl_init_options *given, struct settings *out)
{
    char why[256];
    assert_int_equal(settings_resolve(given, out, why), GPUFL_OK);
}

static void a_field_counts_only_if_the_size_holds_all_of_it(void **state)
{
    (void)state;
    struct gpufl_init_options given = GPUFL_INIT_OPTIONS_DEFAULT;
    struct settings out;
    given.app_name = "mine";
    given.log_path = "there";
    given.system_sample_rate_ms = 1000;
    for (size_t part = 1; part < sizeof(int); part++) {
        given.struct_size = offsetof(struct gpufl_init_options, system_sample_rate_ms);
        given.struct_size += part;
        resolve(&given, &out);
        assert_int_equal(out.sample_rate_ms, 0);
    }
    given.struct_size = END_OF(system_sample_rate_ms);
    resolve(&given, &out);
    assert_int_equal(out.sample_rate_ms, 1000);
    given.struct_size = END_OF(log_path) - 1; /* most of a pointer */
    resolve(&given, &out);
    assert_string_equal(out.app_name, "mine");
    assert_string_equal(out.log_path, "mine");
    given.struct_size = END_OF(log_path);
    resolve(&given, &out);
    assert_string_equal(out.log_path, "there");
}

static void a_longer_struct_is_read_as_far_as_it_is_known(void **state)
{
    (void)state;
    struct {
        struct gpufl_init_options known;
        char later[64];
    } given = {.known = GPUFL_INIT_OPTIONS_DEFAULT};
    struct settings out;
    memset(given.later, 0x5a, sizeof given.later);
    given.known.struct_size = sizeof given;
    given.known.kernel_details = "per_launch";
    resolve(&given.known, &out);
    assert_true(out.details_per_launch);
}

/* Callers of before left the padding behind the last field as it was, and their size
 * counts it: the later field begins behind it. */
static void the_padding_of_an_earlier_struct_stays_free(void **state)
{
    (void)state;
    if (sizeof(void *) == 8) {
        assert_int_equal(END_OF(device_details), 129);
        assert_int_equal(offsetof(struct gpufl_init_options, kernel_details), 136);
        assert_int_equal(offsetof(struct gpufl_init_options, trace_buffer_kib), 144);
        assert_int_equal(END_OF(trace_buffer_kib), 148);
        assert_int_equal(sizeof(struct gpufl_init_options), 152);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_field_counts_only_if_the_size_holds_all_of_it),
        cmocka_unit_test(a_longer_struct_is_read_as_far_as_it_is_known),
        cmocka_unit_test(the_padding_of_an_earlier_struct_stays_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
