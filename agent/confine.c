/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the rules from the options and applies them. */
#include "agent/confine.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "agent/confine_paths.h"
#include "agent/confine_ports.h"
#include "agent/landlock.h"
#include "base/message.h"

/* Version 1 lets no file move between directories, which --salvage does. */
#define VERSION_NEEDED 2
#define ON             "on, "

static gpufl_status not_confined(const struct options *o, const char *reason,
                                 char said[512])
{
    bool required = o->landlock == CONFINE_REQUIRE;
    snprintf(said, 512, required ? "--landlock: 'require': %.480s" : "off, %.480s",
             reason);
    return required ? GPUFL_ERR_IO : GPUFL_OK;
}

static void describe_rules(const struct landlock *rules, char said[512])
{
    int len = snprintf(said, 512, ON "version %d, ports", rules->version);
    for (unsigned i = 0; i < rules->ports; i++) {
        len += snprintf(said + len, 512 - (size_t)len, " %u", rules->port[i]);
    }
    if (rules->version < LANDLOCK_VERSION_WITH_PORTS) {
        snprintf(said + len, 512 - (size_t)len, " all: the kernel is older than 6.7");
    }
}

static gpufl_status apply_rules(struct landlock *rules, const struct options *o,
                                enum state_use use, char said[512])
{
    char folder[PATH_MAX];
    char reason[512];
    if (!confine_allow_folders(rules, o, use, folder)) {
        snprintf(reason, sizeof reason,
                 "'%.*s%s' does not exist, nor any directory above it but / (make it)",
                 MESSAGE_VALUE(folder, 300));
        return not_confined(o, reason, said);
    }
    confine_allow_system(rules);
    confine_allow_own_files(rules, o);
    confine_allow_ports(rules, o);
    if (landlock_apply(rules) < 0) {
        return not_confined(o, strerror(errno), said);
    }
    describe_rules(rules, said);
    return GPUFL_OK;
}

gpufl_status confine(const struct options *o, enum state_use use, char said[512])
{
    struct landlock rules;
    if (o->landlock == CONFINE_OFF) {
        snprintf(said, 512, "off, as asked");
        return GPUFL_OK;
    }
    int version = landlock_version();
    if (version < VERSION_NEEDED) {
        return not_confined(
            o, "the kernel does not support Landlock (5.19, lsm=landlock)", said);
    }
    if (landlock_open(version, &rules) < 0) {
        return not_confined(o, strerror(errno), said);
    }
    gpufl_status status = apply_rules(&rules, o, use, said);
    landlock_close(&rules);
    return status;
}

bool confine_is_on(const char *said)
{
    return strncmp(said, ON, sizeof ON - 1) == 0;
}
