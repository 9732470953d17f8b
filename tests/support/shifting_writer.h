/* SPDX-License-Identifier: Apache-2.0 */
/* A writer of the 1.1 layout, as the existing client does it: it renames, compresses and
 * deletes its files, a step at a time. */
#ifndef GPUFL_TESTS_SHIFTING_WRITER_H
#define GPUFL_TESTS_SHIFTING_WRITER_H

#include <stdbool.h>
#include <stddef.h>

#define SHIFTING_ID      "33333333-3333-4333-8333-333333333333"
#define SHIFTING_CHANNEL "scope"
#define SHIFTING_KEPT    100

enum shifting_phase {
    SHIFTING_WRITES,
    SHIFTING_SHIFTS,
    SHIFTING_RETIRES,
    SHIFTING_COMPRESSES,
    SHIFTING_DELETES_RAW,
    SHIFTING_CLOSES,
    SHIFTING_DELETES_ACTIVE,
    SHIFTING_OVER
};

/** All zero before the first step, but for the directory. */
extern struct shifting_writer {
    char dir[600];
    enum shifting_phase phase;
    int shifting; /**< the number that moves up next */
    int line;
    int rotations;
    bool compresses;
    bool alike; /* all files begin with the same line */
    bool wants_end;
    char *written; /**< all lines so far; the caller frees it */
    size_t len;
} shifting_writer;

void shifting_writer_line(void);

/** One step: what a reader may see before and after. */
void shifting_writer_step(void);

#endif
