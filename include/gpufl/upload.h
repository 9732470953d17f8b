/* SPDX-License-Identifier: Apache-2.0 */
/* libgpufl-upload: uploads recorded sessions to a backend and reports the outcome. */
#ifndef GPUFL_UPLOAD_H
#define GPUFL_UPLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpufl/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Content coding of batches. Sealed windows are sent unchanged. */
enum gpufl_compression {
    GPUFL_COMPRESSION_AUTO = 0, /**< zstd if the backend declares it, else gzip */
    GPUFL_COMPRESSION_ZSTD = 1,
    GPUFL_COMPRESSION_GZIP = 2,
    GPUFL_COMPRESSION_NONE = 3
};

/** Progress of an upload, counted from the start of the call. */
struct gpufl_upload_progress {
    uint64_t lines_uploaded;
    uint64_t bytes_uploaded; /**< uncompressed, except for sealed windows: as stored */
    uint64_t bytes_total;    /**< estimated at the start; 0 = unknown */
    unsigned sessions;
    unsigned sessions_complete;
    int64_t elapsed_ms;
};

/** Called about four times a second and once at the end, on the thread of the caller.
 * Must not call gpufl functions. */
typedef void (*gpufl_upload_progress_fn)(void *arg,
                                         const struct gpufl_upload_progress *progress);

/** Receives one warning or error as a line without newline. Lines never contain secrets.
 * \p level is 0 for errors, 1 for warnings. */
typedef void (*gpufl_upload_diagnostic_fn)(void *arg, int level, const char *line);

/** Defaults of the options. */
#define GPUFL_UPLOAD_TOTAL_TIMEOUT_MS   300000
#define GPUFL_UPLOAD_CONNECT_TIMEOUT_MS 10000
#define GPUFL_UPLOAD_READ_TIMEOUT_MS    30000
#define GPUFL_UPLOAD_MAX_RETRIES        5

/** What to upload, and where. Initialise it with GPUFL_UPLOAD_OPTIONS_DEFAULT, then
 * change fields. Strings are borrowed for the duration of the call. If backend_url,
 * api_key or api_path is "", the value is taken from GPUFL_BACKEND_URL, GPUFL_API_KEY or
 * GPUFL_API_PATH. */
struct gpufl_upload_options {
    size_t struct_size;
    const char *log_path;    /**< required: the directory that contains the sessions */
    const char *backend_url; /**< required: scheme://host[:port], no path */
    const char *api_key;     /**< required: sent as `Authorization: Bearer <key>` */
    const char *api_path;    /**< "" = /api/v1 */
    int total_timeout_ms;    /**< upper limit for the whole call */
    int connect_timeout_ms;
    int read_timeout_ms; /**< without any data transferred */
    int max_retries; /**< consecutive failed requests before the call gives up; 0 = until
                          total_timeout_ms */
    const char *session_id; /**< only this session; "" = that of the calling process: the
                               one it records, or recorded last, in log_path; if it
                               recorded none there, the newest one of its user, or the
                               newest of all where there is none, and for root */
    bool all_sessions;      /**< all sessions */
    bool force; /**< send again what has been acknowledged; a backend without a window
                   registry then stores these lines twice, and one that knows positions
                   takes only what is behind its end */
    enum gpufl_compression compression;
    const char *state_dir; /**< directory of the journal; "" = next to the logs or in
                                $XDG_STATE_HOME, see gpufl-agent(8) */
    gpufl_upload_progress_fn progress;
    void *progress_arg;
    gpufl_upload_diagnostic_fn diagnostic; /**< NULL = see `warnings` of the result */
    void *diagnostic_arg;
    bool leave_unpublished;  /**< do not publish what a crashed 1.3 writer left in
                                  `.tmp`; the default is to publish it, as the existing
                                  client does */
    const char *ca_file;     /**< PEM file of trusted certificates; "" = SSL_CERT_FILE,
                                  else those of the system */
    const char *client_cert; /**< PEM client certificate; "" = none */
    const char *client_key;  /**< its private key, PEM; "" = also in client_cert */
    const char *proxy; /**< http://host:port; "none" = no proxy; "" = HTTPS_PROXY and
                            NO_PROXY for https, no proxy for http */
    bool allow_insecure_http; /**< allow sending the key over http to a public address;
                                   otherwise that is GPUFL_ERR_USAGE */
    bool same_origin; /**< the backend is the one from before, although backend_url or
                           api_key changed; otherwise it counts as another one, to which
                           everything is sent but what it says it has */
};

/** Initialiser with all defaults. */
#define GPUFL_UPLOAD_OPTIONS_DEFAULT                                                     \
    {                                                                                    \
        sizeof(struct gpufl_upload_options), "", "", "", "",                             \
            GPUFL_UPLOAD_TOTAL_TIMEOUT_MS, GPUFL_UPLOAD_CONNECT_TIMEOUT_MS,              \
            GPUFL_UPLOAD_READ_TIMEOUT_MS, GPUFL_UPLOAD_MAX_RETRIES, "", false, false,    \
            GPUFL_COMPRESSION_AUTO, "", NULL, NULL, NULL, NULL, false, "", "", "", "",   \
            false, false                                                                 \
    }

/** Fills \p options with the defaults. */
GPUFL_API void gpufl_upload_options_default(struct gpufl_upload_options *options);

#define GPUFL_UPLOAD_WARNINGS_MAX  8
#define GPUFL_UPLOAD_SPOOL_IDS_MAX 8

/** Outcome of an upload. Initialise it with GPUFL_UPLOAD_RESULT_INIT. Nothing in it needs
 * to be freed. */
struct gpufl_upload_result {
    size_t struct_size;
    bool success;           /**< the backend has everything that was selected */
    size_t files_processed; /**< files from which something was sent */
    size_t
        files_skipped_by_cursor; /**< channels of sessions that were already complete */
    uint64_t events_uploaded;    /**< acknowledged lines; for windows, as counted by the
                                    backend */
    uint64_t bytes_uploaded;     /**< see gpufl_upload_progress */
    int64_t elapsed_ms;
    unsigned sessions;           /**< sessions selected */
    unsigned sessions_complete;  /**< reported complete to the backend: sessions_ended
                                    are no part of them */
    unsigned sessions_live;      /**< still being written; what was there was sent */
    uint64_t lines_rejected;     /**< lines that the backend rejected individually */
    uint64_t lines_refused;      /**< lines of sessions that the backend had closed */
    uint64_t ranges_quarantined; /**< rejected permanently; listed by `gpufl status` */
    int http_status;             /**< HTTP status that stopped the upload; 0 = none */
    char message[512];           /**< one sentence, on success, too */
    unsigned warning_count;      /**< number of warnings; the first ones are kept */
    char warnings[GPUFL_UPLOAD_WARNINGS_MAX][256];
    unsigned spool_id_count;
    char spool_ids[GPUFL_UPLOAD_SPOOL_IDS_MAX][64];
    unsigned sessions_away;  /**< not complete, and their directory is not there */
    unsigned sessions_lossy; /**< lines were dropped while recording: they never become
                                  complete; what was recorded counts for success */
    unsigned sessions_ended; /**< they are over, and the backend knows that lines of them
                                  are missing, as some were given up */
};

#define GPUFL_UPLOAD_RESULT_INIT                                                         \
    {                                                                                    \
        .struct_size = sizeof(struct gpufl_upload_result)                                \
    }

/** Uploads sessions and returns within total_timeout_ms. Acknowledgements are stored
 * durably, so that a later call, or gpufl-agent, continues where this one stopped. If
 * another uploader is serving the directory, the call waits, within the same limit, until
 * that uploader has sent everything that was there at the start of the call, or has
 * ended: then the call sends the rest itself.
 *
 * Never ends the process and never changes a signal handler. Deletes nothing except the
 * files in a crashed writer's `.tmp` that it has published (see leave_unpublished).
 * Thread-safe. \p result may be NULL.
 *
 * \return GPUFL_OK: all sent, or nothing to send, or gpufl is disabled (with a warning);
 * GPUFL_PARTIAL: not everything was sent: with all_sessions, what is held of other users
 * counts, but is not waited for, see gpufl(1); GPUFL_ERR_AUTH: 401 or 403;
 * GPUFL_ERR_CONTACT: the backend never answered; GPUFL_BUSY: another uploader is using
 * the directory and cannot be waited for; GPUFL_ERR_USAGE, GPUFL_ERR_NOT_FOUND,
 * GPUFL_ERR_IO with errno, GPUFL_ERR_FORMAT, GPUFL_ERR_NOMEM: failed before anything was
 * sent. */
GPUFL_API gpufl_status gpufl_upload_logs(const struct gpufl_upload_options *options,
                                         struct gpufl_upload_result *result);

#ifdef __cplusplus
}
#endif

#endif
