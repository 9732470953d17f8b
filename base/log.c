/* SPDX-License-Identifier: Apache-2.0 */
/* Formats log lines; no control character gets into one. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const level_name[] = {"error", "warn", "info", "debug"};

uint32_t log_about(const struct log *log, uint32_t account)
{
    return log && log->about
               ? atomic_exchange_explicit(log->about, account, memory_order_relaxed)
               : LOG_ABOUT_NOBODY;
}

void log_line(const struct log *log, enum log_level level, const char *event,
              const char *format, ...)
{
    if (!log || !log->write || level > log->level) {
        return;
    }
    char line[1024];
    int error = errno;
    int used = snprintf(line, sizeof line, "%s %s ", level_name[level], event);
    va_list args;
    va_start(args, format);
    vsnprintf(line + used, sizeof line - (size_t)used, format, args);
    va_end(args);
    for (char *c = line; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) {
            *c = '?';
        }
    }
    log->write(log->arg, level, line);
    errno = error; /* a caller may name the reason behind the line, too */
}

void log_to_stderr(void *arg, enum log_level level, const char *line)
{
    static const char *const priority[] = {"<3>", "<4>", "<6>", "<7>"};
    (void)arg;
    fprintf(stderr, "%s%s\n", getenv("JOURNAL_STREAM") ? priority[level] : "", line);
}
