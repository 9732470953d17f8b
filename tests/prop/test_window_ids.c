/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of which others have sent the ids first, with random answers, a disk that fails
 * and forgets, and random deaths: in the end the registry holds each once, and nothing is
 * in quarantine. SEED=n repeats one run; ROUNDS=n runs more.
 */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "schema/layout.h"
#include "tests/support/dirs.h"
#include "tests/support/disk.h"
#include "tests/support/pick.h"
#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"
#include "upload/http/encode.h"

#define WINDOWS 12u
#define STEPS   40

static void payload_of(unsigned number, char out[32])
{
    snprintf(out, 32, "window number %u\n", number);
}

static void put_window(const char *dir, unsigned number)
{
    char name[LAYOUT_PATH_MAX];
    char payload[32];
    char text[640];
    payload_of(number, payload);
    snprintf(text, sizeof text,
             "{\"schema_version\":1,\"type\":\"transport_window\",\"window_id\":"
             "\"49c3f74c-8631-4bcc-a364-%012u\",\"session_id\":\"" RIG_ID
             "\",\"channel\":\"device\",\"window_sequence\":%u,\"opened_mono_ms\":1,"
             "\"closed_mono_ms\":2,\"created_wall_ms\":3,\"payload_file\":"
             "\"device.%u.log.gz\",\"payload_bytes\":%zu,\"payload_crc32\":%u}\n",
             number, number, number, strlen(payload),
             encode_crc32(0, payload, strlen(payload)));
    layout_sidecar(name, "device", number);
    dirs_append(dir, name, text);
    layout_numbered(name, "device", number, true);
    dirs_append(dir, name, payload);
}

/* As another user does, with a session of theirs. */
static void take_id(struct rig *rig, unsigned number)
{
    struct rig_request *r = &rig->request[rig->requests++];
    rig->answered = rig->requests;
    *r = (struct rig_request){.kind = TRANSPORT_BATCH,
                              .sequence = 1000 + number,
                              .crc32 = number,
                              .status = 200,
                              .raw = strdup("other lines\n"),
                              .raw_len = 12};
    snprintf(r->session, sizeof r->session, "%s", RIG_ID2);
    snprintf(r->channel, sizeof r->channel, "device");
    snprintf(r->id, sizeof r->id, "49c3f74c-8631-4bcc-a364-%012u", number);
}

/* Any answer that leaves the window with us, or loses the answer to one that is stored.
 */
static int moody(struct rig *rig, const struct rig_request *r)
{
    static const int status[] = {0, 408, 429, 500, 503, 401, 404};
    (void)r;
    if (pick(100) >= (uint64_t)rig->mark) {
        return RIG_REGISTRY;
    }
    return pick(2) ? RIG_LOST : status[pick(sizeof status / sizeof status[0])];
}

static void one_step(struct rig *rig)
{
    switch (pick(6)) {
    case 0:
        disk_crash((enum disk_loss)pick(DISK_LOSS_KINDS));
        rig_stop(rig);
        disk_restore();
        rig_start(rig);
        break;
    case 1:
        rig->silent = !rig->silent;
        break;
    case 2:
        rig->mark = (int)pick(90);
        break;
    case 3:
        disk_faults(pick(2) ? (unsigned)pick(30) : 0);
        break;
    default:
        rig_run(rig, pick(3000), false);
        break;
    }
}

static void compare(const struct rig *rig)
{
    for (unsigned n = 1; n <= WINDOWS; n++) {
        unsigned stored = 0;
        char payload[32];
        payload_of(n, payload);
        for (unsigned i = 0; i < rig->requests; i++) {
            const struct rig_request *r = &rig->request[i];
            if (r->kind == TRANSPORT_BATCH && r->status == 200 && r->raw &&
                strcmp(r->session, RIG_ID) == 0 && r->sequence == n) {
                assert_string_equal(r->raw, payload);
                stored++;
            }
        }
        assert_int_equal(stored, 1);
    }
}

static void one_round(uint64_t seed)
{
    struct rig *rig = rig_new();
    char dir[600];
    pick_seed(seed);
    snprintf(dir, sizeof dir, "%s/" RIG_ID, rig->root);
    assert_int_equal(mkdir(dir, 0755), 0);
    dirs_append(dir, LAYOUT_LOCK, "");
    for (unsigned n = 1; n <= WINDOWS; n++) {
        put_window(dir, n);
        if (pick(4)) {
            take_id(rig, n);
        }
    }
    rig->answer = moody;
    rig->config.delete_acked = pick(2) ? DELETE_ALL : DELETE_NEVER;
    rig->config.journal_bytes = pick(2) ? 2000 : 512u << 10;
    rig->sync_ms = pick(2) * pick(3000);
    rig_start(rig);
    for (int i = 0; i < STEPS; i++) {
        one_step(rig);
    }
    disk_faults(0);
    rig->silent = false;
    rig->mark = 0;
    engine_retry_now(rig->engine);
    engine_rescan(rig->engine);
    rig_run(rig, 24ull * 3600 * 1000, true);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 0);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    compare(rig);
    rig_delete(rig);
}

static void windows_whose_ids_others_have_sent_are_stored_once(void **state)
{
    (void)state;
    const char *seed = getenv("SEED");
    const char *rounds = getenv("ROUNDS");
    uint64_t first = seed ? strtoull(seed, NULL, 10) : 1;
    uint64_t count = seed ? 1 : rounds ? strtoull(rounds, NULL, 10) : 60;
    for (uint64_t i = 0; i < count; i++) {
        fprintf(stderr, "SEED=%llu\n", (unsigned long long)(first + i));
        one_round(first + i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_whose_ids_others_have_sent_are_stored_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
