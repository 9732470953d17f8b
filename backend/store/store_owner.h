/* SPDX-License-Identifier: Apache-2.0 */
/* Whose database a file is. */
#ifndef GPUFL_BACKEND_STORE_STORE_OWNER_H
#define GPUFL_BACKEND_STORE_STORE_OWNER_H

#include "backend/store/store_statement.h"

enum store_owner {
    STORE_OURS,          /**< or nobody's: it is empty */
    STORE_OTHER_VERSION, /**< of gpufl-backend */
    STORE_FOREIGN,       /**< of another application */
    STORE_UNREADABLE,    /**< SQLite has the reason */
};

/** Looks without changing anything. */
enum store_owner store_owner(sqlite3 *db);

#endif
