/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a salvage reads as a whole. A large one takes many steps: where they
 * stand, and what they have found, is kept from one step to the next. */
#ifndef GPUFL_UPLOAD_SOURCE_SALVAGE_READINGS_H
#define GPUFL_UPLOAD_SOURCE_SALVAGE_READINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "upload/source/gz_file.h"

struct salvage_readings;

/** NULL without memory. End with salvage_readings_free. */
struct salvage_readings *salvage_readings_new(void);
void salvage_readings_free(struct salvage_readings *readings);

/** A question about files. A file that has changed is another one. */
struct salvage_reading {
    enum gz_task task; /**< any but GZ_COMPRESS */
    int fd;
    int other;                /**< -1 = none */
    struct gz_measure result; /**< of GZ_MEASURE */
};

/** Answers from what was found before, or reads on for *budget bytes. \return as
 * gz_file_step, or GPUFL_ERR_NOMEM. */
GPUFL_MUST gpufl_status salvage_read(struct salvage_readings *readings,
                                     const struct sys *sys, struct salvage_reading *of,
                                     size_t *budget);

/** A file that is compressed into another one. */
struct salvage_part {
    int raw;
    int dir;
    const char
        *name; /**< of the new file; one that has it, and is not ours, is removed */
};

/** Compresses on for *budget bytes. \return as gz_file_step, or GPUFL_ERR_NOMEM. */
GPUFL_MUST gpufl_status salvage_pack(struct salvage_readings *readings,
                                     const struct sys *sys,
                                     const struct salvage_part *part, size_t *budget);

/** \return true if `<dir>/<name>` is what salvage_pack is writing. */
bool salvage_packs(const struct salvage_readings *readings, int dir, const char *name);

/** \return true if salvage_pack of another process is writing `<dir>/<name>`. */
bool salvage_packs_elsewhere(const struct sys *sys, int dir, const char *name);

#endif
