/* SPDX-License-Identifier: Apache-2.0 */
/* Tells our databases from others by application_id; those made before there was one, by
 * their tables. */
#include "backend/store/store_owner.h"

#include "backend/store/store_version.h"

static const char facts[] =
    "SELECT (SELECT application_id FROM pragma_application_id()),"
    " (SELECT user_version FROM pragma_user_version()),"
    " (SELECT count(*) FROM sqlite_master),"
    " (SELECT count(*) FROM sqlite_master WHERE type IN ('view', 'trigger') OR"
    " (type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT IN"
    " ('session', 'body', 'channel', 'name', 'tally', 'series', 'text', 'origin',"
    " 'stream', 'part', 'alive', 'clock', 'claimant'))"
    " OR (type = 'table' AND name = 'session' AND sql NOT LIKE '%sid TEXT NOT NULL%')"
    " OR (type = 'table' AND name = 'body' AND sql NOT LIKE '%window_id TEXT UNIQUE%'))";

static enum store_owner judge(sqlite3_stmt *s)
{
    int application = sqlite3_column_int(s, 0);
    int version = sqlite3_column_int(s, 1);
    bool is_empty = sqlite3_column_int(s, 2) == 0;
    bool has_others = sqlite3_column_int(s, 3) > 0;
    if (application != 0 && application != STORE_APPLICATION) {
        return STORE_FOREIGN;
    }
    if (version == 0 && is_empty) { /* new, or killed while it was made */
        return STORE_OURS;
    }
    if (application == 0 && (version == 0 || has_others)) {
        return STORE_FOREIGN;
    }
    return version >= STORE_VERSION_OLDEST && version <= STORE_VERSION
               ? STORE_OURS
               : STORE_OTHER_VERSION;
}

enum store_owner store_owner(sqlite3 *db)
{
    sqlite3_stmt *s = NULL;
    enum store_owner owner = STORE_UNREADABLE;
    if (sqlite3_prepare_v2(db, facts, -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW) {
        owner = judge(s);
    }
    sqlite3_finalize(s);
    return owner;
}
