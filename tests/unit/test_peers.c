/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines of connections, and who goes in a crowd. */
#include "tests/support/check.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/http/http_peers.h"

#define BEGIN_MS UINT64_C(1000000)

static struct peers peers;

/* A connection, and the client's end of it. */
struct client {
    struct peer *peer;
    int end[2];
};

static struct client client_of(unsigned host, uint64_t now_ms)
{
    struct client client;
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(host)};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, client.end), 0);
    client.peer =
        peers_enter(&peers, client.end[0], (const struct sockaddr *)&in, now_ms);
    assert_non_null(client.peer);
    return client;
}

static bool is_open(const struct client *client)
{
    char byte;
    return recv(client->end[1], &byte, 1, MSG_DONTWAIT) != 0;
}

static void client_end(struct client *client)
{
    peers_leave(client->peer);
    close(client->end[0]);
    close(client->end[1]);
}

static void assert_lasts(struct client *client, uint64_t from_ms, uint64_t ms)
{
    peers_sweep(&peers, from_ms + ms);
    assert_true(is_open(client));
    peers_sweep(&peers, from_ms + ms + 1);
    assert_false(is_open(client));
    client_end(client);
}

static void headers_have_a_deadline(void **state)
{
    (void)state;
    struct client client = client_of(1, BEGIN_MS);
    assert_lasts(&client, BEGIN_MS, PEERS_FIRST_MS);
    client = client_of(1, BEGIN_MS);
    peers_begin(client.peer, true, BEGIN_MS + 10);
    peers_enter_phase(client.peer, PEER_ANSWERING, BEGIN_MS + 20);
    peers_enter_phase(client.peer, PEER_WAITING, BEGIN_MS + 30);
    assert_lasts(&client, BEGIN_MS + 30, PEERS_NEXT_MS);
}

static void a_body_has_a_least_speed(void **state)
{
    (void)state;
    struct client client = client_of(1, BEGIN_MS);
    peers_begin(client.peer, true, BEGIN_MS);
    assert_lasts(&client, BEGIN_MS, PEERS_BODY_MS);
    client = client_of(1, BEGIN_MS);
    peers_begin(client.peer, true, BEGIN_MS);
    peers_received(client.peer, 60 * PEERS_BYTES_PER_SEC);
    assert_lasts(&client, BEGIN_MS, PEERS_BODY_MS + 60000);
}

static void answers_have_no_deadline(void **state)
{
    (void)state;
    static const enum peer_phase phases[] = {PEER_ANSWERING, PEER_LISTENING};
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        struct client client = client_of(1, BEGIN_MS);
        peers_begin(client.peer, true, BEGIN_MS);
        peers_enter_phase(client.peer, phases[i], BEGIN_MS);
        peers_sweep(&peers, BEGIN_MS + 10 * 3600 * 1000);
        assert_true(is_open(&client));
        client_end(&client);
    }
}

static void an_answer_to_who_has_no_key_has_a_deadline(void **state)
{
    (void)state;
    struct client client = client_of(1, BEGIN_MS);
    peers_begin(client.peer, false, BEGIN_MS);
    peers_enter_phase(client.peer, PEER_ANSWERING, BEGIN_MS);
    assert_lasts(&client, BEGIN_MS, PEERS_REFUSAL_MS);
}

static struct client crowd[PEERS_CROWD];

/* Each client of the crowd comes 1 ms after the one before. */
static void crowd_enter(unsigned (*host_of)(unsigned i))
{
    for (unsigned i = 0; i < PEERS_CROWD; i++) {
        crowd[i] = client_of(host_of(i), BEGIN_MS + i);
    }
}

static void crowd_leave(void)
{
    for (unsigned i = 0; i < PEERS_CROWD; i++) {
        client_end(&crowd[i]);
    }
}

/* Who of the crowd was shut down; PEERS_CROWD = nobody. */
static unsigned gone(void)
{
    unsigned i = 0;
    while (i < PEERS_CROWD && is_open(&crowd[i])) {
        i++;
    }
    return i;
}

static unsigned one_host(unsigned i)
{
    (void)i;
    return 7;
}

static unsigned two_hosts(unsigned i)
{
    return i < 10 ? 1 : 7;
}

static unsigned a_host_each(unsigned i)
{
    return 100 + i;
}

/* \return who goes when one more comes 10 s later. */
static unsigned one_more(void)
{
    struct client client = client_of(9, BEGIN_MS + 10000);
    unsigned i = gone();
    assert_true(is_open(&client));
    client_end(&client);
    return i;
}

static void in_a_crowd_the_oldest_goes(void **state)
{
    (void)state;
    crowd_enter(one_host);
    assert_int_equal(gone(), PEERS_CROWD);
    assert_int_equal(one_more(), 0);
    crowd_leave();
}

static void in_a_crowd_who_has_most_connections_loses_one(void **state)
{
    (void)state;
    crowd_enter(two_hosts);
    assert_int_equal(one_more(), 10);
    crowd_leave();
}

static void in_a_crowd_who_has_the_key_stays(void **state)
{
    (void)state;
    crowd_enter(a_host_each);
    for (unsigned i = 0; i < PEERS_CROWD; i++) {
        peers_begin(crowd[i].peer, i != 300, BEGIN_MS);
    }
    assert_int_equal(one_more(), 300);
    crowd_leave();
}

/* Also one whose last request, of many, has just been refused. */
static void in_a_crowd_who_is_being_refused_goes(void **state)
{
    (void)state;
    crowd_enter(a_host_each);
    for (unsigned i = 0; i < PEERS_CROWD; i++) {
        peers_begin(crowd[i].peer, i != 300, BEGIN_MS);
        if (i == 300) {
            peers_enter_phase(crowd[i].peer, PEER_ANSWERING, BEGIN_MS + 9990);
        } else {
            peers_enter_phase(crowd[i].peer, PEER_WAITING, BEGIN_MS);
        }
    }
    assert_int_equal(one_more(), 300);
    crowd_leave();
}

static void in_a_crowd_idle_clients_go_before_new_ones(void **state)
{
    (void)state;
    crowd_enter(one_host);
    for (unsigned i = 0; i < PEERS_CROWD; i++) {
        peers_begin(crowd[i].peer, true, BEGIN_MS + 9900);
        if (i == 200) {
            peers_enter_phase(crowd[i].peer, PEER_WAITING, BEGIN_MS + 9950);
        }
        if (i == 100) {
            client_end(&crowd[i]);
            crowd[i] = client_of(7, BEGIN_MS + 9990);
        }
    }
    assert_int_equal(one_more(), 200);
    crowd_leave();
}

static void in_a_crowd_open_pages_stay(void **state)
{
    (void)state;
    crowd_enter(one_host);
    for (unsigned i = 0; i < PEERS_CROWD; i++) {
        peers_begin(crowd[i].peer, true, BEGIN_MS);
        peers_enter_phase(crowd[i].peer, i == 17 ? PEER_ANSWERING : PEER_LISTENING,
                          BEGIN_MS);
    }
    assert_int_equal(one_more(), 17);
    crowd_leave();
}

static int peers_set_up(void **state)
{
    (void)state;
    peers_init(&peers);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(headers_have_a_deadline, peers_set_up),
        cmocka_unit_test_setup(a_body_has_a_least_speed, peers_set_up),
        cmocka_unit_test_setup(answers_have_no_deadline, peers_set_up),
        cmocka_unit_test_setup(an_answer_to_who_has_no_key_has_a_deadline, peers_set_up),
        cmocka_unit_test_setup(in_a_crowd_the_oldest_goes, peers_set_up),
        cmocka_unit_test_setup(in_a_crowd_who_has_most_connections_loses_one,
                               peers_set_up),
        cmocka_unit_test_setup(in_a_crowd_who_has_the_key_stays, peers_set_up),
        cmocka_unit_test_setup(in_a_crowd_who_is_being_refused_goes, peers_set_up),
        cmocka_unit_test_setup(in_a_crowd_idle_clients_go_before_new_ones, peers_set_up),
        cmocka_unit_test_setup(in_a_crowd_open_pages_stay, peers_set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
