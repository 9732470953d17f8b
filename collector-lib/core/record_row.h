/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a batch, written from the lists of columns in schema/records.h. */
#ifndef GPUFL_COLLECTOR_CORE_RECORD_ROW_H
#define GPUFL_COLLECTOR_CORE_RECORD_ROW_H

#include <stdint.h>

#include "base/text.h"

/* A cell is a variable with the name of its column, an int64_t or a uint64_t; `out` is
 * the text that it is appended to. The list determines order and count: a column
 * without a variable does not compile, and the compiler warns of a variable without a
 * column. */
#define RECORD_CELL_(name)                                                               \
    _Generic((name), int64_t : text_i64, uint64_t : text_u64)(out, (name))

/** The first cell of a row, with the bracket before it. */
#define RECORD_FIRST_CELL(name)                                                          \
    text_char(out, '[');                                                                 \
    RECORD_CELL_(name);

/** A further cell, with the comma before it. */
#define RECORD_NEXT_CELL(name)                                                           \
    text_char(out, ',');                                                                 \
    RECORD_CELL_(name);

/** A whole row of \p list. */
#define RECORD_ROW(list)                                                                 \
    do {                                                                                 \
        list(RECORD_FIRST_CELL, RECORD_NEXT_CELL) text_char(out, ']');                   \
    } while (0)

#endif
