/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the files of a session, channel by channel, with a kernel_detail for each
 * launch. */
#include "cli/verb_export.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/flags.h"
#include "base/json_text.h"
#include "base/message.h"
#include "base/plural.h"
#include "cli/exit_codes.h"
#include "cli/export_batch.h"
#include "cli/export_details.h"
#include "cli/export_told.h"
#include "cli/version_line.h"
#include "schema/channels.h"
#include "schema/layout.h"
#include "schema/protocol.h"
#include "schema/record_field.h"
#include "schema/records.h"

#define ACTIVE      UINT32_MAX /* its number: behind all others */
#define DEPTH_MAX   64         /* of what is quickly known to be one record */
#define BEGIN_BYTES 1024u      /* of a record, with its session_id */

static const struct flag_table export_table = {
    .program = "gpufl export",
    .version = VERSION_LINE,
    .usage = "DIR",
    .about =
        "Prints the session in DIR as lines of JSON, channel by channel, on standard "
        "output. Launches that share a " RECORD_KERNEL_DETAIL " each get one of their "
        "own, so that tools of the existing client, which join kernels and details by "
        "correlation id, count all of them. Nothing is sent or changed.",
    .notes =
        "Exit status: 0 printed; 1 printed, but something is missing, as standard error "
        "says: files or lines, what the recorder counted as lost, or the end, as of a "
        "job that was killed; 2 usage error, or DIR is no session, or cannot be read. Of "
        "a session that is still being recorded, what its files have is printed, which "
        "standard error says, too; by itself, that is no failure.",
    .operand = "DIR",
    .operand_expected = "the directory of a session, <log_path>/<session id>",
    .operands_min = 1,
    .operands_max = 1,
};

struct exporting {
    const char *path;
    int dir;
    uint32_t *number; /* of a channel's files, ascending */
    size_t count, cap;
    struct export_details details;
    uint64_t details_missing; /* launches without theirs */
    uint64_t no_records;      /* lines that are none */
    struct export_told told;
    enum channel channel; /* the one that is printed */
    struct text out;
};

/* \return EXIT_BAD_USE */
static int export_fail(const char *path, const char *name, const char *why)
{
    message_line("gpufl export", "%s%s%s: %s", path, *name ? "/" : "", name, why);
    return EXIT_BAD_USE;
}

/* What cannot be read, by errno. */
static int export_unreadable(const char *path, const char *name)
{
    char why[160];
    int error = errno;
    snprintf(why, sizeof why, "%s (%s)", strerror(error),
             error == EACCES ? "run this as a user who can read it"
             : *name         ? "run it again"
                             : "expected <log_path>/<session id>");
    return export_fail(path, name, why);
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a;
    const uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Finds the files of the channel. */
static int list_files(struct exporting *e, const char *channel)
{
    int fd = openat(e->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    int rc = dir ? EXIT_ALL_DONE : export_unreadable(e->path, "");
    e->count = 0;
    for (struct dirent *entry; rc == EXIT_ALL_DONE && (entry = readdir(dir)) != NULL;) {
        struct layout_name name = layout_parse(entry->d_name);
        if ((name.kind != LAYOUT_ACTIVE && name.kind != LAYOUT_NUMBERED) ||
            strcmp(name.channel, channel) != 0) {
            continue;
        }
        uint32_t *grown = array_grown(e->number, e->count, &e->cap, sizeof *grown);
        e->number = grown ? grown : e->number;
        if (name.gz || !grown) {
            rc = export_fail(e->path, entry->d_name,
                             grown ? "it is compressed (decompress it with gunzip)"
                                   : "out of memory");
            continue;
        }
        e->number[e->count++] = name.kind == LAYOUT_ACTIVE ? ACTIVE : name.number;
    }
    if (dir) {
        closedir(dir);
    } else if (fd >= 0) {
        close(fd);
    }
    if (e->count) {
        qsort(e->number, e->count, sizeof *e->number, by_number);
    }
    return rc;
}

/* Files that were deleted once they were sent, or lost. */
static void export_check_numbers(struct exporting *e, const char *channel)
{
    uint32_t next = 1;
    for (size_t i = 0; i < e->count; i++) {
        bool gap = e->number[i] != ACTIVE && e->number[i] != next;
        if (gap) {
            char what[LAYOUT_PATH_MAX + 64];
            snprintf(what, sizeof what,
                     "%s: files %u to %u are not there, with the records in them",
                     channel, next, e->number[i] - 1);
            export_told_lacks(&e->told, what);
        }
        next = e->number[i] + 1;
    }
}

typedef int export_line(struct exporting *e, const char *line, size_t len);

static int keep_detail(struct exporting *e, const char *line, size_t len)
{
    return export_details_add(&e->details, line, len)
               ? EXIT_ALL_DONE
               : export_fail(e->path, "", "out of memory");
}

/* One that was cut by another program merges with the next one. A writer that does not
 * escape what it writes makes no JSON either, but one record. */
static bool is_merged(const char *line, size_t len)
{
    const char *end = line + len;
    const char *at = json_is_object(line, len, DEPTH_MAX) ? end : line + 1;
    while ((at = memchr(at, '{', (size_t)(end - at)))) {
        struct record_text id;
        size_t rest = (size_t)(end - at);
        if (record_field_text(at, rest < BEGIN_BYTES ? rest : BEGIN_BYTES, "session_id",
                              &id)) {
            return true;
        }
        at++;
    }
    return false;
}

static int print_line(struct exporting *e, const char *line, size_t len)
{
    if (!record_field_in_object(line, len) || is_merged(line, len)) {
        e->no_records++;
        return EXIT_ALL_DONE;
    }
    text_clear(&e->out);
    export_told_line(&e->told, e->channel, line, len);
    e->details_missing += export_batch(&e->details, line, len, &e->out, stdout);
    if (e->out.failed) {
        return export_fail(e->path, "", "out of memory");
    }
    return ferror(stdout) ? EXIT_BAD_USE /* main says so */ : EXIT_ALL_DONE;
}

/* A line that no backend takes is left out: its writer is not ours, and no end of it may
 * come. */
static int each_line_of(struct exporting *e, FILE *file, export_line *visit)
{
    char *line = malloc(PROTOCOL_MAX_LINE_BYTES + 1);
    int rc = line ? EXIT_ALL_DONE : export_fail(e->path, "", "out of memory");
    size_t len = 0;
    for (int c; rc == EXIT_ALL_DONE && (c = getc_unlocked(file)) != EOF;) {
        if (c != '\n' && len < PROTOCOL_MAX_LINE_BYTES) {
            line[len++] = (char)c;
        } else if (c != '\n') {
            len = PROTOCOL_MAX_LINE_BYTES + 1;
        } else {
            if (len <= PROTOCOL_MAX_LINE_BYTES) {
                line[len] = '\0';
                rc = visit(e, line, len);
            } else if (visit == print_line) {
                export_told_lacks(&e->told, "a line longer than 8 MiB is left out");
            }
            len = 0;
        }
    }
    if (rc == EXIT_ALL_DONE && len && visit == print_line && !e->told.running) {
        export_told_lacks(&e->told, "the last line of a file is cut off, and left out");
    }
    free(line);
    return rc;
}

static int each_line(struct exporting *e, const char *name, export_line *visit)
{
    int fd = file_open(&sys_real, e->dir, name);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "re");
    int rc = file ? each_line_of(e, file, visit) : export_unreadable(e->path, name);
    if (rc == EXIT_ALL_DONE && ferror(file)) {
        rc = export_unreadable(e->path, name);
    }
    if (file) {
        fclose(file);
    } else if (fd >= 0) {
        close(fd);
    }
    return rc;
}

static int each_file(struct exporting *e, const char *channel, export_line *visit)
{
    int rc = list_files(e, channel);
    for (size_t i = 0; rc == EXIT_ALL_DONE && i < e->count; i++) {
        char name[LAYOUT_PATH_MAX];
        if (e->number[i] == ACTIVE) {
            layout_active(name, channel, false);
        } else {
            layout_numbered(name, channel, e->number[i], false);
        }
        rc = each_line(e, name, visit);
    }
    return rc;
}

static void export_say_no_records(struct exporting *e)
{
    char what[96];
    snprintf(what, sizeof what, "%" PRIu64 " %s no record, and left out", e->no_records,
             plural(e->no_records, "line is", "lines are"));
    if (e->no_records) {
        export_told_lacks(&e->told, what);
    }
}

static int export_session(struct exporting *e)
{
    size_t files = 0;
    int rc = each_file(e, channel_name(CHANNEL_DEVICE), keep_detail);
    for (int c = 0; rc == EXIT_ALL_DONE && c < CHANNEL_COUNT; c++) {
        e->channel = (enum channel)c;
        rc = each_file(e, channel_name(e->channel), print_line);
        files += e->count;
        e->told.there[c] = e->count > 0;
        export_check_numbers(e, channel_name(e->channel));
    }
    if (rc != EXIT_ALL_DONE) {
        return rc;
    }
    if (files == 0) {
        return export_fail(e->path, "",
                           "no files of a session (expected <log_path>/<session id>)");
    }
    if (e->details_missing && !e->told.running) {
        export_told_lacks(&e->told,
                          "launches share a " RECORD_KERNEL_DETAIL " that is not there");
    }
    export_say_no_records(e);
    export_told_say(&e->told);
    return e->told.incomplete ? EXIT_NOT_ALL : EXIT_ALL_DONE;
}

int verb_export(int argc, char **argv)
{
    struct flag_words words = {argv, argc};
    int rc = flags_read(&export_table, &words, NULL);
    if (rc != FLAGS_GO_ON) {
        return rc;
    }
    struct exporting e = {.path = words.word[0]};
    e.dir = open(e.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (e.dir < 0) {
        return export_unreadable(e.path, "");
    }
    export_told_begin(&e.told, e.dir, e.path);
    rc = export_session(&e);
    export_details_fini(&e.details);
    text_fini(&e.out);
    free(e.number);
    close(e.dir);
    return rc;
}
