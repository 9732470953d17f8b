/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of struct holder_targets, for the files that fill them. */
#ifndef GPUFL_UPLOAD_HOLDER_TARGETS_STATE_H
#define GPUFL_UPLOAD_HOLDER_TARGETS_STATE_H

#include "upload/holder_session.h"
#include "upload/holder_target.h"
#include "upload/journal/lookup.h"

struct holder_targets {
    const struct sys *sys;
    int root;
    const struct journal_read *journal; /**< while they are opened */
    struct holder_target *target;
    size_t count;
    struct holder_session *session;
    size_t *first; /**< target of each of these; its others follow */
    size_t sessions;
    struct lookup by_path;  /**< of these */
    struct lookup by_group; /**< likewise, by that of the directory in which it lies */
    struct lookup by_id;    /**< likewise, by their ids */
    uint32_t seed;          /**< of the hashes: others choose the paths, but not this */
    struct progress_file_stamp stamp[2];
    uint64_t database; /**< of the backend, when the files were read */
    uint64_t epoch;    /**< of it; 0 = not said */
    bool looked;
    uint64_t moved; /**< stands for what is settled */
};

#endif
