/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a PEM file can be what it is given for, before a TLS library reads it. */
#ifndef GPUFL_UPLOAD_HTTP_PEM_H
#define GPUFL_UPLOAD_HTTP_PEM_H

enum pem_kind { PEM_CERTIFICATE, PEM_PRIVATE_KEY };

/** Looks for one whole block of \p kind. \return NULL, or the reason why \p file cannot
 * be used, with what to do about it. */
const char *pem_fault(const char *file, enum pem_kind kind);

#endif
