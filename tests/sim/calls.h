/* SPDX-License-Identifier: Apache-2.0 */
/* What the linker puts in the place of the C library's calls (--wrap, see Makefile), and
 * the real ones behind them. */
#ifndef GPUFL_TESTS_SIM_CALLS_H
#define GPUFL_TESTS_SIM_CALLS_H

#include <dirent.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <time.h>

#include "base/boot_id.h"
#include "tests/sim/inode.h"

struct json_object;
struct json_tokener;

int __wrap_open(const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...);
long __wrap_syscall(long number, ...);
int __wrap_prctl(int option, ...);
int __wrap_close(int fd);
ssize_t __wrap_read(int fd, void *buf, size_t len);
ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t at);
ssize_t __wrap_write(int fd, const void *buf, size_t len);
ssize_t __wrap_pwrite(int fd, const void *buf, size_t len, off_t at);
off_t __wrap_lseek(int fd, off_t at, int whence);
int __wrap_fsync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_ftruncate(int fd, off_t size);
int __wrap_posix_fallocate(int fd, off_t at, off_t len);
int __wrap_fchmod(int fd, mode_t mode);
int __wrap_flock(int fd, int how);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fstat(int fd, struct stat *st);
int __wrap_fstatat(int dir, const char *path, struct stat *st, int flags);
int __wrap_stat(const char *path, struct stat *st);
int __wrap_statx(int dir, const char *path, int flags, unsigned mask, struct statx *st);
int __wrap_fstatfs(int fd, struct statfs *st);
int __wrap_fstatvfs(int fd, struct statvfs *st);
int __wrap_access(const char *path, int mode);
int __wrap_faccessat(int dir, const char *path, int mode, int flags);
char *__wrap_realpath(const char *path, char *out);
ssize_t __wrap_readlinkat(int dir, const char *path, char *out, size_t size);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_mkdirat(int dir, const char *path, mode_t mode);
int __wrap_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags);
int __wrap_unlinkat(int dir, const char *path, int flags);
int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to);
int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to,
                     unsigned flags);
ssize_t __wrap_getdents64(int fd, void *buf, size_t size);
DIR *__wrap_opendir(const char *path);
DIR *__wrap_fdopendir(int fd);
struct dirent *__wrap_readdir(DIR *dir);
int __wrap_closedir(DIR *dir);
int __wrap_dirfd(DIR *dir);
FILE *__wrap_fopen(const char *path, const char *mode);
int __wrap_kill(pid_t pid, int signal);
pid_t __wrap_getpid(void);
uid_t __wrap_geteuid(void);
ssize_t __wrap_getrandom(void *buf, size_t len, unsigned flags);
int __wrap_clock_gettime(clockid_t id, struct timespec *out);
time_t __wrap_time(time_t *out);
struct json_object *__wrap_json_tokener_parse_ex(struct json_tokener *tokener,
                                                 const char *text, int len);
/** Whether Landlock lets this process do that: \p file in \p dir, which may be NULL for
 * the directory itself, or what is not there yet. */
bool calls_allowed(const struct inode *dir, const struct inode *file, uint64_t access);
/** \return what the Landlock call \p number does. */
long calls_confine(long number, va_list list);

/* It is read once in a process, which a simulated one is not. */
void __wrap_boot_id_get(char out[BOOT_ID_TEXT]);

ssize_t __real_read(int fd, void *buf, size_t len);
ssize_t __real_write(int fd, const void *buf, size_t len);
int __real_close(int fd);
int __real_clock_gettime(clockid_t id, struct timespec *out);
struct json_object *__real_json_tokener_parse_ex(struct json_tokener *tokener,
                                                 const char *text, int len);

#endif
