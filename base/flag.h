/* SPDX-License-Identifier: Apache-2.0 */
/* The flags of a program as a table: one row says all that is known of one flag. */
#ifndef GPUFL_BASE_FLAG_H
#define GPUFL_BASE_FLAG_H

#include <stdbool.h>
#include <stddef.h>

#define FLAG_SECRET_BYTES 4096u

/** What the value of a flag is, and the type of the field that takes it. */
enum flag_type {
    FLAG_ON,       /**< bool, set to true; takes no value */
    FLAG_OFF,      /**< bool, set to false; takes no value */
    FLAG_IGNORED,  /**< no field: accepted for compatibility */
    FLAG_TEXT,     /**< const char *, borrowed from argv or the environment; of min bytes
                        at least, of max bytes at most if that is not 0, and not blank
                        on a command line */
    FLAG_SECRET,   /**< char[FLAG_SECRET_BYTES], as FLAG_TEXT; the argument itself is
                        overwritten, since every user can see it in the process list */
    FLAG_NUMBER,   /**< int, from min to max */
    FLAG_CHOICE,   /**< an enum: the position of the value, in any case,
                       in choices */
    FLAG_DURATION, /**< uint64_t in ms, from min to max */
    FLAG_PARSED    /**< what parse() writes */
};

/** One flag. What is zero or NULL does not apply to it. */
struct flag {
    const char *name; /**< long name without dashes */
    char letter;      /**< short name */
    enum flag_type type;
    const char *value; /**< what --help calls the value, as in URL; NULL = takes none */
    size_t field;      /**< offsetof() in the caller's struct */
    long min;
    long max;                   /**< 0 = no bound for FLAG_DURATION */
    const char *const *choices; /**< ends with NULL */
    bool (*parse)(const char *value, void *field);
    const char *expected; /**< a valid value in words; else it follows from the type */
    const char *variable; /**< environment variable, if not blank, where the flag is not
                               given */
    const char *fallback; /**< the default, as a user could write it */
    const char *help;     /**< NULL = --help does not list it */
};

/** A verb of a program, as in `gpufl upload`. */
struct flag_verb {
    const char *name;
    int (*run)(int argc, char **argv); /**< argv[0] is the verb */
    const char *help;
};

/** The flags of one program or verb, and what its --help says around them. -h, --help,
 * -V and --version belong to every table without a row. */
struct flag_table {
    const char *program; /**< as a user types it: "gpufl upload" */
    const char *version; /**< the line that --version prints */
    const char *usage;   /**< what follows the program's name; '\n' between its forms */
    const char *about;   /**< a paragraph below the usage */
    const char *notes;   /**< paragraphs below the flags: exit codes */
    const struct flag_verb *verb; /**< listed by --help; see flags_verb() */
    size_t verbs;
    const struct flag *flag;
    size_t count;
    const char *operand; /**< name of the first operand, as in DIR */
    const char *operand_expected;
    int operands_min;
    int operands_max;     /**< -1 = any number */
    bool stop_at_operand; /**< what follows the first operand is not for this program */
};

/** A number as the text that a row wants for fallback, and one of ms for
 * FLAG_DURATION. */
#define FLAG_DEFAULT(number)    FLAG_DEFAULT_OF(number)
#define FLAG_DEFAULT_MS(number) FLAG_DEFAULT_OF(number) "ms"
#define FLAG_DEFAULT_OF(number) #number

/** Stores \p value in the field of \p flag in \p fields. \return false: not valid. */
bool flag_store(const struct flag *flag, const char *value, void *fields);

/** Writes what a valid value of \p flag is, in words, into \p out. */
void flag_expected(const struct flag *flag, char *out, size_t size);

/** Whether \p value is empty or holds blanks alone, as quotes do whose variable is not
 * set. */
bool flag_is_blank(const char *value);

/** \return NULL; or what is wrong with \p path, which looks like one that a shell or a
 * file of settings should have made another one, and what to do. "./" before it says that
 * it is meant. */
const char *flag_path_fault(const char *path);

/** Whether \p word, which stands where a value is due, is the next flag: "-" and "-1" are
 * not, and what is meant as a value may stand behind '='. \p is_letter tells the letters
 * of flags. */
bool flag_is_next(const char *word, bool (*is_letter)(const void *arg, char letter),
                  const void *arg);

#endif
