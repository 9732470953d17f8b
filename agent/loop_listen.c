/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the listener, at the start or once its address is free. */
#include "agent/loop_listen.h"

#include <stdio.h>
#include <string.h>

#include "agent/options/option_value.h"

#define LISTEN_AGAIN_MS 10000u

static gpufl_status open_listener(struct loop *loop, char why[512])
{
    struct address address;
    const char *way_out = address_parse(loop->options->listen, &address);
    if (way_out) {
        snprintf(why, 512, "--listen: %s", way_out);
        return GPUFL_ERR_USAGE;
    }
    struct listen_wake wake = {.call = loop->start.transport.wakeup,
                               .arg = loop->start.transport.self};
    gpufl_status status = listener_open(&address, wake, &loop->listener, why);
    if (status == GPUFL_OK) {
        log_info(&loop->log, "agent.listening", "port=%u", listener_port(loop->listener));
    }
    return status;
}

/* Each reason is said once. */
static void wait_for_address(struct loop *loop, char why[512])
{
    option_blame_source(loop->options, why);
    if (strcmp(why, loop->listen_why) != 0) {
        snprintf(loop->listen_why, sizeof loop->listen_why, "%s", why);
        log_error(&loop->log, "agent.not_listening",
                  "reason=\"%s\" note=\"lines are sent; until the address is free, which "
                  "is tried every 10 s, there are no metrics\"",
                  why);
        engine_tell(loop->engine, why);
    }
    loop->listen_at_ms = sys_real.now_ms() + LISTEN_AGAIN_MS;
}

gpufl_status loop_listen(struct loop *loop, char why[512])
{
    const char *at = loop->options->listen;
    gpufl_status status = at && *at ? open_listener(loop, why) : GPUFL_OK;
    if (status == GPUFL_BUSY) {
        wait_for_address(loop, why);
        status = GPUFL_OK;
    }
    return status;
}

void loop_listen_again(struct loop *loop, uint64_t now_ms)
{
    char why[512];
    if (!loop->listen_why[0] || now_ms < loop->listen_at_ms) {
        return;
    }
    if (open_listener(loop, why) == GPUFL_OK) {
        loop->listen_why[0] = '\0';
        engine_tell(loop->engine, "");
    } else {
        wait_for_address(loop, why);
    }
}
