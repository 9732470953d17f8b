/* SPDX-License-Identifier: Apache-2.0 */
/* gpufl-agent: follows session directories and uploads them. */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent/healthcheck.h"
#include "agent/loop.h"
#include "agent/options.h"
#include "agent/process.h"
#include "agent/watch.h"

static int check(const struct options *o)
{
    if ((!o->folder || !*o->folder) && (!o->folders || !*o->folders)) {
        fputs("gpufl-agent: no directory to follow; give --folder=DIR "
              "(GPUFL_SOURCE_FOLDER)\n",
              stderr);
        return 1;
    }
    if (o->kafka && !o->type) {
        fprintf(stderr,
                "gpufl-agent: --%s: Kafka is not built in; send to an HTTP backend "
                "(--type=http, then settings of Kafka are left alone)\n",
                o->kafka);
        return 1;
    }
    if (o->type && strcmp(o->type, "http") != 0) {
        fprintf(stderr,
                "gpufl-agent: --type=%s is not built in; use --type=http with a backend "
                "that has /events/stream\n",
                o->type);
        return 1;
    }
    if (!o->host || !*o->host) {
        fputs("gpufl-agent: no backend; give --host=scheme://host[:port] "
              "(GPUFL_HTTP_HOST)\n",
              stderr);
        return 1;
    }
    const char *uid = o->require_owner_uid ? o->require_owner_uid : "";
    if (uid[strspn(uid, "0123456789")] || strlen(uid) > 10) {
        fprintf(stderr, "gpufl-agent: --require-owner-uid=%s is no number; see id -u\n",
                uid);
        return 1;
    }
    if (o->zstd_level < 1 || o->zstd_level > 19 || o->stream_max_bytes > (64u << 20)) {
        fputs("gpufl-agent: --zstd-level takes 1 to 19, --stream-max-bytes at most 64 "
              "MiB\n",
              stderr);
        return 1;
    }
    return 0;
}

/* Large blocks come and go in all sizes. From the heap they would leave holes: 0.3 to
 * 0.5 MiB more at the peak of a backlog. */
#define FROM_THE_KERNEL_BYTES (128 << 10)

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "healthcheck") == 0) {
        return healthcheck(argc - 1, argv + 1);
    }
    process_protect();
    mallopt(M_MMAP_THRESHOLD, FROM_THE_KERNEL_BYTES);
    bool have_inotify = watch_init(); /* first: it needs a low descriptor */
    struct options options;
    char why[512];
    sigset_t signals;
    int rc = 0;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals,
                NULL); /* all threads inherit it; the loop reads an fd */
    signal(SIGPIPE, SIG_IGN);
    if (options_read(argc, argv, &options, why) != GPUFL_OK) {
        fprintf(stderr, "gpufl-agent: %s\n", why);
        rc = 1;
    } else if (options.help) {
        options_help(stdout);
    } else if (options.version) {
        puts("gpufl-agent " GPUFL_VERSION " (wire v1)");
    } else {
        rc = check(&options);
        rc = rc ? rc : loop_run(&options, argc, argv, &signals, have_inotify);
    }
    options_fini(&options);
    return rc;
}
