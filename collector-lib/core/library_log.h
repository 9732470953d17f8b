/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of libgpufl for the people who run the job: one line each, to stderr or to the
 * function that the program has set. */
#ifndef GPUFL_COLLECTOR_CORE_LIBRARY_LOG_H
#define GPUFL_COLLECTOR_CORE_LIBRARY_LOG_H

#include <stdatomic.h>
#include <stdint.h>

#include <gpufl/gpufl.h>

/** Passes one line on, without newline; "[GPUFL] " comes before it on stderr. Control
 * characters in it are escaped. By any thread. */
__attribute__((format(printf, 2, 3))) void library_log(enum gpufl_log_level level,
                                                       const char *format, ...);

/** Lines of a thread that has not the descriptors of the job. */
struct library_log_kept {
    _Atomic(struct kept_message *) last;
    void (*tell)(void); /**< is called behind each line */
};

/** From now on, what this thread has to say is kept in \p kept. */
void library_log_keep(struct library_log_kept *kept);

/** Passes on what is kept. By one thread at a time. */
void library_log_pass(struct library_log_kept *kept);

/** From now on, standard error is the file that has its number now; it is called when the
 * library is loaded, too. */
void library_log_note_stderr(void);

/** The program's function has so many ms to return, by default as many as a session with
 * default settings has to end; afterwards messages go to stderr until it has. */
#define LIBRARY_LOG_PATIENCE_MS 3000
void library_log_patience(uint64_t ms);

/** In a forked child: no other thread holds the lock any more. */
void library_log_after_fork(void);

#endif
