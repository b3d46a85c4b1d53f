/* `tabella mcp`: the Model Context Protocol over stdin and stdout, a JSON-RPC message a line. One call at a
 * time; while the engine computes, its progress callback looks for a cancellation among the lines that wait.
 * */
#include "tools/tabella/mcp.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/config.h"
#include "common/run/machine.h"
#include "services/inference/pool.h"
#include "tools/tabella/tabella.h"

static const char HELP[] =
    "usage: tabella mcp [--folder FOLDER ...] [--threads N]\n\n"
    "A server of the Model Context Protocol on stdin and stdout, for agents: tools that understand,\n"
    "match, predict, forecast and check tables in files, with no server of Tabella.\n\n"
    "  --folder FOLDER   files below it may be read; up to 16 (default: the current folder)\n"
    "  --threads N       threads to use (all processors)\n"
    "  --help\n";

enum { LINE_MOST = 1 << 20 };

typedef struct {
    mcp_tools tools;
    tab_pool *pool;
    char buf[LINE_MOST + 1];
    size_t n;
    bool ended, skip; /* skip: the rest of a line that was too long */
    atomic_bool cancel;
    const tab_json *id, *token; /* of the call that is computed */
    int percent;
} server;

/* Reads what is there into the buffer; waits for it where `wait`. False: nothing came. */
static bool fill(server *s, bool wait)
{
    struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
    if (s->ended || s->n == LINE_MOST || (!wait && poll(&p, 1, 0) <= 0))
        return false;
    ssize_t got = read(STDIN_FILENO, s->buf + s->n, LINE_MOST - s->n);
    if (got < 0 && errno == EINTR)
        return true;
    s->ended = got <= 0;
    s->n += got > 0 ? (size_t)got : 0;
    return got > 0;
}

static void send_line(tab_out *o)
{
    tab_out_bytes(o, "\n", 1);
    if (o->failed || fwrite(o->p, 1, o->n, stdout) != o->n || fflush(stdout) != 0)
        exit(EXIT_FAILURE); /* who asked is gone, or there is no memory to answer */
    tab_out_free(o);
}

static void fail(const tab_json *id, int code, const char *message)
{
    tab_out o = { 0 };
    tab_mcp_error(&o, id, code, message);
    send_line(&o);
}

static bool same(const tab_json *a, const tab_json *b)
{
    return a != NULL && b != NULL && a->kind == b->kind && tab_str_eq(a->text, b->text);
}

/* Whether a line that waits cancels the call that is computed. */
static bool cancelled(const server *s)
{
    for (size_t at = 0; at < s->n;) {
        const char *end = memchr(s->buf + at, '\n', s->n - at);
        if (end == NULL)
            return false;
        size_t n = (size_t)(end - (s->buf + at));
        TAB_AUTO(tab_arena) *a = tab_arena_new(64 * n + 65536);
        char *line = a != NULL ? tab_arena_alloc(a, n + 1, 1) : NULL;
        if (line == NULL)
            return false;
        memcpy(line, s->buf + at, n);
        tab_mcp_message m = tab_mcp_read(a, (tab_str){ line, n });
        if (m.code == 0 && tab_str_eq(m.method, TAB_S("notifications/cancelled")) &&
            same(tab_json_get(m.params, "requestId"), s->id))
            return true;
        at += n + 1;
    }
    return false;
}

static void progress(void *arg, const char *phase, double done)
{
    server *s = arg;
    if (fill(s, false) && cancelled(s))
        atomic_store(&s->cancel, true);
    if (s->token == NULL || (int)(100 * done) <= s->percent)
        return;
    s->percent = (int)(100 * done);
    tab_out o = { 0 };
    tab_mcp_progress(&o, s->token, s->percent, phase);
    send_line(&o);
}

static void call(server *s, const tab_mcp_message *m)
{
    const tab_json *name = tab_json_get(m->params, "name"), *args = tab_json_get(m->params, "arguments");
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    tab_engine e = { .arena = a,
                     .cancel = &s->cancel,
                     .progress = progress,
                     .progress_arg = s,
                     .parallel_for = s->pool != NULL ? tab_pool_for : NULL,
                     .parallel_arg = s->pool };
    s->id = m->id;
    atomic_store(&s->cancel, cancelled(s)); /* it may have come in one reading with the call */
    s->token = tab_mcp_token(m);
    s->percent = -1;
    tab_out o = { 0 };
    tab_mcp_begin(&o, m->id, tab_mcp_stated(m) != NULL);
    if (a != NULL && mcp_tools_call(&s->tools, &e, name->text, args, &o) == TAB_OK) {
        tab_mcp_end(&o);
        send_line(&o);
    } else if (a == NULL)
        fail(m->id, -32603, "out of memory");
    tab_out_free(&o); /* of what was cancelled nothing is said */
    s->id = s->token = NULL;
}

static void answer(server *s, tab_str line)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(64 * line.n + 65536);
    tab_mcp_message m = tab_mcp_read(a, line);
    if (m.code != 0) {
        fail(m.id, m.code, m.wrong);
        return;
    }
    if (m.id == NULL) /* a notification: initialized, or a cancellation that came too late */
        return;
    size_t tools;
    const tab_mcp_tool *tool = mcp_tools_all(&tools);
    tab_out o = { 0 };
    if (tab_mcp_answer(&o, &m, tool, tools) == TAB_MCP_CALL)
        call(s, &m);
    else
        send_line(&o);
}

static void serve(server *s)
{
    while (true) {
        char *end = memchr(s->buf, '\n', s->n);
        if (end == NULL && s->n == LINE_MOST) {
            if (!s->skip)
                fail(NULL, TAB_MCP_REQUEST, "a message has at most 1 MiB: name files, do not send rows");
            s->skip = true;
            s->n = 0;
        }
        if (end == NULL) {
            if (!fill(s, true) && s->ended)
                return;
            continue;
        }
        size_t n = (size_t)(end - s->buf);
        char *line = malloc(n + 1);
        if (line == NULL)
            return;
        memcpy(line, s->buf, n);
        line[n] = 0;
        memmove(s->buf, end + 1, s->n -= n + 1);
        if (!s->skip && n > 0)
            answer(s, (tab_str){ line, n });
        s->skip = false;
        free(line);
    }
}

static bool add_folder(server *s, const char *path)
{
    int fd = s->tools.folders < MCP_FOLDERS ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0)
        fprintf(stderr, "tabella mcp: --folder is a folder that is there, at most 16 of them, not %s\n",
                path);
    else
        s->tools.folder[s->tools.folders++] = fd;
    return fd >= 0;
}

int cmd_mcp(int argc, char **argv)
{
    static const struct option options[] = { { "folder", 1, NULL, 'f' },
                                             { "threads", 1, NULL, 'n' },
                                             { "help", 0, NULL, 'h' },
                                             { NULL, 0, NULL, 0 } };
    static server s;
    long threads = tab_machine_look().cores;
    optind = 1;
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (c == 'h') {
            fputs(HELP, stdout);
            return 0;
        }
        if (c == 'n')
            threads = strtol(optarg, NULL, 10);
        if (c == '?' || (c == 'f' && !add_folder(&s, optarg)) || threads < 1 || threads > 256) {
            fputs("tabella mcp --help says what there is\n", stderr);
            return EXIT_USAGE;
        }
    }
    if (s.tools.folders == 0 && !add_folder(&s, "."))
        return EXIT_INPUT;
    TAB_AUTO(tab_pool) *pool = tab_pool_new((size_t)threads - 1, false);
    s.pool = pool;
    serve(&s);
    mcp_tools_free(&s.tools);
    return EXIT_SUCCESS;
}
