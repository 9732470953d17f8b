/* SPDX-License-Identifier: Apache-2.0 */
/* Makes sessions that are over, and reads what is published of them. */
#include "tests/support/ended_sessions.h"

#include <stdio.h>

#include "tests/support/check.h"
#include "tests/support/dirs.h"
#include "upload/core/engine_state.h"
#include "upload/published/progress_file.h"

void ended_id(unsigned n, char id[40])
{
    snprintf(id, 40, "%08u-7777-4777-8777-777777777777", n);
}

void ended_make(const char *root, unsigned first, unsigned count)
{
    for (unsigned n = first; n < first + count; n++) {
        struct live_session live;
        char id[40];
        ended_id(n, id);
        live_open(&live, root, id);
        live_line(&live, "scope", "x", 1);
        live_close(&live);
    }
}

struct root *ended_root(const struct rig *rig)
{
    return rig->engine->root[0];
}

unsigned ended_requests(const struct rig *rig, enum transport_kind kind)
{
    unsigned count = 0;
    for (unsigned i = 0; i < rig->requests; i++) {
        count += rig->request[i].kind == kind && rig->request[i].status == 200;
    }
    return count;
}

static void ended_add_line(void *arg, const struct progress_line *line)
{
    struct ended_told *told = arg;
    told->lines++;
    told->offset += line->offset;
}

struct ended_told ended_told_of(const struct rig *rig)
{
    struct ended_told told = {0, 0};
    assert_int_equal(
        progress_read(&sys_real, ended_root(rig)->fd, NULL, ended_add_line, &told),
        GPUFL_OK);
    return told;
}
