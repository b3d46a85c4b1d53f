/* See child.h: the daemon's side. */
#include "services/data-connector/reader/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/proto.h"
#include "common/table/table_wire.h"

enum { POLL_MS = 100, ANSWER_MOST = 1 << 20, PIECE_MOST = 1 << 30 };
static const size_t FEED_SCRATCH = (size_t)2 << 30; /* of some rows that are written */

typedef struct {
    pid_t pid;
    int fd;
    tab_deadline deadline;
    const atomic_bool *cancel;
} child;

/* file: what the process has at descriptor 3; -1: nothing. */
static tab_status spawn(child *c, int file, tab_error *err)
{
    static char argument[] = CHILD_ARGUMENT, name[] = "data-connector";
    char *argv[] = { name, argument, NULL }, *env[] = { NULL };
    int pair[2];
    posix_spawn_file_actions_t acts;
    posix_spawnattr_t attr;
    sigset_t none;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return tab_fail(err, TAB_UNAVAILABLE, "",
                        "no process could be started to read the source; try again");
    sigemptyset(&none); /* the daemon holds signals back in all its threads */
    posix_spawn_file_actions_init(&acts);
    posix_spawnattr_init(&attr);
    posix_spawn_file_actions_adddup2(&acts, pair[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&acts, pair[1], STDOUT_FILENO);
    if (file >= 0)
        posix_spawn_file_actions_adddup2(&acts, file, CHILD_FILE);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
    int e = posix_spawn(&c->pid, "/proc/self/exe", &acts, &attr, argv, env);
    posix_spawn_file_actions_destroy(&acts);
    posix_spawnattr_destroy(&attr);
    close(pair[1]);
    if (e != 0) {
        close(pair[0]);
        return tab_fail(err, TAB_UNAVAILABLE, "",
                        "no process could be started to read the source; try again");
    }
    c->fd = pair[0];
    return TAB_OK;
}

/* Waits for the socket. Errors: CANCELLED. */
static tab_status wait_for(const child *c, short events, tab_error *err)
{
    for (;;) {
        struct pollfd p = { c->fd, events, 0 };
        int64_t left = *c->cancel ? 0 : tab_left_ms(c->deadline, POLL_MS);
        if (left == 0)
            return source_too_late(err);
        if (poll(&p, 1, (int)left) > 0)
            return TAB_OK;
    }
}

static const char ENDED[] = "the process reading the source ended; try again";

static tab_status ended_early(tab_error *err)
{
    return tab_fail(err, TAB_UNAVAILABLE, "", "%s", ENDED);
}

static bool ended(tab_status s, const tab_error *err)
{
    return s == TAB_UNAVAILABLE && err != NULL && strcmp(err->message, ENDED) == 0;
}

static tab_status send_all(const child *c, const char *p, size_t n, tab_error *err)
{
    while (n > 0) {
        TAB_TRY(wait_for(c, POLLOUT, err));
        ssize_t w = send(c->fd, p, n < 1 << 16 ? n : 1 << 16, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (w < 0 && errno != EAGAIN && errno != EINTR)
            return ended_early(err);
        p += w > 0 ? w : 0;
        n -= w > 0 ? (size_t)w : 0;
    }
    return TAB_OK;
}

static tab_status take_all(const child *c, char *p, size_t n, tab_error *err)
{
    while (n > 0) {
        TAB_TRY(wait_for(c, POLLIN, err));
        ssize_t got = read(c->fd, p, n);
        if (got == 0 || (got < 0 && errno != EINTR))
            return ended_early(err);
        p += got > 0 ? got : 0;
        n -= got > 0 ? (size_t)got : 0;
    }
    return TAB_OK;
}

static tab_status tell(const child *c, const Tabella__SourceTask *task, tab_error *err)
{
    size_t n = tabella__source_task__get_packed_size(task);
    uint8_t *bytes = n < INT32_MAX ? malloc(n + 4) : NULL;
    if (bytes == NULL)
        return tab_no_memory(err);
    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(n >> (8 * i));
    tabella__source_task__pack(task, bytes + 4);
    tab_status s = send_all(c, (const char *)bytes, n + 4, err);
    sodium_memzero(bytes, n + 4);
    free(bytes);
    return s;
}

/* The rows that follow the task. A process that has answered meanwhile takes no more of them. */
static tab_status feed_all(const child *c, const child_feed *feed, tab_error *err)
{
    for (;;) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(FEED_SCRATCH);
        struct pollfd p = { c->fd, POLLIN, 0 };
        uint8_t head[4];
        tab_str bytes;
        if (a == NULL)
            return tab_no_memory(err);
        if (poll(&p, 1, 0) > 0)
            return TAB_OK;
        TAB_TRY(feed->next(feed->arg, a, &bytes, err));
        if (bytes.n > PIECE_MOST)
            return tab_fail(err, TAB_INTERNAL, "", "rows to write that are too many at once");
        for (int i = 0; i < 4; i++)
            head[i] = (uint8_t)(bytes.n >> (8 * i));
        TAB_TRY(send_all(c, (const char *)head, sizeof head, err));
        if (bytes.n == 0)
            return TAB_OK;
        TAB_TRY(send_all(c, bytes.p, bytes.n, err));
    }
}

static tab_status take_table(const child *c, tab_arena *a, uint64_t n, const tab_table **ret, tab_error *err)
{
    const tab_table *const *tables;
    size_t count = 0;
    char *bytes = n > (uint64_t)1 << 40 ? NULL : malloc(n + 1);
    if (bytes == NULL || !tab_arena_adopt(a, bytes, n + 1))
        return tab_fail(err, TAB_VALIDATION, "source", "The source's table does not fit in memory.");
    TAB_TRY(take_all(c, bytes, n, err));
    bytes[n] = '\0';
    if (tab_wire_read(a, (tab_str){ bytes, n }, &tables, &count, err) != TAB_OK || count != 1)
        return tab_fail(err, TAB_INTERNAL, "", "a source's reader answered with no table");
    *ret = tables[0];
    return TAB_OK;
}

static tab_status join_notes(tab_arena *a, const Tabella__SourceAnswer *m, tab_str *ret, tab_error *err)
{
    char *all = tab_proto_text(a, "");
    for (size_t i = 0; i < m->n_notes; i++)
        if ((all = tab_arena_printf(a, "%s%s%s", all, i > 0 ? "\n" : "", m->notes[i])) == NULL)
            return tab_no_memory(err);
    *ret = tab_str_of(all);
    return TAB_OK;
}

/* The one message of the answer. */
static tab_status hear_message(const child *c, tab_arena *a, const Tabella__SourceAnswer **ret,
                               tab_str *notes, tab_error *err)
{
    uint8_t head[4];
    TAB_TRY(take_all(c, (char *)head, sizeof head, err));
    size_t n = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
    char *bytes = n > ANSWER_MOST ? NULL : tab_arena_alloc(a, n + 1, 1);
    if (bytes == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "a source's reader answered too much");
    TAB_TRY(take_all(c, bytes, n, err));
    const Tabella__SourceAnswer *m =
        tab_proto_read(a, &tabella__source_answer__descriptor, (tab_str){ bytes, n });
    if (m == NULL || m->status < 0 || m->status >= TAB_STATUS_COUNT)
        return tab_fail(err, TAB_INTERNAL, "", "a source's reader answered nothing legible");
    if (m->status != TAB_OK)
        return tab_fail(err, (tab_status)m->status, m->param, "%s", m->message);
    *ret = m;
    return join_notes(a, m, notes, err);
}

/* What an answer is heard into: a table in the arena, or a sink of pieces. */
typedef struct {
    tab_arena *a;
    const tab_table **table;
    tab_str *notes, *reading;
    const child_sink *sink;
} hearing;

/* The pieces that follow on a file's answer, one in memory at a time. */
static tab_status hear_pieces(const child *c, const Tabella__SourceAnswer *m, const child_sink *sink,
                              tab_error *err)
{
    child_piece p;
    for (;;) {
        TAB_TRY(take_all(c, (char *)&p, sizeof p, err));
        if (p.bytes == 0)
            return TAB_OK;
        const Tabella__FileTable *t = p.table < m->n_tables ? m->tables[p.table] : NULL;
        if (t == NULL || p.bytes > PIECE_MOST || p.cols > t->cols || p.first_col > t->cols - p.cols ||
            p.rows > t->rows || p.first_row > t->rows - p.rows)
            return tab_fail(err, TAB_INTERNAL, "", "a file's reader answered a piece of no table");
        char *bytes = malloc(p.bytes);
        tab_status s = bytes != NULL ? take_all(c, bytes, p.bytes, err) : tab_no_memory(err);
        if (s == TAB_OK)
            s = sink->piece(sink->arg, &p, (tab_str){ bytes, p.bytes }, err);
        free(bytes);
        TAB_TRY(s);
    }
}

static tab_status hear(const child *c, const hearing *h, tab_error *err)
{
    const Tabella__SourceAnswer *m = NULL;
    TAB_TRY(hear_message(c, h->a, &m, h->notes, err));
    if (h->sink != NULL) {
        TAB_TRY(h->sink->tables(h->sink->arg, m->tables, m->n_tables, *h->notes, err));
        return hear_pieces(c, m, h->sink, err);
    }
    *h->table = NULL;
    *h->reading = tab_str_of(m->reading);
    return m->table_bytes == 0 ? TAB_OK : take_table(c, h->a, m->table_bytes, h->table, err);
}

/* Why a reader ended before it had answered: of its own limits, or of somebody's hand. */
static tab_status died(int status, tab_error *err)
{
    int by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    char signal[16], code[16];
    snprintf(signal, sizeof signal, "%d", by);
    snprintf(code, sizeof code, "%d", WIFEXITED(status) ? WEXITSTATUS(status) : 0);
    tab_log_fields(TAB_WARN, "a source's reader ended before it had answered", "signal", signal, "code", code,
                   NULL);
    if (by == SIGXCPU)
        return tab_fail(err, TAB_VALIDATION, "source", "Reading the source exceeded the limit of CPU time.");
    if (by == SIGKILL || by == SIGTERM) /* the system was out of memory, or an operator ended it */
        return tab_fail(err, TAB_UNAVAILABLE, "", "The process reading the source was killed; try again.");
    return tab_fail(err, TAB_VALIDATION, "source", "The source contains data that crashed its reader.");
}

static tab_status run(const Tabella__SourceTask *task, const child_feed *feed, int file, child *c,
                      const hearing *h, tab_error *err)
{
    int status = 0;
    bool fed = true;
    TAB_TRY(spawn(c, file, err));
    tab_status s = tell(c, task, err);
    if (s == TAB_OK && feed != NULL)
        fed = (s = feed_all(c, feed, err)) == TAB_OK || ended(s, err);
    if (fed && s != TAB_CANCELLED) { /* one that ended before it had heard all may still have answered */
        tab_error why = { 0 };
        tab_status heard = hear(c, h, &why);
        if (s == TAB_OK || heard != TAB_UNAVAILABLE) {
            s = heard;
            if (heard != TAB_OK && err != NULL)
                *err = why;
        }
    }
    bool early = ended(s, err);
    if (!early && s != TAB_OK)
        kill(c->pid, SIGKILL);
    close(c->fd);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return early ? died(status, err) : s;
}

tab_status child_run(tab_arena *a, const Tabella__SourceTask *task, const child_feed *feed,
                     tab_deadline deadline, const atomic_bool *cancel, const tab_table **ret, tab_str *notes,
                     tab_str *reading, tab_error *err)
{
    child c = { .deadline = deadline, .cancel = cancel };
    const hearing h = { .a = a, .table = ret, .notes = notes, .reading = reading };
    return run(task, feed, -1, &c, &h, err);
}

tab_status child_load(tab_arena *a, const Tabella__SourceTask *task, int file, tab_deadline deadline,
                      const atomic_bool *cancel, const child_sink *sink, tab_error *err)
{
    child c = { .deadline = deadline, .cancel = cancel };
    tab_str notes = TAB_S("");
    const hearing h = { .a = a, .notes = &notes, .sink = sink };
    return run(task, NULL, file, &c, &h, err);
}
