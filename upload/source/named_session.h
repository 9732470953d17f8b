/* SPDX-License-Identifier: Apache-2.0 */
/* Tells which session the files of a directory are about, in the layouts of 1.1 and 1.3,
 * which have no manifest. */
#ifndef GPUFL_UPLOAD_SOURCE_NAMED_SESSION_H
#define GPUFL_UPLOAD_SOURCE_NAMED_SESSION_H

#include "upload/source/scan.h"

/** Copies into \p id what a sidecar, or the first line of a channel's oldest file, or, if
 * nothing was published of a session of 1.3, of a file in `.tmp`, says in
 * `<root>/<path>`, of which \p scan was made. \return false if none says a valid id. */
bool named_session(const struct sys *sys, int root, const char *path,
                   const struct scan *scan, char id[LAYOUT_NAME_MAX + 1]);

#endif
