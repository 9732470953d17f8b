/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes, from rows to lines, and which of them are in the files with begin and end. */
#ifndef GPUFL_COLLECTOR_WRITER_SCOPE_LINES_H
#define GPUFL_COLLECTOR_WRITER_SCOPE_LINES_H

#include "collector-lib/writer/writer_state.h"

/** Notes that the scope of \p row is open. */
void scope_lines_begin(struct writer *writer, const struct row *row);

/** Notes that the scope of \p row is open no more. */
void scope_lines_end(struct writer *writer, struct row *row);

/** Writes the begins and ends among the rows of the drain, in their order. */
void scope_lines_write(struct writer *writer);

#endif
