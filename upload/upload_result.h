/* SPDX-License-Identifier: Apache-2.0 */
/* Fills in the result of an upload: figures, warnings and the closing sentence. */
#ifndef GPUFL_UPLOAD_UPLOAD_RESULT_H
#define GPUFL_UPLOAD_UPLOAD_RESULT_H

#include <stdbool.h>

#include <gpufl/upload.h>

#include "upload/engine/engine.h"

/** Sets the message. \return \p status. */
__attribute__((format(printf, 3, 4))) gpufl_status
upload_result_say(struct gpufl_upload_result *result, gpufl_status status,
                  const char *format, ...);

/** Counts a warning and keeps it while there is room. */
void upload_result_warn(struct gpufl_upload_result *result, const char *line);

/** Counts a spool id that the backend gave and keeps it while there is room. */
void upload_result_add_spool(struct gpufl_upload_result *result, const char *spool_id);

/** What the user of an upload knows things by. */
struct upload_result_words {
    const char *backend_url;
    const char *directory; /**< whose sessions were to be sent */
    const char *others;    /**< a session of another user that was not waited for, NULL or
                              "" = none */
    char correct[160];     /**< what to do after a 404 */
    char key[80];          /**< what to do when the key is refused */
    char over[64];         /**< which time limit was reached, "" = none */
    char longer[80];       /**< what to do then */
};

/** The words for \p options, which \p name names; \p over: their time limit was reached.
 * \p out borrows both. */
void upload_result_words_of(const struct gpufl_upload_options *options,
                            const char *(*name)(const char *field), bool over,
                            struct upload_result_words *out);

/** Copies the figures of \p summary and says how the upload ended. \p drained: nothing
 * was left to do. \return what gpufl_upload_logs returns. */
gpufl_status upload_result_judge(struct gpufl_upload_result *result,
                                 const struct engine_summary *summary, bool drained,
                                 const struct upload_result_words *words);

/** Says that another uploader has sent all that is there, or what of \p left is in the
 * way of that. \return what gpufl_upload_logs returns. */
gpufl_status upload_result_elsewhere(struct gpufl_upload_result *result,
                                     const struct engine_summary *left);

/** Copies \p full to \p result, as far as its struct_size reaches; NULL is fine. */
void upload_result_copy(const struct gpufl_upload_result *full,
                        struct gpufl_upload_result *result);

/** Another uploader serves the directory, as \p why says, and has no room for so many
 * directories of \p owner: more time does not help. \return GPUFL_PARTIAL. */
gpufl_status upload_result_no_room(struct gpufl_upload_result *result, const char *why,
                                   unsigned waits, uint32_t owner);

/** Nothing more of \p others, of other users, can be sent. \return GPUFL_PARTIAL. */
gpufl_status upload_result_left(struct gpufl_upload_result *result, const char *others);

#endif
