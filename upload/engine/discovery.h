/* SPDX-License-Identifier: Apache-2.0 */
/* Which sessions lie under a root: found, kept while they cannot be looked into,
 * forgotten when they are gone. */
#ifndef GPUFL_UPLOAD_ENGINE_DISCOVERY_H
#define GPUFL_UPLOAD_ENGINE_DISCOVERY_H

#include "upload/core/registry.h"

/** Begins a listing when it is time, or something came or went. */
void discovery_begin(struct root *root, uint64_t now_ms);

/** Goes on with the listing that is under way. */
void discovery_step(struct root *root, uint64_t now_ms);

/** Something happened in the directory \p path, which may be new, or gone. */
void discovery_touch(struct root *root, const char *path, uint64_t now_ms);

/** True when a listing is under way, or due. */
bool discovery_waits(const struct root *root);

/** True when an uploader serves the directory \p dir: it holds an exclusive lock on it.
 */
bool discovery_is_served(int dir);

#endif
