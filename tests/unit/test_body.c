/* SPDX-License-Identifier: Apache-2.0 */
/* A request's body is kept up to the limit. */
#include "tests/support/check.h"

#include <stdlib.h>
#include <string.h>

#include "backend/http/body.h"
#include "schema/protocol.h"

static void a_body_is_its_pieces(void **state)
{
    (void)state;
    struct body body = {0};
    body_take(&body, "one", 3);
    body_take(&body, "", 0);
    body_take(&body, "two", 3);
    assert_int_equal(body.bytes.len, 6);
    assert_memory_equal(body.bytes.data, "onetwo", 6);
    assert_false(body.too_large);
    body_fini(&body);
    assert_null(body.bytes.data);
}

static void a_body_beyond_the_limit_is_read_and_not_kept(void **state)
{
    (void)state;
    struct body body = {0};
    char *piece = calloc(1, PROTOCOL_MAX_BODY_BYTES);
    assert_non_null(piece);
    body_take(&body, piece, PROTOCOL_MAX_BODY_BYTES);
    assert_false(body.too_large);
    body_take(&body, "x", 1);
    assert_true(body.too_large);
    body_take(&body, piece, PROTOCOL_MAX_BODY_BYTES);
    assert_int_equal(body.bytes.len, PROTOCOL_MAX_BODY_BYTES);
    body_fini(&body);
    free(piece);
}

static void a_body_that_is_unwanted_is_read_and_not_kept(void **state)
{
    (void)state;
    struct body body = {.unwanted = true};
    body_take(&body, "one", 3);
    assert_null(body.bytes.data);
    assert_false(body.too_large);
    body_fini(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_is_its_pieces),
        cmocka_unit_test(a_body_beyond_the_limit_is_read_and_not_kept),
        cmocka_unit_test(a_body_that_is_unwanted_is_read_and_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
