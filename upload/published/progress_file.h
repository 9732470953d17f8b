/* SPDX-License-Identifier: Apache-2.0 */
/* Reads `<root>/.gpufl-agent/progress`, and `complete` beside it for sessions that are:
 * what the holder of a root has durably settled, for others. Advisory; also second
 * evidence when the journal was lost. Only files of our user or of root are believed, and
 * those that a service publishes, see run_dir.h, which come first.
 *
 *     gpufl-progress 1 pid=<pid> program=<name> origin=<hash of the backend's URL>
 *         database=<that of the backend, 0 = not known> state=<device>-<inode> (of the
 *         directory of its journal, 0-0 = none)
 *     !state <path of that directory>
 *     !trouble <since, seconds of 1970> <what stands in the way of all>
 *     !aside <what else of the program does not work>
 *     !owner <path> <uid of its directory, while it was there>
 *     !held <path of a session or group> <channel or *> <what stands in its way>
 *     !more <number of those that are not named>
 *     !lines <lines> <refused lines> <losses> <layout> <marks> <outcome> [done]
 * [quarantined=<n>] [reached=<file>:<offset>] [seen=<stamp> [ends]]
 * [dir=<mark>:<boot>:<user>:<above>:<0|1>] [epoch=<hash>]
 * [mark=<bytes>:<CRC-32>]
 *     <session path> <channel> <file> <offset> <sequence> <kind>
 *
 * What `!owner` tells is about the `!held` of that path behind it; earlier versions
 * neither write nor read it. What `!lines` tells is about the stream in the line after
 * it, as in struct record_stream and struct record_session; "done" = the session is
 * complete, though it is not in the other file yet; quarantined = so many ranges of the
 * session are; reached = how far an earlier backend got the stream; seen = stands for the
 * files of the session, as scan_stamp() has it, when all in them was settled, 0 = more is
 * to come; "ends" = its writer has ended then, and nothing keeps it from being complete;
 * dir = by what the directory of the session is known again, as in struct directory_id,
 * in the first such line of a session; epoch = stands for that of the backend when it was
 * last known to have all of this, where the uploader asks for that again in another one;
 * mark = of the bytes before the offset, in the layout of 1.1.
 * Earlier versions neither write nor read it. Programs linked with an older
 * libgpufl-upload read the files of a newer agent: they skip lines that begin with `!`
 * and that they do not know, but believe no line of a stream that has more than those six
 * words. The first line may have more.
 */
#ifndef GPUFL_UPLOAD_PUBLISHED_PROGRESS_FILE_H
#define GPUFL_UPLOAD_PUBLISHED_PROGRESS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/sys.h"
#include "upload/journal/journal_records.h"
#include "upload/published/progress_parse.h"

/** Longest path of a state directory, NUL included. */
#define PROGRESS_STATE_MAX 1024

/** Visits what stood in the way when the file was last written; nothing without a file.
 */
void progress_notes(const struct sys *sys, int root_fd,
                    void (*visit)(void *arg, const struct progress_note *note),
                    void *arg);

/** Describes who holds the root, or held it last, according to the file. \return whether
 * a process with that pid exists. */
bool progress_holder(const struct sys *sys, int root_fd, char *out, size_t size);

/** \return true if the file of open sessions is there, and is one. */
bool progress_is_readable(const struct sys *sys, int root_fd);

/** Who wrote the file. */
struct progress_writer {
    int pid;
    uint64_t state_device; /**< the directory of its journal; 0 = none, or not told */
    uint64_t state_inode;
};

/** \return false without a file that tells where the journal is. */
bool progress_writer_of(const struct sys *sys, int root_fd, struct progress_writer *out);

/** A backend, as far as others may know of it: who knew a hash of its key could try keys.
 */
struct progress_origin {
    const char *url;
    uint64_t database; /**< stands for its database, 0 = not known */
};

/** What the file says instead of the URL of a backend, which others need not know. */
uint64_t progress_origin_of(const char *url);

enum progress_match {
    PROGRESS_MAY_DIFFER, /**< nothing tells it apart */
    PROGRESS_SAME_DATABASE,
    PROGRESS_ELSEWHERE, /**< another URL or database */
};

/** Compares the backend of the holder, as far as the file says which it is. */
enum progress_match progress_compare_origin(const struct sys *sys, int root_fd,
                                            const struct progress_origin *origin);

/** \return the database that the positions are in, 0 = not known, or of another URL. */
uint64_t progress_database(const struct sys *sys, int root_fd, const char *url);

/** \return true if the holder tells where its journal is, as no earlier version does. */
bool progress_tells_state(const struct sys *sys, int root_fd);

/** \return true if the holder keeps its journal in the directory \p state_fd. */
bool progress_is_kept_in(const struct sys *sys, int root_fd, int state_fd);

/** \return true with its path in \p out, and with the user to whom it belongs, if the
 * holder tells that of the directory of its journal, and it is there. */
bool progress_state_path(const struct sys *sys, int root_fd, char out[PROGRESS_STATE_MAX],
                         uid_t *owner);

/** One of the two. */
enum progress_file { PROGRESS_OF_OPEN, PROGRESS_OF_COMPLETE };

/** By what a file is known to be the one that was read: it is replaced, never changed. */
struct progress_file_stamp {
    uint64_t device;
    uint64_t inode; /**< 0 = there is none */
    uint64_t bytes;
    uint64_t written_ns;
};

struct progress_file_stamp progress_file_stamp(const struct sys *sys, int root_fd,
                                               enum progress_file file);

/** As progress_read(), of one file. */
GPUFL_MUST gpufl_status
progress_read_file(const struct sys *sys, int root_fd, enum progress_file file,
                   const struct progress_origin *origin,
                   void (*visit)(void *arg, const struct progress_line *line), void *arg);

/** Reads the files of the root \p root_fd and visits their lines; with an
 * \p origin, only of files that are about this backend, or do not say about which.
 *  \return GPUFL_OK, GPUFL_ERR_NOT_FOUND (also if it is no such file), GPUFL_ERR_IO
 * (EPERM: of another user)… */
GPUFL_MUST gpufl_status
progress_read(const struct sys *sys, int root_fd, const struct progress_origin *origin,
              void (*visit)(void *arg, const struct progress_line *line), void *arg);

#endif
