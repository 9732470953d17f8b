/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the first lines of the progress file and of the file of its key. */
#include "upload/engine/progress_others.h"

#include <sys/stat.h>
#include <unistd.h>

struct progress_writer progress_writer_here(const struct root *root)
{
    struct stat state = {0};
    bool kept = root->state_fd >= 0 && fstat(root->state_fd, &state) == 0;
    return (struct progress_writer){(int)getpid(), kept ? (uint64_t)state.st_dev : 0,
                                    kept ? (uint64_t)state.st_ino : 0};
}

bool progress_writer_is_here(const struct root *root,
                             const struct progress_writer *writer)
{
    const struct progress_writer here = progress_writer_here(root);
    return writer->state_inode == here.state_inode &&
           writer->state_device == here.state_device &&
           (here.state_inode || writer->pid == here.pid);
}

enum progress_key_match progress_others_key(const struct root *root,
                                            const struct progress_writer *writer,
                                            bool named)
{
    const struct engine_config *config = &root->engine->config;
    return !config->backend || config->same_origin || named
               ? PROGRESS_KEY_SAME
               : progress_key_compare(config->sys, root->fd, writer,
                                      config->backend->key);
}

bool progress_others_are_first(const struct root *root)
{
    const struct engine *engine = root->engine;
    const struct sys *sys = engine->config.sys;
    struct progress_writer writer;
    if (root->backend != BACKEND_MOVED_TO ||
        !progress_writer_of(sys, root->fd, &writer) ||
        progress_writer_is_here(root, &writer)) {
        return false;
    }
    const struct progress_origin wanted = {engine->config.backend->url,
                                           engine->origin.database};
    enum progress_match match = progress_compare_origin(sys, root->fd, &wanted);
    return match != PROGRESS_ELSEWHERE &&
           progress_others_key(root, &writer, match == PROGRESS_SAME_DATABASE) ==
               PROGRESS_KEY_SAME;
}
