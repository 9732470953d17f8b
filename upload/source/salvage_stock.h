/* SPDX-License-Identifier: Apache-2.0 */
/* What a crashed 1.3 writer left in `.tmp`, in the order in which it is salvaged. */
#ifndef GPUFL_UPLOAD_SOURCE_SALVAGE_STOCK_H
#define GPUFL_UPLOAD_SOURCE_SALVAGE_STOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "schema/layout.h"

/** Files of one number are taken in this order. */
enum tmp_kind { TMP_PART, TMP_GZ, TMP_RAW, TMP_ACTIVE, TMP_UNKNOWN };

struct tmp_file {
    char name[LAYOUT_PATH_MAX];
    char channel[LAYOUT_CHANNEL_MAX + 1];
    uint32_t number; /**< UINT32_MAX for the active file */
    enum tmp_kind kind;
    bool empty;
};

/** So many names are listed in each step, as long as no long `.tmp` may be listed, … */
#define SALVAGE_NAMES_FEW 64u
/** … and else. A writer leaves some ten files; anybody can make more. */
#define SALVAGE_NAMES_MAX 4096u

/** The files, by channel and number. Zero-initialise but for owner and limit; release
 * with salvage_stock_fini. */
struct salvage_stock {
    struct tmp_file *file;
    size_t files;
    size_t cap;
    uid_t owner;  /**< whose files they must be, if they are not our own */
    bool foreign; /**< one belongs to somebody else, or to a session of its own */
    bool crowded; /**< there are more than `limit`, which were not looked at */
    size_t limit;
    uint64_t disk_bytes; /**< that they take on disk */
};

/** Lists \p tmp, an open `.tmp` directory. \return false when that fails. */
bool salvage_stock_take(struct salvage_stock *stock, int tmp);

/** The file of \p kind with the channel and number of \p of; NULL when there is none. */
const struct tmp_file *salvage_stock_twin(const struct salvage_stock *stock,
                                          const struct tmp_file *of, enum tmp_kind kind);

void salvage_stock_fini(struct salvage_stock *stock);

#endif
