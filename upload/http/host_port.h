/* SPDX-License-Identifier: Apache-2.0 */
/* Whether `host[:port]` can be an address at all. */
#ifndef GPUFL_UPLOAD_HTTP_HOST_PORT_H
#define GPUFL_UPLOAD_HTTP_HOST_PORT_H

#include <stddef.h>

/** \return NULL, or what is wrong with the \p len bytes of \p text. */
const char *host_port_fault(const char *text, size_t len);

#endif
