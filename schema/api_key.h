/* SPDX-License-Identifier: Apache-2.0 */
/* What an API key can be, for those who send it and for those who ask for it. */
#ifndef GPUFL_SCHEMA_API_KEY_H
#define GPUFL_SCHEMA_API_KEY_H

/** \return NULL; or what is wrong with \p key, which a header would lose on its way, or
 * which is more than the key, and what to do. */
const char *api_key_fault(const char *key);

#endif
