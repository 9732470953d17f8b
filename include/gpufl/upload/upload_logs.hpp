/* SPDX-License-Identifier: Apache-2.0 */
/* gpufl::uploadLogs(). It needs libgpufl-upload. Programs include gpufl.hpp, or this, as with the
 * existing client. */
#ifndef GPUFL_UPLOAD_UPLOAD_LOGS_HPP
#define GPUFL_UPLOAD_UPLOAD_LOGS_HPP

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <gpufl/options.hpp>
#include <gpufl/upload.h>

namespace gpufl {

/** See gpufl_upload_options. Fields of the existing client that are accepted and have no effect:
 *  retry_delay_ms, as retries back off exponentially, with jitter; cursor_filename, as the cursor
 *  has its default name; report_progress, progress_log_interval_ms and
 *  progress_log_interval_bytes, as nothing is printed. */
struct UploadOptions {
    std::string log_path;
    std::string backend_url;
    std::string api_key;
    std::string api_path;
    int total_timeout_ms = 300000;
    int connect_timeout_ms = 10000;
    int read_timeout_ms = 30000;
    int max_retries = 5;
    int retry_delay_ms = 1000;
    std::string cursor_filename = ".gpufl-upload-cursor.json";
    std::string session_id_filter;
    bool all_sessions = false;
    bool force = false;
    bool report_progress = true;
    int progress_log_interval_ms = 5000;
    std::size_t progress_log_interval_bytes = 52428800;
};

/** See gpufl_upload_result. */
struct UploadResult {
    bool success = false;
    std::size_t files_processed = 0;
    std::size_t files_skipped_by_cursor = 0;
    std::size_t events_uploaded = 0;
    std::size_t bytes_uploaded = 0;
    std::int64_t elapsed_ms = 0;
    std::vector<std::string> warnings;
    std::vector<std::string> spool_ids;
    unsigned sessions_away = 0;
    unsigned sessions_lossy = 0;
    unsigned sessions_ended = 0;
};

/** Uploads within total_timeout_ms. Throws only std::bad_alloc. */
inline UploadResult uploadLogs(const UploadOptions &opts)
{
    gpufl_upload_options c = GPUFL_UPLOAD_OPTIONS_DEFAULT;
    gpufl_upload_result r{};
    UploadResult out;
    r.struct_size = sizeof r;
    c.log_path = opts.log_path.c_str();
    c.backend_url = opts.backend_url.c_str();
    c.api_key = opts.api_key.c_str();
    c.api_path = opts.api_path.c_str();
    c.total_timeout_ms = opts.total_timeout_ms;
    c.connect_timeout_ms = opts.connect_timeout_ms;
    c.read_timeout_ms = opts.read_timeout_ms;
    c.max_retries = opts.max_retries;
    c.session_id = opts.session_id_filter.c_str();
    c.all_sessions = opts.all_sessions;
    c.force = opts.force;
    gpufl_status status = gpufl_upload_logs(&c, &r);
    out.success = r.success;
    out.files_processed = r.files_processed;
    out.files_skipped_by_cursor = r.files_skipped_by_cursor;
    out.events_uploaded = r.events_uploaded;
    out.bytes_uploaded = r.bytes_uploaded;
    out.elapsed_ms = r.elapsed_ms;
    out.sessions_away = r.sessions_away;
    out.sessions_lossy = r.sessions_lossy;
    out.sessions_ended = r.sessions_ended;
    for (unsigned i = 0; i < r.warning_count && i < GPUFL_UPLOAD_WARNINGS_MAX; i++) {
        out.warnings.push_back(r.warnings[i]);
    }
    if (status != GPUFL_OK) {
        out.warnings.push_back(r.message);
    }
    for (unsigned i = 0; i < r.spool_id_count && i < GPUFL_UPLOAD_SPOOL_IDS_MAX; i++) {
        out.spool_ids.push_back(r.spool_ids[i]);
    }
    return out;
}

/** Uploads what init() records with these options, to their backend: log_path "" is the directory
 *  that init() uses then, unless a configuration file names another one. */
inline UploadResult uploadLogs(const InitOptions &opts)
{
    UploadOptions upload;
    const char *dir = std::getenv("GPUFL_LOG_DIR");
    const char *app = std::getenv("GPUFL_APP_NAME");
    upload.log_path = opts.log_path;
    if (upload.log_path.empty() && dir) {
        upload.log_path = dir;
    }
    if (upload.log_path.empty()) {
        const std::string unset = InitOptions().app_name;
        bool by_env = opts.app_name == unset && app && *app;
        upload.log_path = by_env ? app : opts.app_name.empty() ? unset : opts.app_name;
    }
    upload.backend_url = opts.backend_url;
    upload.api_key = opts.api_key;
    upload.api_path = opts.api_path;
    return uploadLogs(upload);
}

} /* namespace gpufl */

#endif
