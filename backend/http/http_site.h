/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses what a browser asks for in the name of another site. */
#ifndef GPUFL_BACKEND_HTTP_HTTP_SITE_H
#define GPUFL_BACKEND_HTTP_HTTP_SITE_H

#include <microhttpd.h>
#include <stdbool.h>

/** A page of any site can make the browser of its reader send requests here: by a form or
 * a script, which cannot read the answers, or, once its own name resolves to this host,
 * as the same site. \p any_host false = only names of this host are valid in `Host`, as
 * the server needs no key and listens on loopback alone. \return NULL, or why the request
 * is refused. */
const char *http_site_refuses(struct MHD_Connection *c, const char *method,
                              bool any_host);

#endif
