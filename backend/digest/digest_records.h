/* SPDX-License-Identifier: Apache-2.0 */
/* Records that are not batches. */
#ifndef GPUFL_BACKEND_DIGEST_DIGEST_RECORDS_H
#define GPUFL_BACKEND_DIGEST_DIGEST_RECORDS_H

#include "backend/digest/digest.h"

/* Each digests one line. \return false without memory. */
bool digest_names(struct digest *digest, const char *line, size_t len);
bool digest_source(struct digest *digest, const char *line, size_t len);
bool digest_detail(struct digest *digest, const char *line, size_t len);
bool digest_set(struct digest *digest, const char *line, size_t len);
bool digest_start(struct digest *digest, const char *line, size_t len);
bool digest_shutdown(struct digest *digest, const char *line, size_t len);
bool digest_capabilities(struct digest *digest, const char *line, size_t len);

#endif
