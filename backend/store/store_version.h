/* SPDX-License-Identifier: Apache-2.0 */
/* What a database of ours says of itself. */
#ifndef GPUFL_BACKEND_STORE_STORE_VERSION_H
#define GPUFL_BACKEND_STORE_STORE_VERSION_H

/* user_version: increased when the tables change; a file of a newer version is refused.
 */
#define STORE_VERSION 7

/* The oldest that is taken over: it lacks tables, which are made when it is opened. Ids
 * of windows without their session, as up to version 4, are found, too. */
#define STORE_VERSION_OLDEST 2

/* application_id: "gpfl". */
#define STORE_APPLICATION 0x6770666c

#endif
