/* SPDX-License-Identifier: Apache-2.0 */
/* Comma-separated lists of folders and channels. */
#ifndef GPUFL_AGENT_FOLDERS_H
#define GPUFL_AGENT_FOLDERS_H

#include <stdbool.h>

#include <gpufl/status.h>

#include "agent/options/options.h"
#include "upload/source/select.h"

/** Reads --log-types, `device,scope,…`; blanks and empty parts are skipped.
 *  \return GPUFL_OK or GPUFL_ERR_USAGE with `NAME: why` in \p why. */
GPUFL_MUST gpufl_status folders_read_channels(const struct options *options,
                                              struct engine_channels *out, char why[512]);

/** True when one of the folders lies on a network file system. \p list may be NULL. */
bool folders_any_remote(const char *list);

/** Copies the next folder of the comma-separated \p *list, cut to fit, and moves behind
 * it. \return false at the end. */
bool folders_next(const char **list, char *path, size_t size);

/** Copies the folder number \p index of --folder and --folders together, cut to fit.
 *  \return false when there are no more. */
bool folders_at(const struct options *options, unsigned index, char *path, size_t size);

/** \return the flag that names \p path. */
const char *folders_flag(const struct options *options, const char *path);

/** \return what to say besides of a folder that does not exist yet: "" or a hint. */
const char *folders_hint(const char *path);

/** True if \p path is one of \p list, which may be NULL, letter by letter. */
bool folders_has(const char *list, const char *path);

/** Copies the folder of \p list (may be NULL) that is the same directory as \p path: by
 * device and inode, whatever the names. \return false when there is none. */
bool folders_same(const char *list, const char *path, char *same, size_t size);

/** Adds the sessions in folder \p path to \p into.
 *  \return GPUFL_OK, or an error with its reason in \p why. */
GPUFL_MUST gpufl_status folders_list(const char *path, struct selection *into,
                                     char why[512]);

#endif
