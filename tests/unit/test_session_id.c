/* SPDX-License-Identifier: Apache-2.0 */
/* The id that a user and a nonce make. */
#include "tests/support/check.h"

#include <string.h>

#include "base/session_id.h"

/* printf 'gpufl-session\n1000\n000102030405060708090a0b0c0d0e0f' | sha256sum */
static void an_id_follows_from_user_and_nonce(void **state)
{
    (void)state;
    unsigned char nonce[SESSION_NONCE_BYTES];
    char text[SESSION_NONCE_TEXT];
    char id[UUID_TEXT];
    char other[UUID_TEXT];
    for (unsigned i = 0; i < sizeof nonce; i++) {
        nonce[i] = (unsigned char)i;
    }
    session_nonce_format(nonce, text);
    assert_string_equal(text, "000102030405060708090a0b0c0d0e0f");
    session_id_of(1000, text, id);
    assert_string_equal(id, "58023603-8c40-40f0-8a66-ba60c6fd1704");
    session_id_of(1001, text, other);
    assert_string_not_equal(id, other);
    text[0] = '1';
    session_id_of(1000, text, other);
    assert_string_not_equal(id, other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_follows_from_user_and_nonce),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
