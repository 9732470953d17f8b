/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a session's writer lives: by its lock, else by its pid; never by a clock. */
#include "tests/support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process_identity.h"
#include "schema/layout.h"
#include "tests/support/dirs.h"
#include "tests/support/rig.h"
#include "tests/support/rig_backend.h"
#include "upload/core/registry.h"
#include "upload/source/liveness.h"
#include "upload/source/told.h"

#define ID          "77777777-7777-4777-8777-777777777777"
#define TWO_DAYS_S  (2 * 24 * 3600)
#define TWO_DAYS_MS (2ull * 24 * 3600 * 1000)

static void boot_id(char out[40])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    assert_non_null(file);
    assert_non_null(fgets(out, 40, file));
    out[strcspn(out, "\n")] = '\0';
    fclose(file);
}

static enum liveness probe(const char *dir, const struct manifest *manifest)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum liveness found = liveness_probe(&sys_real, fd, LAYOUT_LOCK, manifest, 0);
    close(fd);
    return found;
}

/* Another process holds the lock, by POSIX or by OFD. \return its pid. */
static pid_t holder(const char *dir, int how, short type, int *end)
{
    int ready[2];
    int stop[2];
    char byte;
    assert_int_equal(pipe(ready) + pipe(stop), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char path[600];
        struct flock lock = {.l_type = type, .l_whence = SEEK_SET};
        snprintf(path, sizeof path, "%s/%s", dir, LAYOUT_LOCK);
        int fd = open(path, O_RDWR | O_CREAT, 0600);
        close(stop[1]);
        _exit(fcntl(fd, how, &lock) < 0 || write(ready[1], "", 1) != 1 ||
              read(stop[0], &byte, 1) != 0);
    }
    close(stop[0]);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    *end = stop[1];
    return pid;
}

static void a_lock_of_either_kind_is_seen(void **state)
{
    (void)state;
    static const int kinds[] = {F_SETLK, F_OFD_SETLK};
    for (unsigned i = 0; i < 2; i++) {
        char *dir = dirs_make();
        int end;
        int status;
        assert_int_equal(probe(dir, NULL), WRITER_UNKNOWN); /* no lock file at all */
        pid_t pid = holder(dir, kinds[i], F_WRLCK, &end);
        assert_int_equal(probe(dir, NULL), WRITER_LIVE);
        close(end);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_int_equal(probe(dir, NULL), WRITER_GONE);
        dirs_remove(dir);
    }
}

/* Any user who can open the file can take one. */
static void a_lock_for_reading_is_not_the_writer_s(void **state)
{
    (void)state;
    char *dir = dirs_make();
    int end;
    int status;
    pid_t pid = holder(dir, F_OFD_SETLK, F_RDLCK, &end);
    assert_int_equal(probe(dir, NULL), WRITER_GONE);
    close(end);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    dirs_remove(dir);
}

/* Where locks do not work (NFS without them, another user's 0600) the pid is left: one
 * that lives, be it another's by reuse, keeps the session open; a dead one proves
 * nothing, as it may be of another pid namespace. */
static void without_a_lock_only_a_living_pid_is_evidence(void **state)
{
    (void)state;
    char *dir = dirs_make();
    struct manifest manifest = {.pid = getpid()};
    boot_id(manifest.boot_id);
    assert_int_equal(probe(dir, &manifest), WRITER_LIVE);
    strcpy(manifest.boot_id, "of another boot");
    assert_int_equal(probe(dir, &manifest), WRITER_UNKNOWN);
    boot_id(manifest.boot_id);
    manifest.pid = fork();
    if (manifest.pid == 0) {
        _exit(0);
    }
    waitpid((pid_t)manifest.pid, NULL, 0);
    assert_int_equal(probe(dir, &manifest), WRITER_UNKNOWN);
    manifest.pid = 0; /* to kill(2), our own process group */
    assert_int_equal(probe(dir, &manifest), WRITER_UNKNOWN);
    dirs_remove(dir);
}

static enum liveness probe_written(const char *dir, const struct manifest *manifest,
                                   int64_t last_write_s)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum liveness found =
        liveness_probe(&sys_real, fd, LAYOUT_LOCK, manifest, last_write_s);
    close(fd);
    return found;
}

static void a_free_lock_proves_death_on_the_boot_of_its_writer(void **state)
{
    (void)state;
    char *dir = dirs_make();
    struct manifest manifest = {.pid = getpid()};
    dirs_append(dir, LAYOUT_LOCK, "");
    boot_id(manifest.boot_id);
    assert_int_equal(probe_written(dir, &manifest, time(NULL)), WRITER_GONE);
    strcpy(manifest.boot_id, "of another boot, or of a guest");
    assert_int_equal(probe_written(dir, &manifest, time(NULL)), WRITER_UNKNOWN);
    assert_int_equal(probe_written(dir, &manifest, 0), WRITER_UNKNOWN);
    assert_int_equal(probe_written(dir, &manifest, 1), WRITER_GONE); /* before the boot */
    dirs_remove(dir);
}

/* It names no lock. */
static struct manifest manifest_of_self(void)
{
    struct process_identity self;
    process_identity_read(&self);
    struct manifest manifest = {.pid = self.pid,
                                .pid_namespace = (int64_t)self.pid_namespace,
                                .pid_start_ticks = (int64_t)self.start_ticks};
    boot_id(manifest.boot_id);
    return manifest;
}

static void the_free_lock_of_a_copy_says_nothing_while_its_writer_runs(void **state)
{
    (void)state;
    char *dir = dirs_make();
    char path[600];
    struct stat own;
    struct manifest manifest = manifest_of_self();
    dirs_append(dir, LAYOUT_LOCK, "");
    assert_int_equal(probe(dir, &manifest), WRITER_UNKNOWN); /* of an earlier version */
    strcpy(manifest.lock_file, "0:0");
    assert_int_equal(probe(dir, &manifest), WRITER_UNKNOWN);
    manifest.pid_start_ticks++; /* another process has its pid now */
    assert_int_equal(probe(dir, &manifest), WRITER_GONE);
    manifest.pid_namespace++;
    assert_int_equal(probe(dir, &manifest), WRITER_UNKNOWN);
    manifest.pid_namespace--;
    manifest.pid = fork();
    if (manifest.pid == 0) {
        _exit(0);
    }
    waitpid((pid_t)manifest.pid, NULL, 0);
    assert_int_equal(probe(dir, &manifest), WRITER_GONE);
    manifest.pid = getpid();
    manifest.pid_start_ticks--;
    snprintf(path, sizeof path, "%s/%s", dir, LAYOUT_LOCK);
    assert_int_equal(stat(path, &own), 0);
    layout_lock_file(manifest.lock_file, own.st_dev, own.st_ino);
    assert_int_equal(probe(dir, &manifest), WRITER_GONE); /* the original */
    dirs_remove(dir);
}

/* A copy may get the inodes of a directory that was removed. */
static void a_lock_file_that_was_made_later_is_of_a_copy(void **state)
{
    (void)state;
    char *dir = dirs_make();
    int fd = open(dir, O_RDONLY | O_DIRECTORY);
    struct statx own;
    struct manifest manifest = manifest_of_self();
    dirs_append(dir, LAYOUT_LOCK, "");
    assert_int_equal(statx(fd, LAYOUT_LOCK, 0, TOLD_LOCK_ASKED, &own), 0);
    if (!(own.stx_mask & STATX_BTIME)) {
        close(fd);
        dirs_remove(dir);
        skip(); /* the file system does not tell */
    }
    layout_lock_file(manifest.lock_file, makedev(own.stx_dev_major, own.stx_dev_minor),
                     own.stx_ino);
    const int64_t born_ns = own.stx_btime.tv_sec * 1000000000 + own.stx_btime.tv_nsec;
    const struct {
        int64_t told_ns;
        bool is_copy;
    } cases[] = {{0, false},
                 {-1, false}, /* of an earlier version */
                 {born_ns, false},
                 {born_ns / 1000 * 1000, false}, /* some file systems tell fewer digits */
                 {born_ns - 3000000, true},
                 {born_ns + 3000000, true},
                 {INT64_MAX, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        manifest.lock_born_ns = cases[i].told_ns;
        assert_int_equal(told_is_copy(fd, &manifest), cases[i].is_copy);
        assert_int_equal(probe(dir, &manifest),
                         cases[i].is_copy ? WRITER_UNKNOWN : WRITER_GONE);
    }
    manifest.boot_id[0] ^= 1; /* the same file after a reboot, and another one */
    manifest.lock_born_ns = born_ns;
    assert_false(told_is_copy(fd, &manifest));
    manifest.lock_born_ns -= 3000000;
    assert_true(told_is_copy(fd, &manifest));
    close(fd);
    dirs_remove(dir);
}

static void of_a_writer_that_lost_its_lock_the_process_tells(void **state)
{
    (void)state;
    char *dir = dirs_make();
    char path[600];
    struct stat own;
    struct manifest manifest = manifest_of_self();
    dirs_append(dir, LAYOUT_LOCK, "{\"lock_file\":\"lost\",\"active\":{}}\n");
    snprintf(path, sizeof path, "%s/%s", dir, LAYOUT_LOCK);
    assert_int_equal(stat(path, &own), 0);
    layout_lock_file(manifest.lock_file, own.st_dev, own.st_ino);
    assert_int_equal(probe(dir, &manifest), WRITER_LIVE);
    manifest.pid_namespace++; /* a process that we cannot see */
    assert_int_equal(probe(dir, &manifest), WRITER_UNKNOWN);
    manifest.pid_namespace--;
    manifest.pid_start_ticks++;
    assert_int_equal(probe(dir, &manifest), WRITER_GONE);
    manifest.pid_start_ticks--;
    strcpy(manifest.lock_file, "0:0"); /* of a copy, that it runs proves nothing */
    assert_int_equal(probe(dir, &manifest), WRITER_UNKNOWN);
    dirs_remove(dir);
}

static void locks_of_shared_file_systems_do_not_reach_all_of_the_host(void **state)
{
    (void)state;
    static const long far[] = {NFS_SUPER_MAGIC, FUSE_SUPER_MAGIC, V9FS_MAGIC,
                               (long)0xfe534d42, -0x1acb2be};
    static const long local[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                 TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC};
    for (unsigned i = 0; i < 5; i++) {
        assert_false(liveness_locks_are_local(far[i]));
        assert_true(liveness_locks_are_local(local[i]));
    }
}

static long file_system;
static int fstatfs_as_told(int fd, struct statfs *out)
{
    (void)fd;
    *out = (struct statfs){.f_type = file_system};
    return 0;
}

/* Its writer may hold it on another host. */
static void a_free_lock_on_a_shared_file_system_proves_nothing(void **state)
{
    (void)state;
    char *dir = dirs_make();
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct sys sys = sys_real;
    struct manifest manifest = {.pid = 0};
    sys.fstatfs = fstatfs_as_told;
    boot_id(manifest.boot_id);
    dirs_append(dir, LAYOUT_LOCK, "");
    for (int with = 0; with < 2; with++) {
        const struct manifest *known = with ? &manifest : NULL;
        file_system = NFS_SUPER_MAGIC;
        assert_int_equal(liveness_probe(&sys, fd, LAYOUT_LOCK, known, 1), WRITER_UNKNOWN);
        file_system = EXT4_SUPER_MAGIC;
        assert_int_equal(liveness_probe(&sys, fd, LAYOUT_LOCK, known, 1), WRITER_GONE);
    }
    close(fd);
    dirs_remove(dir);
}

static bool completed(const struct rig *rig)
{
    for (unsigned i = 0; i < rig->requests; i++) {
        if (rig->request[i].kind == TRANSPORT_COMPLETE) {
            return true;
        }
    }
    return false;
}

static void no_step_of_the_clock_ends_a_live_session(void **state)
{
    (void)state;
    static struct rig rig;
    struct live_session live;
    rig_open(&rig);
    live_open(&live, rig.root, ID);
    for (int i = 0; i < 3; i++) {
        static const char *const channel[] = {"device", "scope", "system"};
        live_line(&live, channel[i], "shutdown", i); /* all ended, but its lock is held */
    }
    rig.config.orphan_timeout_ms = 1000;
    rig_start(&rig);
    rig_run(&rig, 60000, false);
    rig_step_wall_s(TWO_DAYS_S);
    rig_run(&rig, 60000, false);
    rig_step_wall_s(-2 * TWO_DAYS_S);
    rig_run(&rig, 60000, false);
    rig_advance_ms(TWO_DAYS_MS); /* suspended for two days */
    rig_run(&rig, 60000, false);
    assert_false(completed(&rig));
    live_close(&live);
    rig_run(&rig, 60000, false);
    assert_true(completed(&rig));
    rig_close(&rig);
}

static void a_vanished_session_is_forgotten_once(void **state)
{
    (void)state;
    static struct rig rig;
    struct live_session live;
    rig_open(&rig);
    live_open(&live, rig.root, ID);
    live_line(&live, "scope", "x", 1);
    rig_start(&rig);
    rig_run(&rig, 20000, false);
    const struct journal *journal = rig.engine->root[0]->journal;
    dirs_remove(strdup(live.dir));
    uint64_t before = journal_last(journal);
    rig_run(&rig, 20000, false);
    assert_true(journal_last(journal) == before + 1);
    rig_run(&rig, 3600 * 1000, false);
    assert_true(journal_last(journal) == before + 1);
    live_close(&live);
    live_open(&live, rig.root, ID); /* and when it is back it goes on where it was */
    live_line(&live, "scope", "x", 1);
    live_line(&live, "scope", "x", 2);
    rig_run(&rig, 20000, false);
    char *stored = rig_stored(&rig, ID, "scope");
    assert_true(journal_last(journal) > before + 1);
    assert_non_null(strstr(stored, "\"n\":2}"));
    free(stored);
    live_close(&live);
    rig_close(&rig);
}

static bool unreadable;

static int open_unless_unreadable(int dir, const char *path, int flags, mode_t mode)
{
    if (unreadable && strncmp(path, ID, strlen(ID)) == 0) {
        errno = EIO;
        return -1;
    }
    return sys_real.open_beneath(dir, path, flags, mode);
}

/* A mount that goes, comes back with errors, and is mended. */
static void a_session_that_comes_back_unreadable_goes_on_once_it_is_readable(void **state)
{
    (void)state;
    static struct rig rig;
    struct live_session live;
    char away[700];
    rig_open(&rig);
    struct sys sys = *rig.config.sys;
    sys.open_beneath = open_unless_unreadable;
    rig.config.sys = &sys;
    live_open(&live, rig.root, ID);
    live_line(&live, "scope", "x", 1);
    rig_start(&rig);
    rig_run(&rig, 20000, false);
    snprintf(away, sizeof away, "%s/.elsewhere", rig.root);
    assert_int_equal(rename(live.dir, away), 0);
    rig_run(&rig, 20000, false);
    unreadable = true;
    assert_int_equal(rename(away, live.dir), 0);
    rig_run(&rig, 20000, false);
    unreadable = false;
    live_line(&live, "scope", "x", 2);
    rig_run(&rig, 20000, false);
    char *stored = rig_stored(&rig, ID, "scope");
    assert_non_null(strstr(stored, "\"n\":2}"));
    free(stored);
    live_close(&live);
    rig_close(&rig);
}

struct visits {
    unsigned wanted, given_back;
};

static void count_visit(void *arg, unsigned root, const char *root_path,
                        const char *session_path, bool done)
{
    struct visits *visits = arg;
    (void)root;
    (void)root_path;
    if (session_path[0]) {
        visits->wanted += !done;
        visits->given_back += done;
    }
}

static void a_session_is_watched_from_its_first_look_until_it_is_gone(void **state)
{
    (void)state;
    static struct rig rig;
    struct live_session live;
    struct visits visits = {0, 0};
    rig_open(&rig);
    live_open(&live, rig.root, ID);
    live_line(&live, "scope", "x", 1);
    rig_start(&rig);
    engine_visit_changed(rig.engine, count_visit, &visits);
    assert_int_equal(visits.wanted, 0); /* nobody has looked yet: it may have ended */
    rig_run(&rig, 20000, false);
    engine_visit_changed(rig.engine, count_visit, &visits);
    assert_int_equal(visits.wanted, 1);
    char *dir = strdup(live.dir);
    live_close(&live);
    dirs_remove(dir);
    rig_run(&rig, 20000, false);
    engine_visit_changed(rig.engine, count_visit, &visits);
    assert_int_equal(visits.given_back, 1);
    live_open(&live, rig.root, ID);
    live_line(&live, "scope", "x", 1);
    rig_run(&rig, 20000, false);
    engine_visit_changed(rig.engine, count_visit, &visits);
    assert_int_equal(visits.wanted, 2);
    live_close(&live);
    rig_close(&rig);
}

static int refuse_the_end(struct rig *rig, const struct rig_request *request)
{
    (void)rig;
    return request->kind == TRANSPORT_COMPLETE ? 503 : RIG_REGISTRY;
}

/* As another program compresses a file of a writer that has ended: both forms are there.
 */
static void a_session_that_has_ended_is_watched_while_a_file_is_not_read(void **state)
{
    (void)state;
    static struct rig rig;
    struct live_session live;
    struct visits visits = {0, 0};
    char stray[700];
    rig_open(&rig);
    rig.answer = refuse_the_end;
    live_open(&live, rig.root, ID);
    live_line(&live, "scope", "x", 1);
    rig_start(&rig);
    rig_run(&rig, 20000, false);
    engine_visit_changed(rig.engine, count_visit, &visits);
    live_close(&live);
    engine_touch(rig.engine, 0, ID);
    rig_run(&rig, 20000, false);
    engine_visit_changed(rig.engine, count_visit, &visits);
    assert_int_equal(visits.given_back, 1);
    snprintf(stray, sizeof stray, "%s/rank0.log", live.dir);
    dirs_append(live.dir, "rank0.log", "x\n");
    engine_touch(rig.engine, 0, ID);
    rig_run(&rig, 2000, false);
    engine_visit_changed(rig.engine, count_visit, &visits);
    assert_int_equal(visits.wanted, 2);
    assert_int_equal(unlink(stray), 0);
    engine_touch(rig.engine, 0, ID);
    rig_run(&rig, 2000, false);
    engine_visit_changed(rig.engine, count_visit, &visits);
    assert_int_equal(visits.given_back, 2);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_of_either_kind_is_seen),
        cmocka_unit_test(a_lock_for_reading_is_not_the_writer_s),
        cmocka_unit_test(without_a_lock_only_a_living_pid_is_evidence),
        cmocka_unit_test(a_free_lock_proves_death_on_the_boot_of_its_writer),
        cmocka_unit_test(the_free_lock_of_a_copy_says_nothing_while_its_writer_runs),
        cmocka_unit_test(a_lock_file_that_was_made_later_is_of_a_copy),
        cmocka_unit_test(of_a_writer_that_lost_its_lock_the_process_tells),
        cmocka_unit_test(locks_of_shared_file_systems_do_not_reach_all_of_the_host),
        cmocka_unit_test(a_free_lock_on_a_shared_file_system_proves_nothing),
        cmocka_unit_test(no_step_of_the_clock_ends_a_live_session),
        cmocka_unit_test(a_vanished_session_is_forgotten_once),
        cmocka_unit_test(
            a_session_that_comes_back_unreadable_goes_on_once_it_is_readable),
        cmocka_unit_test(a_session_is_watched_from_its_first_look_until_it_is_gone),
        cmocka_unit_test(a_session_that_has_ended_is_watched_while_a_file_is_not_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
