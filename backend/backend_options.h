/* SPDX-License-Identifier: Apache-2.0 */
/* The flags of gpufl-backend. */
#ifndef GPUFL_BACKEND_BACKEND_OPTIONS_H
#define GPUFL_BACKEND_BACKEND_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/flags.h"

struct backend_options {
    struct address listen;
    const char *db;
    char api_key[FLAG_SECRET_BYTES]; /**< "" = everybody may ask */
    bool insecure;                   /**< even from other hosts */
    int retain_days;
    uint64_t max_db_bytes;
};

/** Reads the command line and the environment. \return FLAGS_GO_ON, else the exit code of
 * the program. */
int backend_options_read(int argc, char **argv, struct backend_options *out);

#endif
