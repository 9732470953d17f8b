/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of the caller's that an upload cannot look at, in groups of other users. */
#ifndef GPUFL_UPLOAD_UPLOAD_CLOSED_H
#define GPUFL_UPLOAD_UPLOAD_CLOSED_H

#include "upload/upload_open.h"

/** After an upload, by this process or another uploader, that leaves nothing: says if one
 * session was to be sent that was found nowhere, but may lie in a group that another user
 * has closed, or if the journal knows one of this user's there. \return GPUFL_OK or
 * GPUFL_PARTIAL. */
gpufl_status upload_closed(struct upload *u);

#endif
