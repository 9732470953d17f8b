/* SPDX-License-Identifier: Apache-2.0 */
/* The table of gpufl-backend's flags. */
#include "backend/backend_options.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "base/nearest.h"
#include "base/variables.h"
#include "schema/api_key.h"

#define DB_BYTES_MIN (1u << 20)
#define ENV_PREFIX   "GPUFL_BACKEND_"
#define KEY_VARIABLE ENV_PREFIX "API_KEY"

static bool parse_listen(const char *value, void *field)
{
    return address_parse(value, field) == NULL;
}

static bool parse_db_bytes(const char *value, void *field)
{
    static const struct {
        const char *unit;
        unsigned shift;
    } units[] = {{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!errno && value[0] >= '0' && value[0] <= '9' &&
            strcmp(end, units[i].unit) == 0 && number <= UINT64_MAX >> units[i].shift) {
            *(uint64_t *)field = (uint64_t)number << units[i].shift;
            return number == 0 || *(uint64_t *)field >= DB_BYTES_MIN;
        }
    }
    return false;
}

/* SQLite takes the first for a database in memory, and its users take the second for a
 * name of one; a blank name is a variable that is not set. */
static bool parse_db(const char *value, void *field)
{
    *(const char **)field = value;
    for (const char *c = value; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) {
            return false;
        }
    }
    return value[strspn(value, " ")] && strcmp(value, ":memory:") != 0 &&
           strncmp(value, "file:", strlen("file:")) != 0;
}

#define FIELD(name) .field = offsetof(struct backend_options, name)

static const struct flag flags[] = {
    {.name = "listen",
     .type = FLAG_PARSED,
     .value = "ADDRESS:PORT",
     FIELD(listen),
     .parse = parse_listen,
     .expected = "a numeric ADDRESS:PORT such as 127.0.0.1:8765, neither broadcast nor "
                 "multicast",
     .fallback = "127.0.0.1:8765",
     .help = "where to listen; port 0 takes any free one"},
    {.name = "db",
     .type = FLAG_PARSED,
     .value = "FILE",
     FIELD(db),
     .parse = parse_db,
     .expected = "the name of a file without control characters; ./NAME if it is called "
                 ":memory: or file:...",
     .fallback = "gpufl-backend.db",
     .help = "the database, created if it does not exist"},
    {.name = "api-key",
     .type = FLAG_SECRET,
     .value = "KEY",
     FIELD(api_key),
     .min = 1,
     .expected = "a key of 1 to 4095 bytes",
     .variable = KEY_VARIABLE,
     .help = "require this key from every client; prefer GPUFL_BACKEND_API_KEY, which "
             "other users cannot see"},
    {.name = "insecure",
     .type = FLAG_ON,
     FIELD(insecure),
     .help =
         "listen beyond loopback without a key: whoever reaches the port may read and "
         "write"},
    {.name = "retain-days",
     .type = FLAG_NUMBER,
     .value = "N",
     FIELD(retain_days),
     .max = 36500,
     .expected = "a number of days from 0 to 36500",
     .fallback = "0",
     .help = "delete sessions N days after their last line; 0 keeps them"},
    {.name = "max-db-bytes",
     .type = FLAG_PARSED,
     .value = "SIZE",
     FIELD(max_db_bytes),
     .parse = parse_db_bytes,
     .expected = "0, or 1MiB or more, such as 500MiB or 20GiB",
     .fallback = "0",
     .help = "delete the oldest sessions when the database is larger than SIZE, such as "
             "20GiB, live ones last; 0 sets no limit, otherwise at least 1MiB"},
};

static const struct flag_table table = {
    .program = "gpufl-backend",
    .version = "gpufl-backend " GPUFL_VERSION,
    .usage = "[options]",
    .about = "Stores what gpufl-agent and gpufl upload send, and shows it at "
             "http://ADDRESS:PORT/.",
    .notes = "Stop it with SIGINT or SIGTERM. Exit status: 0 stopped, 1 cannot start, 2 "
             "usage error.",
    .flag = flags,
    .count = sizeof flags / sizeof *flags,
};

/* An empty variable is a key that could not be read, as of $(cat missing). */
static int check_key(const struct backend_options *options)
{
    const char *variable = getenv(KEY_VARIABLE);
    const char *fault = api_key_fault(options->api_key);
    if (fault) {
        bool by_variable = variable && strcmp(variable, options->api_key) == 0;
        return flags_wrong(&table, by_variable ? KEY_VARIABLE : "--api-key", "%s", fault);
    }
    if (*options->api_key) {
        return FLAGS_GO_ON;
    }
    if (variable && !*variable) {
        return flags_wrong(&table, KEY_VARIABLE,
                           "empty (set it to a key, or unset it to ask for none)");
    }
    if (!options->insecure && !address_is_loopback(&options->listen)) {
        return flags_wrong(&table, "--listen",
                           "%s: not a loopback address, and no key is required: whoever "
                           "reaches it could read and write (set " KEY_VARIABLE
                           ", or give --insecure)",
                           options->listen.host);
    }
    return FLAGS_GO_ON;
}

/* The second is read by the packaged service, the third by those that upload. */
static bool backend_reads(const char *name)
{
    return strcmp(name, KEY_VARIABLE) == 0 || strcmp(name, ENV_PREFIX "OPTIONS") == 0 ||
           strcmp(name, ENV_PREFIX "URL") == 0;
}

static void backend_warn_unused(const struct backend_options *options)
{
    const char *why = !options->insecure  ? NULL
                      : *options->api_key ? "a key is required"
                      : address_is_loopback(&options->listen)
                          ? "the address of --listen is a loopback address"
                          : NULL;
    if (why) {
        message_line("gpufl-backend", "--insecure: changes nothing: %s", why);
    }
}

static void backend_warn_unread(void *unused, const char *name)
{
    const char *flag[sizeof flags / sizeof *flags];
    char hint[80] = "";
    (void)unused;
    if (backend_reads(name)) {
        return;
    }
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        flag[i] = flags[i].name;
    }
    const char *near = nearest_name(name + strlen(ENV_PREFIX), flag, table.count);
    bool secret = strstr(name, "KEY") || strstr(name, "TOKEN");
    if (secret || (near && strcmp(near, "api-key") == 0)) {
        snprintf(hint, sizeof hint, " (did you mean " KEY_VARIABLE "?)");
    } else if (near) {
        snprintf(hint, sizeof hint, " (give --%s instead)", near);
    }
    message_line("gpufl-backend", "%s: ignored: nothing reads it%s", name, hint);
}

int backend_options_read(int argc, char **argv, struct backend_options *out)
{
    struct flag_words words = {.word = argv, .count = argc};
    int rc = flags_read(&table, &words, out);
    if (rc != FLAGS_GO_ON) {
        return rc;
    }
    variables_each(environ, ENV_PREFIX, backend_warn_unread, NULL);
    backend_warn_unused(out);
    return check_key(out);
}
