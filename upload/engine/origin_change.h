/* SPDX-License-Identifier: Apache-2.0 */
/* The journal is about one backend. When the settings name another one, all positions
 * begin again, once that one has taken the key: a typing error changes nothing. */
#ifndef GPUFL_UPLOAD_ENGINE_ORIGIN_CHANGE_H
#define GPUFL_UPLOAD_ENGINE_ORIGIN_CHANGE_H

#include "upload/core/registry.h"

/** Why --same-origin is refused: the option's name, the URL, the log directory, the URL
 * of the journal. */
#define ORIGIN_WAS_LEFT                                                                  \
    "%s: '%.120s': the journal of %.120s knows it as another backend than %.100s, "      \
    "which has got what this one lacks (leave it out: then this one gets that, too)"

/** Compares the backend of the settings with the one that the journal was kept for, and
 * says what follows. To be called when the journal was read. \return GPUFL_ERR_USAGE if
 * they cannot be the same, though a person says so. */
gpufl_status origin_change_open(struct root *root, char why[512]);

/** The key was replaced while it was in use: what was sent stays sent. */
void origin_change_key(struct root *root);

/** What follows for all journals from what is known about the backend: once it has taken
 * the key, it is noted, and all begins again if it is another one, or has another
 * database, than before. No answer may be half handled. */
void origin_change_settle(struct engine *engine);

/** Whether it is still to be asked who it is, and something was sent that it may lack. */
bool origin_change_is_unknown(const struct root *root);

/** Applies a record of the journal. */
void origin_change_replay(struct root *root, const struct record_origin *record);

/** Appends the backend to a journal that is rewritten. */
void origin_change_write_state(const struct root *root);

#endif
