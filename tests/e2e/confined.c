/* SPDX-License-Identifier: Apache-2.0 */
/* Confines itself as the agent does, then tries what code that took it over would try.
 * Usage: confined FOLDER HOST FILE PORT [FLAG…]; prints one word a try: yes or no. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/confine.h"
#include "agent/options/option_sources.h"
#include "agent/options/option_value.h"

static void tell(const char *what, bool can)
{
    printf("%s %s\n", what, can ? "yes" : "no");
}

static bool can_open(const char *path, int flags)
{
    int fd = open(path, flags, 0600);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

/* A container's root may lack /etc/hosts, so what a system does not have is passed over.
 */
static bool can_read_resolver_files(void)
{
    static const char *const files[] = {"/etc/hosts", "/etc/nsswitch.conf",
                                        "/etc/resolv.conf"};
    unsigned readable = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (access(files[i], F_OK) == 0) {
            if (!can_open(files[i], O_RDONLY)) {
                return false;
            }
            readable++;
        }
    }
    return readable > 0;
}

static bool can_connect(uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool can = connect(fd, (struct sockaddr *)&to, sizeof to) == 0;
    close(fd);
    return can;
}

static bool can_listen(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(4444)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool can = bind(fd, (struct sockaddr *)&at, sizeof at) == 0;
    close(fd);
    return can;
}

static bool can_execute(void)
{
    int status = 1;
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    waitpid(child, &status, 0);
    return status == 0;
}

int main(int argc, char **argv)
{
    struct options options;
    char said[512];
    char path[4096];
    setvbuf(stdout, NULL, _IOLBF, 0); /* a child has nothing of it to write */
    if (argc < 5) {
        return 2;
    }
    char *flags[16] = {argv[0]};
    snprintf(path, sizeof path, "--folder=%s", argv[1]);
    flags[1] = path;
    flags[2] = argv[2];
    int count = 3;
    for (int i = 5; i < argc && count < 16; i++) {
        flags[count++] = argv[i];
    }
    if (option_sources_read(count, flags, &options, said) != GPUFL_OK ||
        confine(&options, STATE_MAKE, said) != GPUFL_OK) {
        fprintf(stderr, "%s\n", said);
        return 1;
    }
    printf("%s\n", said);
    tell("read-file", can_open(argv[3], O_RDONLY));
    tell("read-home", can_open("/root", O_RDONLY | O_DIRECTORY));
    tell("read-shadow", can_open("/etc/shadow", O_RDONLY));
    tell("write-tmp", can_open("/tmp/gpufl-confined", O_WRONLY | O_CREAT));
    tell("other-process", can_open("/proc/1/environ", O_RDONLY));
    tell("connect-elsewhere", can_connect((uint16_t)atoi(argv[4])));
    tell("listen", can_listen());
    tell("execute", can_execute());
    tell("signal", kill(getppid(), 0) == 0);
    snprintf(path, sizeof path, "%s/new", argv[1]);
    tell("write-folder", can_open(path, O_WRONLY | O_CREAT));
    tell("resolve", can_read_resolver_files());
    tell("trust", can_open("/etc/ssl/certs", O_RDONLY | O_DIRECTORY));
    const char *port = strrchr(argv[2], ':');
    tell("connect-backend", can_connect((uint16_t)atoi(port + 1)));
    option_values_free(&options);
    return 0;
}
