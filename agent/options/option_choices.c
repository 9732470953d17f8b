/* SPDX-License-Identifier: Apache-2.0 */
/* What the values of options with a choice are called, by enum value. */
#include "agent/options/option_choices.h"

#include "agent/options/options.h"

const char *const option_compressions[] = {[COMPRESS_AUTO] = "auto",
                                           [COMPRESS_ZSTD] = "zstd",
                                           [COMPRESS_GZIP] = "gzip",
                                           [COMPRESS_NONE] = "none",
                                           NULL};
const char *const option_identities[] = {
    [IDENTITY_AUTO] = "auto", [IDENTITY_ON] = "on", [IDENTITY_OFF] = "off", NULL};
const char *const option_watches[] = {
    [WATCH_AUTO] = "auto", [WATCH_INOTIFY] = "inotify", [WATCH_POLL] = "poll", NULL};
const char *const option_states[] = {
    [STATE_ON_DISK] = "disk", [STATE_IN_MEMORY] = "memory", NULL};
const char *const option_quotas[] = {[QUOTA_HOLD] = "hold", [QUOTA_SKIP] = "skip", NULL};
const char *const option_deletions[] = {[DELETE_ACKED_AUTO] = "auto",
                                        [DELETE_ACKED_NEVER] = "never",
                                        [DELETE_ACKED_ALL] = "acknowledged",
                                        NULL};
const char *const option_log_levels[] = {[LOG_AT_ERROR] = "error",
                                         [LOG_AT_WARN] = "warn",
                                         [LOG_AT_INFO] = "info",
                                         [LOG_AT_DEBUG] = "debug",
                                         NULL};
const char *const option_log_formats[] = {
    [LOG_FORMAT_TEXT] = "text", [LOG_FORMAT_JSON] = "json", NULL};
const char *const option_confinements[] = {
    [CONFINE_AUTO] = "auto", [CONFINE_OFF] = "off", [CONFINE_REQUIRE] = "require", NULL};
