/* SPDX-License-Identifier: Apache-2.0 */
/* The status codes that gpufl functions return. */
#ifndef GPUFL_STATUS_H
#define GPUFL_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/** Marks functions whose result must not be ignored. */
#if defined(__GNUC__)
#define GPUFL_MUST __attribute__((warn_unused_result))
#define GPUFL_API  __attribute__((visibility("default")))
#else
#define GPUFL_MUST
#define GPUFL_API
#endif

/** Outcome of a call. 0 is success. Values are stable; new ones are appended. */
typedef enum gpufl_status {
    GPUFL_OK = 0,
    GPUFL_ERR_USAGE = 1,     /**< an argument is missing or out of range */
    GPUFL_ERR_NOMEM = 2,     /**< out of memory */
    GPUFL_ERR_IO = 3,        /**< a file operation failed; errno says why */
    GPUFL_ERR_FORMAT = 4,    /**< a file or a reply is malformed */
    GPUFL_ERR_NOT_FOUND = 5, /**< the session or file does not exist */
    GPUFL_BUSY = 6,          /**< another process is using the directory; or the
                                function for messages has not returned */
    GPUFL_OFF = 7,           /**< gpufl is disabled (`enabled`, GPUFL_DISABLED) */
    GPUFL_ERR_AUTH = 8,      /**< the backend rejected the key */
    GPUFL_ERR_CONTACT = 9,   /**< the backend never answered */
    GPUFL_PARTIAL = 10,      /**< not everything was sent; see the result */
    GPUFL_END = 11           /**< nothing more to read */
} gpufl_status;

/** Returns a short English phrase for \p status: a static string, never NULL. */
static inline const char *gpufl_status_text(gpufl_status status)
{
    static const char *const text[] = {
        "success",        "bad argument", "out of memory", "file operation failed",
        "malformed data", "not found",    "busy",          "gpufl is switched off",
        "key refused",    "no contact",   "not complete",  "end",
    };
    unsigned at = status;
    return at < sizeof text / sizeof text[0] ? text[at] : "unknown status";
}

#ifdef __cplusplus
}
#endif

#endif
