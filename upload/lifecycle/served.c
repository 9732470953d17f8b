/* SPDX-License-Identifier: Apache-2.0 */
/* Asks whose a lock is, and what services tell. */
#include "upload/lifecycle/served.h"

#include "upload/core/run_dir.h"
#include "upload/source/lock_holder.h"

bool served_lock_counts(const struct engine *engine, int dir)
{
    return !lock_holder_is_foreign(dir, engine->config.service) || run_dir_is_served(dir);
}
