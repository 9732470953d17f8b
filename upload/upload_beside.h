/* SPDX-License-Identifier: Apache-2.0 */
/* An upload from a directory that another uploader serves. */
#ifndef GPUFL_UPLOAD_UPLOAD_BESIDE_H
#define GPUFL_UPLOAD_UPLOAD_BESIDE_H

#include "upload/upload_open.h"

/** Waits until the other uploader, which \p why names, has sent what is there, or ends,
 * as one of another rank does: then this one has its turn.
 * \return GPUFL_OK with u->engine to go on with, or without when all is sent; else
 * u->result says why. */
GPUFL_MUST gpufl_status upload_beside(struct upload *u, char why[512]);

#endif
