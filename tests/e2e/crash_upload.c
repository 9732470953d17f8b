/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads a root with the real engine over real HTTP, and kills itself at the n-th
 * write, sync, rename, unlink or send. Usage: crash_upload ROOT URL N before|after Exit
 * 0: it lived to the end, and the number of points is printed. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schema/channels.h"
#include "upload/engine/engine.h"
#include "upload/http/transport_http.h"

static long points;
static long kill_at;
static bool before;
static struct transport http;

static void point(bool is_before)
{
    if (is_before == before && ++points == kill_at) {
        kill(getpid(), SIGKILL);
    }
}

static ssize_t crash_pwrite(int fd, const void *buf, size_t len, off_t at)
{
    point(true);
    ssize_t n = sys_real.pwrite(fd, buf, len, at);
    point(false);
    return n;
}

static int crash_fdatasync(int fd)
{
    point(true);
    int rc = sys_real.fdatasync(fd);
    point(false);
    return rc;
}

static int crash_fsync(int fd)
{
    point(true);
    int rc = sys_real.fsync(fd);
    point(false);
    return rc;
}

static int crash_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    point(true);
    int rc = sys_real.renameat(from_dir, from, to_dir, to);
    point(false);
    return rc;
}

static int crash_unlinkat(int dir, const char *path, int flags)
{
    point(true);
    int rc = sys_real.unlinkat(dir, path, flags);
    point(false);
    return rc;
}

/* After a send: once the request's bytes may be on their way, before its answer is read.
 */
static gpufl_status crash_submit(void *self, const struct transport_request *request)
{
    point(true);
    gpufl_status status = http.submit(self, request);
    if (!before && status == GPUFL_OK && ++points == kill_at) {
        for (int i = 0; i < 20; i++) {
            http.poll(self, 5, -1);
            struct transport_reply unread;
            if (http.next(self, &unread)) {
                break; /* it is stored, and nobody has taken note */
            }
        }
        kill(getpid(), SIGKILL);
    }
    return status;
}

int main(int argc, char **argv)
{
    static const struct engine_channels channels = {{CHANNEL_NAMES}, CHANNEL_COUNT};
    char why[512];
    struct sys sys = sys_real;
    struct engine *engine;
    struct engine_config config;
    struct transport_http_config http_config = {.token = "gpfl_marker_key",
                                                .user_agent = "crash_upload",
                                                .connect_timeout_ms = 5000,
                                                .read_timeout_ms = 5000,
                                                .total_timeout_ms = 20000};
    if (argc != 5) {
        return 2;
    }
    http_config.backend_url = argv[2];
    kill_at = atol(argv[3]);
    before = strcmp(argv[4], "before") == 0;
    sys.pwrite = crash_pwrite;
    sys.fdatasync = crash_fdatasync;
    sys.fsync = crash_fsync;
    sys.renameat = crash_renameat;
    sys.unlinkat = crash_unlinkat;
    if (transport_http_open(&http_config, &http, why) != GPUFL_OK) {
        return 3;
    }
    engine_config_default(&config);
    config.sys = &sys;
    config.syncer = syncer_inline(&sys);
    config.transport = http;
    config.transport.submit = crash_submit;
    config.flush_interval_ms = 0;
    config.max_requests_per_second = 0;
    config.salvage = true;
    config.delete_acked = DELETE_ALL;
    config.max_batch_lines = 7; /* several batches of a small session */
    if (engine_open(&config, &engine) != GPUFL_OK ||
        engine_add_root(engine, argv[1], &channels, why) != GPUFL_OK) {
        return 4;
    }
    while (!engine_drained(engine)) {
        uint64_t wait_ms = engine_turn(engine);
        if (!engine_drained(engine)) {
            http.poll(http.self, wait_ms < 100 ? wait_ms : 100, -1);
        }
    }
    engine_close(engine);
    transport_http_close(&http);
    printf("%ld\n", points);
    return 0;
}
