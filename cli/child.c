/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a command and waits for it as a shell does. */
#include "cli/child.h"
#include "base/message.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_NOT_RUN   126
#define EXIT_NOT_FOUND 127
#define EXIT_BY_SIGNAL 128

/* What a command inherits. A signal with a handler gets its default by execvp(). */
struct inherited {
    sigset_t mask;
    struct sigaction on_child;
};

/* \p report is closed by the command, or gets a byte if there is none. */
static void become(const char *program, char **argv, const struct inherited *inherited,
                   int report)
{
    sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
    sigaction(SIGCHLD, &inherited->on_child, NULL);
    execvp(argv[0], argv);
    int reason = errno;
    message_line(program, "%s: %s", argv[0], strerror(reason));
    (void)!write(report, "", 1);
    _exit(reason == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN);
}

/* Until \p command ends. The terminal signals the command itself; what was sent to this
 * process alone is passed on. \return its status. */
static int attend(pid_t command, const sigset_t *signals)
{
    int status = 0;
    while (waitpid(command, &status, WNOHANG) != command) {
        siginfo_t info;
        int signal = sigwaitinfo(signals, &info);
        if (signal > 0 && signal != SIGCHLD && info.si_code <= 0) {
            kill(command, signal);
        }
    }
    return status;
}

int child_run(const char *program, char **argv, bool *began)
{
    static const int watched[] = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT,
                                  SIGUSR1, SIGUSR2, SIGCHLD};
    const struct sigaction waits = {.sa_handler = SIG_DFL};
    struct inherited inherited;
    sigset_t signals;
    int report[2] = {-1, -1};
    char byte;
    *began = false;
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++) {
        sigaddset(&signals, watched[i]);
    }
    sigaction(SIGCHLD, &waits, &inherited.on_child); /* it may have been ignored */
    sigprocmask(SIG_BLOCK, &signals, &inherited.mask);
    pid_t command = pipe2(report, O_CLOEXEC) < 0 ? -1 : fork();
    if (command == 0) {
        become(program, argv, &inherited, report[1]);
    }
    if (command < 0) {
        message_line(program, "%s: %s", argv[0], strerror(errno));
        close(report[0]);
        close(report[1]);
        return EXIT_NOT_RUN;
    }
    close(report[1]);
    int status = attend(command, &signals);
    *began = read(report[0], &byte, 1) == 0;
    close(report[0]);
    return WIFSIGNALED(status) ? EXIT_BY_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}
