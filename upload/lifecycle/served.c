/* SPDX-License-Identifier: Apache-2.0 */
/* Asks whose a lock is, and what services tell. */
#include "upload/lifecycle/served.h"

#include "upload/core/run_dir.h"
#include "upload/source/lock_holder.h"

bool served_lock_has_say(const struct engine *engine, int dir)
{
    enum lock_viewer viewer = !engine->config.service   ? LOCK_SEEN_BY_USER
                              : !engine->config.run_dir ? LOCK_SEEN_BY_SERVICE
                                                        : LOCK_SEEN_BY_PUBLISHER;
    return !lock_holder_is_foreign(dir, viewer) || run_dir_is_served(dir);
}

bool served_lock_counts(const struct engine *engine, int dir)
{
    uid_t user;
    return served_lock_has_say(engine, dir) ||
           (engine->config.force_name && lock_holder_uploader(dir, &user));
}
