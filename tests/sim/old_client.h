/* SPDX-License-Identifier: Apache-2.0 */
/* Writers of the existing clients, 1.1 and 1.3, call by call, so that one that is killed
 * leaves any of their stages. */
#ifndef GPUFL_TESTS_SIM_OLD_CLIENT_H
#define GPUFL_TESTS_SIM_OLD_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "tests/sim/inode.h"

#define OLD_CHANNELS_MAX 4

enum old_layout {
    OLD_NONE,     /**< it is no existing client */
    OLD_WINDOWS,  /**< 1.3: written in `.tmp`, published whole with a sidecar */
    OLD_SHIFTING, /**< 1.1: numbers shift up, 1 is the newest */
};

struct old_client {
    enum old_layout layout;
    char dir[200];
    char id[40];
    int lock_fd;
    bool packs; /**< 1.1: rotated files become gzip files */
    uint32_t windows[OLD_CHANNELS_MAX];
};

/** Makes the directory of session \p id. \return false if it cannot. */
bool old_client_begin(struct old_client *old, const char *log_path, const char *id,
                      enum old_layout layout);

/** \return how many bytes were written. */
size_t old_client_append(struct old_client *old, const char *channel, const char *data,
                         size_t len);

/** Writes the line of files that tell first what they are part of, and adds what was
 * written to \p written. */
void old_client_append_head(struct old_client *old, const char *channel,
                            struct text *written);

/** Seals the active file of a channel, of which the client has number \p index. */
void old_client_rotate(struct old_client *old, const char *channel, int index);

/** \return true if, in its directory \p dir, both forms of a file are there, as of one
 * that was killed between the calls of a compression: the compressed one is empty or
 * torn. */
bool old_client_was_packing(const struct old_client *old, const struct inode *dir);

/** Writes nothing more. */
void old_client_end(struct old_client *old, const char *const *channel, int channels);

#endif
