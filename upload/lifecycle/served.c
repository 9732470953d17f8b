/* SPDX-License-Identifier: Apache-2.0 */
/* Asks whose a lock is, and what services tell. */
#include "upload/lifecycle/served.h"

#include "upload/core/other_uploader.h"

static enum lock_viewer served_viewer(const struct engine *engine)
{
    return !engine->config.service   ? LOCK_SEEN_BY_USER
           : !engine->config.run_dir ? LOCK_SEEN_BY_SERVICE
                                     : LOCK_SEEN_BY_PUBLISHER;
}

bool served_has_group(const struct engine *engine, int dir)
{
    return other_uploader_has_group(dir, served_viewer(engine));
}

bool served_lock_counts(const struct engine *engine, int dir)
{
    uid_t user;
    return other_uploader_has_say(dir, served_viewer(engine)) ||
           (engine->config.force_name && lock_holder_uploader(dir, &user));
}
