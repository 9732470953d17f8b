/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a file is the one that a stream was read from: not by device and inode, which
 * change with mounts and boots, but by the bytes that were sent last. */
#ifndef GPUFL_UPLOAD_ENGINE_PROOF_H
#define GPUFL_UPLOAD_ENGINE_PROOF_H

#include "upload/core/stream.h"

/** Compares the last settled batch of a live stream with its file, once after a start and
 * whenever its directory was away. \return false if the bytes differ: the stream is held.
 */
bool proof_holds(struct stream *stream);

#endif
