/* SPDX-License-Identifier: Apache-2.0 */
/* The listening socket. */
#ifndef GPUFL_BACKEND_HTTP_HTTP_LISTEN_H
#define GPUFL_BACKEND_HTTP_HTTP_LISTEN_H

#include "base/address.h"

/** Listens on \p address, alone. \return the socket, or -1 with one sentence in \p why.
 */
int http_listen(const struct address *address, char why[256]);

#endif
