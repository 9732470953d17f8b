/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads the mark of a complete session. */
#include "upload/published/uploaded_mark.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "schema/layout.h"

#define MARK_BYTES 128u
#define MARK_PATH  (LAYOUT_SESSION_PATH_MAX + LAYOUT_PATH_MAX)

static enum uploaded_mark mark_compare(const struct progress_origin *here,
                                       uint64_t origin, uint64_t database)
{
    if (origin != progress_origin_of(here->url)) {
        return UPLOADED_ELSEWHERE;
    }
    if (database == here->database) {
        return UPLOADED_HERE;
    }
    return database && here->database ? UPLOADED_ELSEWHERE : UPLOADED_UNTOLD;
}

enum uploaded_mark uploaded_mark_read(const struct sys *sys, int root_fd,
                                      const char *path,
                                      const struct progress_origin *here)
{
    char name[MARK_PATH];
    char *text;
    size_t len;
    uint64_t origin;
    uint64_t database;
    snprintf(name, sizeof name, "%s/" LAYOUT_UPLOADED, path);
    if (file_read(sys, root_fd, name, MARK_BYTES, &text, &len) != GPUFL_OK) {
        return UPLOADED_BY_ANOTHER;
    }
    bool ours = sscanf(text, "gpufl-uploaded 1 origin=%16" SCNx64 " database=%16" SCNx64,
                       &origin, &database) == 2;
    free(text);
    return ours ? mark_compare(here, origin, database) : UPLOADED_BY_ANOTHER;
}

void uploaded_mark_leave(const struct sys *sys, int root_fd, const char *path,
                         const struct progress_origin *here)
{
    char name[MARK_PATH];
    char line[MARK_BYTES];
    snprintf(name, sizeof name, "%s/" LAYOUT_UPLOADED, path);
    int fd = sys->open_beneath(root_fd, name, O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (fd < 0 && uploaded_mark_read(sys, root_fd, path, here) == UPLOADED_ELSEWHERE) {
        fd = sys->open_beneath(root_fd, name, O_WRONLY | O_TRUNC | O_NONBLOCK, 0);
    }
    if (fd < 0) {
        return;
    }
    int n = snprintf(line, sizeof line,
                     "gpufl-uploaded 1 origin=%" PRIx64 " database=%" PRIx64 "\n",
                     progress_origin_of(here->url), here->database);
    (void)!file_pwrite_all(sys, fd, line, (size_t)n, 0); /* an empty one is a mark, too */
    close(fd);
}
