/* SPDX-License-Identifier: Apache-2.0 */
/* The certificates that the system trusts. */
#ifndef GPUFL_UPLOAD_HTTP_SYSTEM_TRUST_H
#define GPUFL_UPLOAD_HTTP_SYSTEM_TRUST_H

#include <stdbool.h>

/** \return true if they lie in a directory, under names by which libcurl's TLS finds the
 * one that it needs. To read the file that has all takes 20 ms, and that for each
 * connection. */
bool system_trust_has_names(void);

#endif
