/* SPDX-License-Identifier: Apache-2.0 */
/* libgpufl-upload: sends recorded sessions to a backend, now, and says what came of it.
 */
#ifndef GPUFL_UPLOAD_H
#define GPUFL_UPLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpufl/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Content coding of the bodies that are formed here. Sealed windows go as they are. */
enum gpufl_compression {
    GPUFL_COMPRESSION_AUTO = 0, /**< zstd where the backend declares it, else gzip */
    GPUFL_COMPRESSION_ZSTD = 1,
    GPUFL_COMPRESSION_GZIP = 2,
    GPUFL_COMPRESSION_NONE = 3
};

/** How far an upload is. Figures count from the call on. */
struct gpufl_upload_progress {
    uint64_t lines_uploaded;
    uint64_t bytes_uploaded; /**< uncompressed, but sealed windows as they lie on disk */
    uint64_t bytes_total;    /**< estimate at the start, 0 = unknown */
    unsigned sessions;
    unsigned sessions_complete;
    int64_t elapsed_ms;
};

/** Called about four times a second and once at the end, on the calling thread. Must not
 * call gpufl functions. */
typedef void (*gpufl_upload_progress_fn)(void *arg,
                                         const struct gpufl_upload_progress *progress);

/** One warning or error as a line without newline, without any secret; \p level 0 =
 * error, 1 = warning. */
typedef void (*gpufl_upload_diagnostic_fn)(void *arg, int level, const char *line);

/** What to upload, and where to. Fill it by GPUFL_UPLOAD_OPTIONS_DEFAULT, then change
 * fields. Strings are borrowed for the call. Where url, key or path is "" the environment
 * is asked: GPUFL_BACKEND_URL, GPUFL_API_KEY, GPUFL_API_PATH. */
struct gpufl_upload_options {
    size_t struct_size;
    const char *log_path;    /**< required: the directory that holds the sessions */
    const char *backend_url; /**< required: scheme://host[:port], no path */
    const char *api_key;     /**< required: sent as `Authorization: Bearer <key>` */
    const char *api_path;    /**< "" = /api/v1 */
    int total_timeout_ms;    /**< budget of the whole call, kept; default 300,000 */
    int connect_timeout_ms;  /**< default 10,000 */
    int read_timeout_ms;     /**< without a byte moving; default 30,000 */
    int max_retries; /**< failed requests in a row, without any success, before the call
                          gives up; 0 = only the budget counts; default 5 */
    const char *session_id; /**< this session; "" = the newest */
    bool all_sessions;      /**< all of them, oldest first */
    bool force; /**< send again what is settled already; a backend without a window
                   registry then holds those lines twice */
    enum gpufl_compression compression;
    const char *state_dir; /**< where the journal lies; "" = beside the logs or in
                                $XDG_STATE_HOME, see gpufl-agent */
    gpufl_upload_progress_fn progress;
    void *progress_arg;
    gpufl_upload_diagnostic_fn diagnostic; /**< NULL = only the result's warnings */
    void *diagnostic_arg;
    bool leave_unpublished;  /**< do not publish what a crashed 1.3 writer left in `.tmp`;
                                  by default it is, as the existing client does */
    const char *ca_file;     /**< PEM certificates to trust; "" = those of SSL_CERT_FILE,
                                  else the system's */
    const char *client_cert; /**< PEM, shown to a server that asks for one; "" = none */
    const char *client_key;  /**< its private key, PEM; "" = in client_cert too */
    const char *proxy;       /**< http://host:port; "none" = none; "" = for https what the
                                  environment says (HTTPS_PROXY, NO_PROXY), for http none */
    bool allow_insecure_http; /**< send the key over http to a public address; without it
                                   that is GPUFL_ERR_USAGE */
    /** What messages call an option: gets the name of its field, returns the name that
     * the user knows it by, `--backend-url` for example. NULL = the names of the fields.
     */
    const char *(*option_name)(const char *field);
};

/** Initialiser with every default. */
#define GPUFL_UPLOAD_OPTIONS_DEFAULT                                                     \
    {                                                                                    \
        sizeof(struct gpufl_upload_options), "", "", "", "", 300000, 10000, 30000, 5,    \
            "", false, false, GPUFL_COMPRESSION_AUTO, "", NULL, NULL, NULL, NULL, false, \
            "", "", "", "", false, NULL                                                  \
    }

/** Fills \p options with the defaults. */
GPUFL_API void gpufl_upload_options_default(struct gpufl_upload_options *options);

#define GPUFL_UPLOAD_WARNINGS_MAX  8
#define GPUFL_UPLOAD_SPOOL_IDS_MAX 8

/** What came of it. Fill it by GPUFL_UPLOAD_RESULT_INIT; nothing in it is to be freed. */
struct gpufl_upload_result {
    size_t struct_size;
    bool success;                   /**< all that was selected is at the backend */
    size_t files_processed;         /**< files of which something was sent */
    size_t files_skipped_by_cursor; /**< channels of sessions that were complete before */
    uint64_t
        events_uploaded; /**< lines acknowledged; windows as the backend counts them */
    uint64_t bytes_uploaded; /**< see gpufl_upload_progress */
    int64_t elapsed_ms;
    unsigned sessions;           /**< selected */
    unsigned sessions_complete;  /**< the backend knows that all of them is there */
    unsigned sessions_live;      /**< still being written: what was there is sent */
    uint64_t lines_rejected;     /**< by the backend, one by one */
    uint64_t lines_refused;      /**< the backend had closed their session */
    uint64_t ranges_quarantined; /**< refused for good; listed by `gpufl status` */
    int http_status;             /**< the answer that stopped the upload, 0 = none */
    char message[512];           /**< one sentence, also on success */
    unsigned warning_count;      /**< how many there were; the first ones are kept */
    char warnings[GPUFL_UPLOAD_WARNINGS_MAX][256];
    unsigned spool_id_count;
    char spool_ids[GPUFL_UPLOAD_SPOOL_IDS_MAX][64];
};

#define GPUFL_UPLOAD_RESULT_INIT                                                         \
    {                                                                                    \
        .struct_size = sizeof(struct gpufl_upload_result)                                \
    }

/** Uploads and returns within the budget. What was acknowledged is remembered durably, so
 * a later call, or gpufl-agent, goes on where this one stopped. If an uploader serves the
 *  directory already, waits within the budget until what was there at the call is
 * settled. Never ends the process, never touches a signal handler, deletes nothing
 * but what it has published from a crashed writer's `.tmp` (see leave_unpublished).
 * Thread-safe. \p result may be NULL. \return GPUFL_OK: all sent, or nothing to send, or
 * gpufl is switched off (one warning); GPUFL_PARTIAL: something is left or refused;
 * GPUFL_ERR_AUTH: 401 or 403; GPUFL_ERR_CONTACT: no answer at all; GPUFL_BUSY: another
 * uploader holds the directory and cannot be waited for; GPUFL_ERR_USAGE,
 * GPUFL_ERR_NOT_FOUND, GPUFL_ERR_IO, GPUFL_ERR_FORMAT, GPUFL_ERR_NOMEM before anything
 * was sent. */
GPUFL_API gpufl_status gpufl_upload_logs(const struct gpufl_upload_options *options,
                                         struct gpufl_upload_result *result);

#ifdef __cplusplus
}
#endif

#endif
