/* SPDX-License-Identifier: Apache-2.0 */
/* Which files can be certificates and keys. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "upload/http/pem.h"

#define BLOCK(label, body)                                                               \
    "-----BEGIN " label "-----\n" body "\n-----END " label "-----\n"
#define WHOLE "MAMCAQA=" /* a SEQUENCE of three bytes */

static char file[64];

static const char *fault_of(const char *text, enum pem_kind kind)
{
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    const char *fault = pem_fault(file, kind);
    return fault ? fault : "";
}

static void a_whole_block_of_its_kind_is_taken(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum pem_kind kind;
    } row[] = {
        {BLOCK("CERTIFICATE", WHOLE), PEM_CERTIFICATE},
        {BLOCK("TRUSTED CERTIFICATE", WHOLE), PEM_CERTIFICATE},
        {"# a comment\r\n" BLOCK("CERTIFICATE", "MAMC\r\n AQA="), PEM_CERTIFICATE},
        {BLOCK("CERTIFICATE", "junk") BLOCK("CERTIFICATE", WHOLE), PEM_CERTIFICATE},
        {BLOCK("CERTIFICATE", WHOLE) BLOCK("PRIVATE KEY", WHOLE), PEM_PRIVATE_KEY},
        {BLOCK("EC PARAMETERS", "BggqhkjOPQMBBw==") BLOCK("EC PRIVATE KEY", WHOLE),
         PEM_PRIVATE_KEY},
        {BLOCK("RSA PRIVATE KEY", WHOLE), PEM_PRIVATE_KEY},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        assert_string_equal(fault_of(row[i].text, row[i].kind), "");
    }
}

static void what_cannot_be_read_as_one_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum pem_kind kind;
        const char *fault;
    } row[] = {
        {"", PEM_CERTIFICATE, "empty"},
        {"hello\n", PEM_CERTIFICATE, "holds no certificate"},
        {BLOCK("PRIVATE KEY", WHOLE), PEM_CERTIFICATE, "holds no certificate"},
        {BLOCK("CERTIFICATE", WHOLE), PEM_PRIVATE_KEY, "holds no private key"},
        {BLOCK("PUBLIC KEY", WHOLE), PEM_PRIVATE_KEY, "holds no private key"},
        {"-----BEGIN CERTIFICATE-----\n" WHOLE "\n", PEM_CERTIFICATE, "cut off"},
        {BLOCK("CERTIFICATE", ""), PEM_CERTIFICATE, "damaged"},
        {BLOCK("CERTIFICATE", "MAMCAQ=="), PEM_CERTIFICATE, "damaged"},
        {BLOCK("CERTIFICATE", "MIT/////"), PEM_CERTIFICATE, "damaged"},
        {BLOCK("CERTIFICATE", "MI//////////"), PEM_CERTIFICATE, "damaged"},
        {BLOCK("CERTIFICATE", "not base64!"), PEM_CERTIFICATE, "damaged"},
        {BLOCK("ENCRYPTED PRIVATE KEY", WHOLE), PEM_PRIVATE_KEY, "has a passphrase"},
        {BLOCK("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES\n\n" WHOLE),
         PEM_PRIVATE_KEY, "has a passphrase"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        const char *fault = fault_of(row[i].text, row[i].kind);
        if (strncmp(fault, row[i].fault, strlen(row[i].fault)) != 0) {
            fail_msg("row %zu: %s", i, fault);
        }
        assert_non_null(strchr(fault, '('));
    }
}

static void what_is_no_file_never_blocks(void **state)
{
    (void)state;
    unlink(file);
    assert_string_equal(pem_fault(file, PEM_CERTIFICATE), "No such file or directory");
    assert_int_equal(mkfifo(file, 0600), 0);
    assert_string_equal(
        pem_fault(file, PEM_CERTIFICATE),
        "a pipe, not a regular file (give a regular file, or a link to one)");
    assert_string_equal(
        pem_fault("/tmp", PEM_PRIVATE_KEY),
        "a directory, not a regular file (give a regular file, or a link to one)");
    unlink(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_block_of_its_kind_is_taken),
        cmocka_unit_test(what_cannot_be_read_as_one_is_said),
        cmocka_unit_test(what_is_no_file_never_blocks),
    };
    snprintf(file, sizeof file, "/tmp/gpufl-pem-%d.pem", getpid());
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(file);
    return failed;
}
