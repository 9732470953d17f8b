/* SPDX-License-Identifier: Apache-2.0 */
/* Turns rings, samples and traces into lines of the channels' files. */
#ifndef GPUFL_COLLECTOR_WRITER_WRITER_LINES_H
#define GPUFL_COLLECTOR_WRITER_WRITER_LINES_H

#include "collector-lib/writer/writer_state.h"

/** Writes the lines that open a session. */
void writer_lines_open(struct writer *writer);

/** Writes all that was recorded, then the lines that close the session. */
void writer_lines_close(struct writer *writer);

/** Writes rows of the rings, for some 10 ms at most; or \p all that they held when it was
 * called. Once the calls are among them to which what was fetched refers, writes that. */
void writer_lines_drain(struct writer *writer, bool all);

/** Fetches what the tracer has, if it is time, or \p now_or_never; with \p last, all. */
void writer_lines_fetch(struct writer *writer, bool now_or_never, bool last);

/** Takes and writes a sample of devices and host if one is due. */
void writer_lines_sample(struct writer *writer);

/** What the session does not contain so far. For any thread. */
struct losses writer_lines_losses(struct writer *writer);

#endif
