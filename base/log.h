/* SPDX-License-Identifier: Apache-2.0 */
/* Log events, one line each: `level event key=value …`. */
#ifndef GPUFL_BASE_LOG_H
#define GPUFL_BASE_LOG_H

#include <stdatomic.h>
#include <stdint.h>

/** What a line is about is no user's. */
#define LOG_ABOUT_NOBODY UINT32_MAX

enum log_level {
    LOG_AT_ERROR, /**< a person must act */
    LOG_AT_WARN,  /**< degraded, but work goes on */
    LOG_AT_INFO,  /**< a change of state */
    LOG_AT_DEBUG  /**< every batch */
};

/** Where lines go. `write` gets each line without a newline. */
struct log {
    enum log_level level; /**< lines above this level are dropped */
    void (*write)(void *arg, enum log_level level, const char *line);
    void *arg;
    _Atomic uint32_t *about; /**< the account whose sessions lines are about, for `write`;
                                NULL = that is of no interest */
};

/** Until it is called again, lines are about what is \p account's. Those of other threads
 * are taken for that, too. \return what it was before, to be restored. */
uint32_t log_about(const struct log *log, uint32_t account);

/** Writes one line, and leaves errno as it was. */
__attribute__((format(printf, 4, 5))) void log_line(const struct log *log,
                                                    enum log_level level,
                                                    const char *event, const char *format,
                                                    ...);

#define log_error(log, event, ...) log_line(log, LOG_AT_ERROR, event, __VA_ARGS__)
#define log_warn(log, event, ...)  log_line(log, LOG_AT_WARN, event, __VA_ARGS__)
#define log_info(log, event, ...)  log_line(log, LOG_AT_INFO, event, __VA_ARGS__)
#define log_debug(log, event, ...) log_line(log, LOG_AT_DEBUG, event, __VA_ARGS__)

/** Writes to stderr; under systemd (JOURNAL_STREAM set) with a `<N>` priority prefix. */
void log_to_stderr(void *arg, enum log_level level, const char *line);

#endif
