/* SPDX-License-Identifier: Apache-2.0 */
/* Sidecars and manifests: right ones are read, everything else is refused. */
#include "tests/support/check.h"

#include <stdio.h>
#include <string.h>

#include "base/uuid.h"
#include "schema/plain_object.h"
#include "upload/source/identity.h"

#define SID "2a50f868-d207-481f-acea-b3c3fe398b6f"
#define GOOD                                                                             \
    "{\"schema_version\":1,\"type\":\"transport_window\",\"window_id\":"                 \
    "\"49c3f74c-8631-4bcc-a364-9723425932ad\",\"session_id\":\"" SID "\",\"channel\":"   \
    "\"device\",\"window_sequence\":1,\"opened_mono_ms\":87776,\"closed_mono_ms\":"      \
    "88063,"                                                                             \
    "\"created_wall_ms\":1795151989404,\"payload_file\":\"device.1.log.gz\","            \
    "\"payload_bytes\":320767,\"payload_crc32\":4294967295}\n"

static gpufl_status parse(const char *text, struct sidecar *out)
{
    return sidecar_parse(text, strlen(text), SID, "device", 1, out);
}

static void a_real_sidecar_is_read(void **state)
{
    (void)state;
    struct sidecar sidecar;
    char id[UUID_TEXT];
    assert_int_equal(parse(GOOD, &sidecar), GPUFL_OK);
    uuid_format(sidecar.window_id, id);
    assert_string_equal(id, "49c3f74c-8631-4bcc-a364-9723425932ad");
    assert_int_equal(sidecar.payload_bytes, 320767);
    assert_int_equal(sidecar.payload_crc32, 4294967295u);
    assert_string_equal(sidecar.payload_file, "device.1.log.gz");
    assert_false(sidecar.salvaged);
}

/* GOOD with one text replaced by another. */
static gpufl_status parse_into(const char *from, const char *to, struct sidecar *sidecar)
{
    char text[1024];
    const char *at = strstr(GOOD, from);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - GOOD), GOOD, to,
             at + strlen(from));
    return parse(text, sidecar);
}

static gpufl_status parse_with(const char *from, const char *to)
{
    struct sidecar sidecar;
    return parse_into(from, to, &sidecar);
}

static void a_sidecar_of_a_window_that_was_left_says_so(void **state)
{
    (void)state;
    static const char *const times[] = {"\"opened_mono_ms\":-1",
                                        "\"opened_mono_ms\":\"\"", "\"opened\":1"};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        struct sidecar sidecar;
        gpufl_status status = parse_into("\"opened_mono_ms\":87776", times[i], &sidecar);
        assert_int_equal(status, GPUFL_OK);
        assert_true(sidecar.salvaged);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    static const char *const change[][2] = {
        {"\"schema_version\":1", "\"schema_version\":2"},
        {"transport_window", "transport_windows"},
        {"49c3f74c-8631", "49c3f74cx8631"},
        {SID, "2a50f868-d207-481f-acea-b3c3fe398b60"},
        {"\"channel\":\"device\"", "\"channel\":\"scope\""},
        {"\"window_sequence\":1", "\"window_sequence\":2"},
        {"\"window_sequence\":1", "\"window_sequence\":\"1\""},
        {"device.1.log.gz", "../../etc/passwd"},
        {"device.1.log.gz", "device.2.log.gz"},
        {"320767", "-1"},
        {"4294967295", "4294967296"},
        {"}\n", "}x"},
        {"}\n", ""},
        {"{\"schema", "[\"schema"},
        {"\"channel\"", "\"chann\\u0065l\""},
        {"}\n", ",\"n\\u0061me\":1}\n"},
        {"}\n", ",\"payload_bytes\":320767}\n"},
        {"\"session_id\"", "\"session_id\":\"other\",\"session_id\""},
    };
    for (size_t i = 0; i < sizeof change / sizeof change[0]; i++) {
        assert_int_equal(parse_with(change[i][0], change[i][1]), GPUFL_ERR_FORMAT);
    }
}

static void deep_nesting_is_refused(void **state)
{
    (void)state;
    static char text[65536];
    struct manifest manifest;
    memset(text, '[', sizeof text);
    assert_int_equal(manifest_parse(text, sizeof text, SID, &manifest), GPUFL_ERR_FORMAT);
    for (size_t i = 0; i + 5 < sizeof text; i += 5) {
        memcpy(text + i, "{\"a\":", 5);
    }
    assert_int_equal(manifest_parse(text, sizeof text, SID, &manifest), GPUFL_ERR_FORMAT);
}

static void a_manifest_names_its_own_session(void **state)
{
    (void)state;
    static const char text[] =
        "{\"schema_version\":1,\"layout\":\"live\",\"session_id\":\"" SID
        "\",\"pid\":42,\"boot_id\":\"b\"}\n";
    struct manifest manifest;
    assert_int_equal(manifest_parse(text, sizeof text - 1, SID, &manifest), GPUFL_OK);
    assert_int_equal(manifest.pid, 42);
    assert_int_equal(manifest_parse(text, sizeof text - 1, "other", &manifest),
                     GPUFL_ERR_FORMAT);
}

static void a_manifest_says_of_which_session_it_is(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{\"schema_version\":1,\"layout\":\"live\",\"session_id\":\"../x\"}",
        "{\"schema_version\":1,\"layout\":\"live\",\"session_id\":\"\"}",
        "{\"schema_version\":1,\"layout\":\"live\",\"session_id\":7}",
        "{\"schema_version\":1,\"layout\":\"windows\",\"session_id\":\"" SID "\"}",
        "{\"schema_version\":1,\"layout\":\"live\"}",
        "{\"schema_version\":1,\"layout\":\"live\",\"session_id\":\"a\",\"session_id\":"
        "\"" SID "\"}",
        "{\"schema_version\":1,\"layout\":\"live\",\"session\\u005fid\":\"" SID "\"}",
        "[]",
        "",
    };
    static const char good[] =
        "{\"schema_version\":1,\"layout\":\"live\",\"session_id\":\"" SID "\"}";
    char id[LAYOUT_NAME_MAX + 1];
    assert_true(manifest_names(good, sizeof good - 1, id));
    assert_string_equal(id, SID);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(manifest_names(bad[i], strlen(bad[i]), id));
    }
}

/* Each key is compared with those before it, so there is an end to them. */
static void a_manifest_of_very_many_members_is_refused(void **state)
{
    (void)state;
    struct manifest manifest;
    char text[4096];
    for (unsigned more = 0; more < 2; more++) {
        int len = snprintf(
            text, sizeof text,
            "{\"schema_version\":1,\"layout\":\"live\",\"session_id\":\"" SID "\"");
        for (unsigned i = 3; i < PLAIN_OBJECT_MEMBERS_MAX + more; i++) {
            len += snprintf(text + len, sizeof text - (size_t)len, ",\"m%u\":[\"]\"]", i);
        }
        len += snprintf(text + len, sizeof text - (size_t)len, "}");
        assert_int_equal(manifest_parse(text, (size_t)len, SID, &manifest),
                         more ? GPUFL_ERR_FORMAT : GPUFL_OK);
    }
}

static gpufl_status parse_listing(const char *channels, struct manifest *out)
{
    char text[2048];
    int n = snprintf(text, sizeof text,
                     "{\"schema_version\":1,\"layout\":\"live\",\"session_id\":\"" SID
                     "\",\"pid\":42,\"boot_id\":\"b\",\"channels\":%s}\n",
                     channels);
    return manifest_parse(text, (size_t)n, SID, out);
}

static void a_manifest_lists_channels_within_bounds(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "null",       "1",
        "\"device\"", "{}",
        "[1]",        "[null]",
        "[\"\"]",     "[\"../x\"]",
        "[\"a.b\"]",  "[\"01234567890123456789012345678901\"]"};
    struct manifest manifest;
    assert_int_equal(parse_listing("[]", &manifest), GPUFL_OK);
    assert_int_equal(manifest.channels, 0);
    assert_int_equal(parse_listing("[\"device\",\"later\"]", &manifest), GPUFL_OK);
    assert_int_equal(manifest.channels, 2);
    assert_string_equal(manifest.channel[1], "later");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(parse_listing(bad[i], &manifest), GPUFL_ERR_FORMAT);
    }
    for (unsigned more = 0; more < 2; more++) {
        char many[512];
        int len = snprintf(many, sizeof many, "[\"c\"");
        for (unsigned i = 1; i < MANIFEST_CHANNELS_MAX + more; i++) {
            len += snprintf(many + len, sizeof many - (size_t)len, ",\"c\"");
        }
        snprintf(many + len, sizeof many - (size_t)len, "]");
        assert_int_equal(parse_listing(many, &manifest),
                         more ? GPUFL_ERR_FORMAT : GPUFL_OK);
    }
}

static void job_start_is_found_whatever_its_spacing(void **state)
{
    (void)state;
    static const char text[] =
        "{\"type\":\"x\",\"ts_ns\":1}\n"
        "{\"version\":1,\"type\":\"job_start\",\"ts_ns\":1786200000123456789}";
    int64_t ts = 0;
    assert_true(identity_job_start_ns(text, sizeof text - 1, &ts));
    assert_int_equal(ts, 1786200000123456789);
    static const char spaced[] = "{\"type\": \"job_start\", \"ts_ns\": 7, \"pid\": 1}\n";
    assert_true(identity_job_start_ns(spaced, sizeof spaced - 1, &ts));
    assert_int_equal(ts, 7);
    assert_false(identity_job_start_ns("{}", 2, &ts));
    assert_false(
        identity_job_start_ns("{\"type\":\"job_start\"}\n{\"ts_ns\":5}", 33, &ts));
}

static void a_boot_id_longer_than_any_is_refused(void **state)
{
    (void)state;
    static const char digits[] = "0123456789012345678901234567890123456789"; /* 40 */
    struct manifest manifest;
    char text[256];
    for (int len = 39; len <= 40; len++) {
        int n = snprintf(text, sizeof text,
                         "{\"schema_version\":1,\"layout\":\"live\",\"session_id\":\"" SID
                         "\",\"pid\":42,\"boot_id\":\"%.*s\"}\n",
                         len, digits);
        assert_int_equal(manifest_parse(text, (size_t)n, SID, &manifest),
                         len == 39 ? GPUFL_OK : GPUFL_ERR_FORMAT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_real_sidecar_is_read),
        cmocka_unit_test(a_sidecar_of_a_window_that_was_left_says_so),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(a_manifest_names_its_own_session),
        cmocka_unit_test(a_manifest_says_of_which_session_it_is),
        cmocka_unit_test(a_manifest_of_very_many_members_is_refused),
        cmocka_unit_test(a_manifest_lists_channels_within_bounds),
        cmocka_unit_test(job_start_is_found_whatever_its_spacing),
        cmocka_unit_test(a_boot_id_longer_than_any_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
