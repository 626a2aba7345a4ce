/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/tree/plan_message.h"
#include "launch/tree/rank_message.h"

#include "base/fail.h"
#include "base/memory.h"
#include "launch/plan/launch_options.h"
#include "launch/loop/connection.h"
#include "mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static wl_message_t message_of(const wl_writer_t *writer)
{
    return (wl_message_t){.kind = WL_MSG_JOB,
                          .body = wl_queue_front(&writer->body),
                          .bytes = wl_queue_bytes(&writer->body)};
}

static void make_plan(wl_job_plan_t *out)
{
    static char words[][16] = {"mpirun", "--mps", "-host", "a:2,b", "-n", "2",
                               "-x",     "K=V",   "prog",  "--x",   ":",  "-n",
                               "3",      "-wdir", "/usr",  "other", "",   "c d"};
    static char *argv[sizeof(words) / sizeof(words[0]) + 1];
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        argv[i] = words[i];
    int argc = (int)(sizeof(words) / sizeof(words[0]));
    assert_int_equal(wl_options_parse(argc, argv, out), MPI_SUCCESS);
    assert_int_equal(wl_job_plan_complete(out), MPI_SUCCESS);
}

static void release_received(wl_received_plan_t *received)
{
    for (int i = 0; i < received->plan.app_count; i++)
        weft_free(received->plan.apps[i].arguments);
    wl_job_plan_release(&received->plan);
    wl_queue_release(&received->text);
}

static void plans_arrive_whole(void **state)
{
    wl_job_plan_t plan;
    wl_writer_t writer = {0};
    wl_received_plan_t received;
    (void)state;
    make_plan(&plan);
    wl_plan_write(&plan, "/somewhere", "agent -v", &writer);
    wl_message_t message = message_of(&writer);
    assert_int_equal(wl_plan_read(&message, &received), MPI_SUCCESS);
    const wl_job_plan_t *got = &received.plan;
    assert_string_equal(got->id, plan.id);
    assert_string_equal(got->directory, "/somewhere");
    assert_string_equal(got->route.agent, "agent -v");
    assert_true(got->wants_mps);
    assert_int_equal(got->size, 5);
    assert_int_equal(got->placement.host_count, 2);
    assert_string_equal(got->placement.hosts[1].name, "b");
    assert_memory_equal(got->placement.host_of, plan.placement.host_of, 5 * sizeof(int));
    assert_int_equal(got->app_count, 2);
    assert_int_equal(got->apps[1].first_rank, 2);
    assert_null(got->apps[0].directory);
    assert_string_equal(got->apps[1].directory, "/usr");
    assert_string_equal(got->apps[0].arguments[1], "--x");
    assert_string_equal(got->apps[1].arguments[1], "");
    assert_string_equal(got->apps[1].arguments[2], "c d");
    assert_null(got->apps[1].arguments[3]);
    assert_string_equal(wl_variables_get(&got->apps[0].environment, "K"), "V");
    release_received(&received);
    wl_writer_release(&writer);
    wl_job_plan_release(&plan);
}

static size_t letters_of(char *const *texts, int count)
{
    size_t letters = 0;
    for (int i = 0; i < count; i++) {
        assert_non_null(texts[i]);
        letters += strlen(texts[i]);
    }
    assert_null(texts[count]);
    return letters;
}

static int count_texts(char *const *texts)
{
    int count = 0;
    while (texts[count] != NULL)
        count++;
    return count;
}

/* Look at all that a daemon uses, as a sanitizer would see a text or a number that leads astray. */
static void expect_sound_plan(const wl_job_plan_t *plan)
{
    size_t letters = strlen(plan->launcher) + strlen(plan->id);
    int rank = 0;
    for (int i = 0; i < plan->app_count; i++) {
        const wl_app_t *app = &plan->apps[i];
        assert_int_equal(app->first_rank, rank);
        assert_true(app->count > 0);
        rank += app->count;
        assert_true(count_texts(app->arguments) > 0);
        letters += letters_of(app->arguments, count_texts(app->arguments)) +
                   letters_of(app->environment.entries, app->environment.count);
    }
    assert_int_equal(rank, plan->size);
    assert_int_equal(plan->size, plan->placement.size);
    for (int i = 0; i < plan->placement.host_count; i++)
        letters += strlen(plan->placement.hosts[i].name);
    assert_true(letters > 0);
    assert_in_range(plan->files.input_rank + 1, 0, plan->size);
    assert_true(plan->route.radix > 0 && plan->route.lost_after_s >= 0);
}

typedef enum damage { CUT, MISSING_TEXT, ONE_BYTE, SEVERAL_BYTES, LARGE_NUMBER, DAMAGES } damage_t;

/* Damage a message of `bytes` bytes at `at`; returns how long it is after that. */
static size_t inflict(damage_t damage, char *body, size_t at, size_t bytes)
{
    static const char large[] = {-1, -1, -1, 0x7f};
    switch (damage) {
    case CUT:
        return at;
    case MISSING_TEXT: /* as wl_write_text() writes NULL */
        memset(body + at, 0xff, at + 4 < bytes ? 4 : bytes - at);
        break;
    case LARGE_NUMBER:
        memcpy(body + at, large, at + 4 < bytes ? 4 : bytes - at);
        break;
    case SEVERAL_BYTES:
        for (int i = 0; i < 8; i++)
            body[(size_t)rand() % bytes] = (char)rand();
        break;
    default:
        body[at] ^= (char)(1 + rand() % 255);
    }
    return bytes;
}

static void expect_no_harm(const char *body, size_t bytes, bool is_whole)
{
    wl_received_plan_t received;
    char *copy = weft_alloc(bytes); /* so that a read behind its end is seen */
    memcpy(copy, body, bytes);
    const wl_message_t message = {.body = copy, .bytes = bytes};
    int err = wl_plan_read(&message, &received);
    if (err == MPI_SUCCESS) {
        assert_true(is_whole);
        expect_sound_plan(&received.plan);
    } else {
        assert_string_not_equal(weft_fail_text(), "");
    }
    release_received(&received);
    weft_free(copy);
}

/* Cut anywhere, without a text, or with any bytes changed, a message is refused or gives a sound
 * plan. */
static void damaged_plans_do_no_harm(void **state)
{
    wl_job_plan_t plan;
    wl_writer_t writer = {0};
    (void)state;
    make_plan(&plan);
    for (int i = 0; i < plan.app_count; i++) {
        wl_variables_release(&plan.apps[i].environment);
        assert_int_equal(wl_variables_set(&plan.apps[i].environment, "A", "B"), MPI_SUCCESS);
    }
    wl_plan_write(&plan, NULL, NULL, &writer);
    size_t whole = wl_queue_bytes(&writer.body);
    char *body = weft_alloc(whole);
    srand(1);
    expect_no_harm(wl_queue_front(&writer.body), whole, true);
    for (damage_t damage = CUT; damage < DAMAGES; damage++) {
        for (size_t at = 0; at < whole * (damage == SEVERAL_BYTES ? 20 : 1); at++) {
            memcpy(body, wl_queue_front(&writer.body), whole);
            size_t bytes = inflict(damage, body, at, whole);
            expect_no_harm(body, bytes, bytes == whole);
        }
    }
    weft_free(body);
    wl_writer_release(&writer);
    wl_job_plan_release(&plan);
}

static void events_arrive_whole(void **state)
{
    const wl_rank_event_t event = {.kind = WL_RANK_ENDED,
                                   .rank = 3,
                                   .pid = 17,
                                   .code = 139,
                                   .signal = 11,
                                   .has_core = true,
                                   .text = "text"};
    wl_rank_event_t got;
    wl_writer_t writer = {0};
    (void)state;
    wl_rank_event_write(&event, &writer);
    wl_message_t message = message_of(&writer);
    assert_true(wl_rank_event_read(&message, 4, &got));
    assert_int_equal(got.kind, WL_RANK_ENDED);
    assert_int_equal(got.rank, 3);
    assert_int_equal(got.pid, 17);
    assert_int_equal(got.code, 139);
    assert_int_equal(got.signal, 11);
    assert_true(got.has_core);
    assert_string_equal(got.text, "text");
    assert_false(wl_rank_event_read(&message, 3, &got));
    message.bytes--;
    assert_false(wl_rank_event_read(&message, 4, &got));
    wl_writer_release(&writer);
}

/* Messages of all sizes go through a socket that takes little at a time. */
static void wires_keep_order_and_size(void **state)
{
    enum { MESSAGES = 200 };
    int ends[2], taken = 0;
    wl_connection_t left, right;
    (void)state;
    char *body = weft_alloc_zeroed(1, MESSAGES * MESSAGES * 7);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    wl_connection_open(ends[0], &left);
    wl_connection_open(ends[1], &right);
    for (int i = 0; i < MESSAGES; i++) {
        const wl_message_t message = {
            .kind = i, .to = i - 1, .from = 2 * i, .body = body, .bytes = (size_t)(i * i * 7)};
        wl_connection_send(&left, &message);
    }
    while (taken < MESSAGES) {
        wl_message_t message;
        wl_connection_advance(&left);
        wl_connection_advance(&right);
        while (wl_connection_next(&right, &message)) {
            assert_int_equal(message.kind, taken);
            assert_int_equal(message.to, taken - 1);
            assert_int_equal(message.from, 2 * taken);
            assert_int_equal(message.bytes, taken * taken * 7);
            taken++;
        }
    }
    assert_true(wl_connection_is_flushed(&left));
    wl_connection_close(&left);
    wl_connection_advance(&right);
    assert_int_equal(right.fd, -1);
    assert_string_not_equal(right.error, "");
    wl_connection_close(&right);
    weft_free(body);
}

static void wires_refuse_impossible_lengths(void **state)
{
    int ends[2];
    wl_connection_t connection;
    wl_message_t message;
    (void)state;
    char noise[64];
    memset(noise, 0xff, sizeof(noise));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    wl_connection_open(ends[1], &connection);
    assert_int_equal(write(ends[0], noise, sizeof(noise)), sizeof(noise));
    wl_connection_advance(&connection);
    assert_false(wl_connection_next(&connection, &message));
    assert_int_equal(connection.fd, -1);
    assert_non_null(strstr(connection.error, "impossible length"));
    wl_connection_close(&connection);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_arrive_whole),
        cmocka_unit_test(damaged_plans_do_no_harm),
        cmocka_unit_test(events_arrive_whole),
        cmocka_unit_test(wires_keep_order_and_size),
        cmocka_unit_test(wires_refuse_impossible_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
