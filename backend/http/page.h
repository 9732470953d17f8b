/* SPDX-License-Identifier: Apache-2.0 */
/* The web page: backend/page/ and a chart library, embedded in the program. */
#ifndef GPUFL_BACKEND_HTTP_PAGE_H
#define GPUFL_BACKEND_HTTP_PAGE_H

#include <stddef.h>

/** Content-Security-Policy of each file: only our own scripts run, only we are asked. */
#define PAGE_POLICY                                                                      \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "      \
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

struct page_file {
    const char *name; /**< below the page's path */
    const char *type;
    const char *begin;
    const char *end;
};

/** The file that \p url names: `/` or `/page/<name>`. NULL when there is none. */
const struct page_file *page_find(const char *url);

#endif
