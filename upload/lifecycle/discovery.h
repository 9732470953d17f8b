/* SPDX-License-Identifier: Apache-2.0 */
/* Which sessions lie under a root: found, and kept while they cannot be looked into. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_DISCOVERY_H
#define GPUFL_UPLOAD_LIFECYCLE_DISCOVERY_H

#include "upload/core/registry.h"

/** \return true if it is time for a listing, even if nothing came or went. */
bool discovery_is_due(const struct root *root, uint64_t now_ms);

/** Begins a listing if one is due, or something came or went. */
void discovery_begin(struct root *root, uint64_t now_ms);

/** Continues the current listing by a few directories, so that what they hold can be sent
 * before the rest was seen. */
void discovery_step(struct root *root, uint64_t now_ms);

/** Handles a change in the directory \p path, which may be new, or gone. */
void discovery_touch(struct root *root, const char *path, uint64_t now_ms);

/** Something came or went, and its name is not known. */
void discovery_list_soon(struct root *root);

/** \return true while the root, or a group in it, is listed. */
bool discovery_lists(const struct root *root);

/** \return true if a listing is under way or due. */
bool discovery_waits(const struct root *root);

/** \return true while a listing is under way or sessions are to be inspected. */
bool discovery_goes_on(const struct engine *engine);

#endif
