/* SPDX-License-Identifier: Apache-2.0 */
/* Examines the settings in the order in which they are used. */
#include "agent/start.h"

#include <stdio.h>
#include <string.h>

#include "agent/confine.h"
#include "agent/engine_options.h"
#include "agent/folders.h"
#include "agent/folders_trial.h"
#include "agent/listen.h"
#include "agent/options/option_value.h"
#include "agent/state_trial.h"

static gpufl_status start_try_watch(const struct options *o, bool have_inotify,
                                    char why[512])
{
    if (o->watch != WATCH_INOTIFY || have_inotify) {
        return GPUFL_OK;
    }
    snprintf(why, 512,
             "--watch: 'inotify': it is not available (raise "
             "fs.inotify.max_user_instances or use --watch=auto)");
    return GPUFL_ERR_IO;
}

static gpufl_status start_try_listen(const struct options *o, char why[512])
{
    struct address address;
    if (!o->listen || !*o->listen || address_parse(o->listen, &address)) {
        return GPUFL_OK; /* option_check has said what is wrong */
    }
    return listener_try(&address, why);
}

static gpufl_status start_examine(const struct options *o, const struct start_mode *mode,
                                  struct start *out, char why[512])
{
    struct engine_channels channels;
    gpufl_status status = folders_read_channels(o, &channels, why);
    status = status == GPUFL_OK ? engine_options_token(o, &out->token, why) : status;
    status = status == GPUFL_OK ? engine_options_transport(o, token_value(&out->token),
                                                           &out->transport, why)
                                : status;
    status = status == GPUFL_OK ? folders_trial(o, why) : status;
    status = status == GPUFL_OK ? state_trial(o, why) : status;
    return status == GPUFL_OK ? start_try_watch(o, mode->have_inotify, why) : status;
}

gpufl_status start_open(const struct options *options, const struct start_mode *mode,
                        struct start *out, char why[512])
{
    memset(out, 0, sizeof *out);
    gpufl_status status = start_examine(options, mode, out, why);
    if (status == GPUFL_OK) {
        status = confine(options, mode->state, out->confined);
        snprintf(why, 512, "%s", status == GPUFL_OK ? "" : out->confined);
    }
    status = status == GPUFL_OK
                 ? engine_options_cursor(options, mode->log, &out->imported, why)
                 : status;
    status = status == GPUFL_OK ? start_try_listen(options, why) : status;
    if (status != GPUFL_OK) {
        option_blame_source(options, why);
    }
    return status;
}

void start_close(struct start *start)
{
    transport_http_close(&start->transport);
    java_cursor_close(start->imported);
    token_fini(&start->token);
}
