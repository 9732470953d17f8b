/* SPDX-License-Identifier: Apache-2.0 */
/* The directory in which a job's sessions lie. */
#ifndef GPUFL_COLLECTOR_CORE_LOG_PATH_H
#define GPUFL_COLLECTOR_CORE_LOG_PATH_H

/** Like `mkdir -p`. \return -1 with errno of the component that failed. */
int log_path_make(const char *path);

#endif
