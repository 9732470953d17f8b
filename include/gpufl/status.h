/* SPDX-License-Identifier: Apache-2.0 */
/* The one set of results that every gpufl call returns. */
#ifndef GPUFL_STATUS_H
#define GPUFL_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/** Marks a result that must not be ignored. */
#if defined(__GNUC__)
#define GPUFL_MUST __attribute__((warn_unused_result))
#define GPUFL_API  __attribute__((visibility("default")))
#else
#define GPUFL_MUST
#define GPUFL_API
#endif

/** Outcome of a call. 0 is success; values are stable and only appended. */
typedef enum gpufl_status {
    GPUFL_OK = 0,
    GPUFL_ERR_USAGE = 1,     /**< an argument is missing or out of range */
    GPUFL_ERR_NOMEM = 2,     /**< memory could not be had */
    GPUFL_ERR_IO = 3,        /**< a file operation failed; errno is as the call set it */
    GPUFL_ERR_FORMAT = 4,    /**< a file or reply is not what its format says */
    GPUFL_ERR_NOT_FOUND = 5, /**< the named session or file is not there */
    GPUFL_BUSY = 6,          /**< another process owns this directory */
    GPUFL_OFF = 7,           /**< gpufl is switched off (`enabled`, GPUFL_DISABLED) */
    GPUFL_ERR_AUTH = 8,      /**< the backend refused the key */
    GPUFL_ERR_CONTACT = 9,   /**< the backend never answered */
    GPUFL_PARTIAL = 10,      /**< something is left, held or refused; see the result */
    GPUFL_END = 11           /**< nothing more to read */
} gpufl_status;

/** A short English phrase for \p status; a static string, never NULL. */
static inline const char *gpufl_status_text(gpufl_status status)
{
    static const char *const text[] = {
        "success",        "bad argument", "out of memory", "file operation failed",
        "malformed data", "not found",    "busy",          "gpufl is switched off",
        "key refused",    "no contact",   "not complete",  "end",
    };
    unsigned at = (unsigned)status;
    return at < sizeof text / sizeof text[0] ? text[at] : "unknown status";
}

#ifdef __cplusplus
}
#endif

#endif
