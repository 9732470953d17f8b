/* SPDX-License-Identifier: Apache-2.0 */
/* Records the last problem, and since when the backend has been in trouble. */
#include "upload/core/trouble.h"

#include <stdarg.h>
#include <stdio.h>

void trouble_say(struct trouble *trouble, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(trouble->last, sizeof trouble->last, format, args);
    va_end(args);
}

void trouble_set(struct trouble *trouble, const struct sys *sys, bool is_there)
{
    if (is_there != (trouble->since_s != 0)) {
        trouble->since_s = is_there ? sys->wall_s() : 0;
        trouble->stamp++;
    }
}

void trouble_tell(struct trouble *trouble, const char *what)
{
    snprintf(trouble->aside, sizeof trouble->aside, "%s", what);
    trouble->stamp++;
}
