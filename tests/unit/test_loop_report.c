/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent tells systemd and /readyz of its engine. */
#include "tests/support/check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/loop_report.h"
#include "base/address.h"
#include "tests/support/rig_session.h"

#define SESSIONS 200u
#define LIMIT    (16u << 10)

static void wake_nobody(void *arg)
{
    (void)arg;
}

static struct rig *a_rig_without_room(void)
{
    struct rig *rig = rig_new();
    rig->config.directory_bytes = LIMIT;
    for (unsigned i = 0; i < SESSIONS; i++) {
        char dir[700];
        char line[100];
        snprintf(dir, sizeof dir, "%s/session-%u", rig->root, i);
        snprintf(line, sizeof line,
                 "{\"type\":\"shutdown\",\"session_id\":\"session-%u\"}\n", i);
        assert_int_equal(mkdir(dir, 0755), 0);
        dirs_append(dir, "device.log", line);
    }
    rig_start(rig);
    rig_run(rig, 3600000, true);
    return rig;
}

static void what_waits(const struct rig *rig, char out[200])
{
    struct engine_summary s = rig_summary(rig);
    assert_true(s.directories_waiting > 1);
    snprintf(out, 200, "%u directories wait: there is no room for more of user %u",
             s.directories_waiting, geteuid());
}

static void systemd_is_told_how_many_directories_wait(void **state)
{
    (void)state;
    struct rig *rig = a_rig_without_room();
    struct loop loop = {.engine = rig->engine};
    char want[200];
    char got[600] = "";
    int end[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, end), 0);
    loop.notify.fd = end[0];
    what_waits(rig, want);
    loop_report_to_systemd(&loop, 1);
    assert_true(recv(end[1], got, sizeof got - 1, 0) > 0);
    if (strncmp(got, "STATUS=", 7) != 0 || !strstr(got, want)) {
        fail_msg("'%s' is not in '%s'", want, got);
    }
    close(end[0]);
    close(end[1]);
    rig_delete(rig);
}

static int ask_whether_it_is_ready(uint16_t port)
{
    static const char request[] = "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n";
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(send(fd, request, sizeof request - 1, 0), sizeof request - 1);
    return fd;
}

static void readyz_tells_how_many_directories_wait(void **state)
{
    (void)state;
    struct rig *rig = a_rig_without_room();
    struct loop loop = {.engine = rig->engine};
    struct listen_wake wake = {.call = wake_nobody};
    struct address address;
    char want[200];
    char got[1000] = "";
    size_t len = 0;
    assert_null(address_parse("127.0.0.1:0", &address));
    assert_int_equal(listener_open(&address, wake, &loop.listener, got), GPUFL_OK);
    int fd = ask_whether_it_is_ready(listener_port(loop.listener));
    struct pollfd at = {.fd = fd, .events = POLLIN};
    while (poll(&at, 1, 1) == 0) {
        loop_report_figures(&loop);
    }
    for (ssize_t n = 1; n > 0 && len<sizeof got - 1; len += n> 0 ? (size_t)n : 0) {
        n = recv(fd, got + len, sizeof got - 1 - len, 0);
    }
    what_waits(rig, want);
    if (!strstr(got, " 200 ") || !strstr(got, want)) {
        fail_msg("'%s' is not in '%s'", want, got);
    }
    close(fd);
    listener_close(loop.listener);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(systemd_is_told_how_many_directories_wait),
        cmocka_unit_test(readyz_tells_how_many_directories_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
