/* SPDX-License-Identifier: Apache-2.0 */
/* What a piece of a program prints, as strings. */
#ifndef GPUFL_TESTS_CAPTURE_H
#define GPUFL_TESTS_CAPTURE_H

#define CAPTURE_BYTES 8192

/** Between capture_begin() and capture_end() stdout and stderr go into memory. */
struct capture {
    int kept[2];
    int memory[2];
    char out[CAPTURE_BYTES];
    char err[CAPTURE_BYTES];
};

void capture_begin(struct capture *capture);

/** Gives stdout and stderr back; what was printed stands in out and err. */
void capture_end(struct capture *capture);

#endif
