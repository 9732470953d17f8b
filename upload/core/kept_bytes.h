/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted of the share of an owner for the path of a session. */
#ifndef GPUFL_UPLOAD_CORE_KEPT_BYTES_H
#define GPUFL_UPLOAD_CORE_KEPT_BYTES_H

#include <stdint.h>

/** What a claim takes, see core/claims.h. */
#define KEPT_CLAIM_BYTES 64u

/** \return the bytes of its text, and of its claim if it lies in a group. */
uint64_t kept_bytes_of_path(const char *path);

#endif
