/* The tools of `tabella mcp`, each a pass of the engine over files below the folders given. */
#include "tools/tabella/mcp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/bundle/bundle_json.h"
#include "common/files/files.h"
#include "services/inference/engine/bundle.h"
#include "tools/tabella/tabella.h"

enum { BYTES_MOST = 1 << 30, PATH_MOST = 4096 };
/* What runs that are kept may hold; the oldest give way, but never the newest. */
static const size_t KEPT_BYTES = (size_t)1 << 30;

#define FILE_IN "{\"type\":\"string\",\"description\":\"a file's path, from a folder that was given\"}"
#define COMMON                                                                  \
    "\"max_tokens\":{\"type\":\"integer\",\"minimum\":500,\"maximum\":1000000," \
    "\"description\":\"the answer's budget, characters / 4 (4000)\"}"
#define RUNS                                                                                         \
    COMMON ",\"dry_run\":{\"type\":\"boolean\",\"description\":\"only say how many cells it is and " \
           "what it costs\"}"

static const tab_mcp_tool TOOLS[] = {
    { "understand", "Understand tables: columns, roles, relations, matches, and what can be predicted.",
      "\"tables\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":64,\"items\":" FILE_IN "},"
      "\"target\":{\"type\":\"string\",\"description\":\"TABLE.COLUMN to predict; none (default)\"}," RUNS,
      "\"tables\"", TAB_MCP_BUNDLE, "tables" },
    { "match", "Find which rows of two tables are the same entity, with confidences.",
      "\"a\":" FILE_IN ",\"b\":" FILE_IN "," RUNS, "\"a\",\"b\"", TAB_MCP_BUNDLE,
      "cross_table_map.entity_matches" },
    { "predict", "Predict the empty cells of a column from the other rows, with confidences.",
      "\"target\":{\"type\":\"string\",\"description\":\"the column; default: one an analyst would ask "
      "for\"},\"rows\":" FILE_IN "," RUNS,
      "\"rows\"", TAB_MCP_BUNDLE, "prediction.missing_target_results" },
    { "forecast", "Forecast the next steps of every series in a table with times, with intervals.",
      "\"series\":" FILE_IN ",\"target\":{\"type\":\"string\",\"description\":\"the column whose next "
      "steps are wanted\"},\"horizon\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10000}," RUNS,
      "\"series\",\"target\",\"horizon\"", TAB_MCP_BUNDLE, "prediction.forecast.rows" },
    { "check", "Find cells that are likely wrong, with confidences and suggestions.",
      "\"table\":" FILE_IN "," RUNS, "\"table\"", TAB_MCP_DOUBTS("items"), "" },
    { "ask", "A part of a run that was made: lists page by page.",
      "\"run\":{\"type\":\"string\"},\"part\":{\"type\":\"string\",\"description\":\"as left_out names it: "
      "tables[0].column_profile; default: all\"},\"filter\":{\"type\":\"string\",\"description\":\"only "
      "a list's items with a text that contains this\"},\"offset\":{\"type\":\"integer\",\"minimum\":0},"
      "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100000}," COMMON,
      "\"run\"", "{}", "" },
};
enum { TOOLS_N = sizeof TOOLS / sizeof *TOOLS };

const tab_mcp_tool *mcp_tools_all(size_t *ret)
{
    *ret = TOOLS_N;
    return TOOLS;
}

/* ---- files ------------------------------------------------------------------------------------- */

/* Beneath a folder, by no symbolic link: the kernel itself refuses what leads out. */
static int open_below(const mcp_tools *t, const char *path)
{
    struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                            .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
    int fd = -1;
    for (size_t i = 0; i < t->folders && fd < 0; i++)
        fd = (int)syscall(SYS_openat2, t->folder[i], path, &how, sizeof how);
    return fd;
}

static tab_status slurp(int fd, const char *path, char **ret, size_t *ret_n, tab_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > BYTES_MOST)
        return tab_fail(err, TAB_VALIDATION, path, "not a file, or larger than 1 GiB");
    size_t size = (size_t)st.st_size, n = 0;
    char *p = malloc(size + 1);
    if (p == NULL)
        return tab_no_memory(err);
    for (ssize_t got = 1; n < size && got > 0; n += got > 0 ? (size_t)got : 0)
        got = read(fd, p + n, size - n);
    *ret = p;
    *ret_n = n;
    return TAB_OK;
}

typedef struct {
    const tab_table *table[TABLES];
    size_t n;
} tables;

/* `argument` is what the file was given as. */
static tab_status read_one(const mcp_tools *t, tab_arena *a, const char *argument, const tab_json *name,
                           tables *to, tab_error *err)
{
    const tab_file_limits most = { (uint64_t)1 << 32, (uint64_t)1 << 30, 1 << 17, TABLES, false, false };
    char path[PATH_MOST], *bytes = NULL;
    size_t n = 0;
    tab_file file;
    if (name == NULL || name->kind != TAB_JSON_STRING || name->text.n == 0 || name->text.n >= sizeof path ||
        memchr(name->text.p, 0, name->text.n) != NULL)
        return tab_fail(err, TAB_VALIDATION, argument,
                        "give the path of a file below one of the folders given; rows in the message itself "
                        "are not taken");
    memcpy(path, name->text.p, name->text.n);
    path[name->text.n] = 0;
    int fd = open_below(t, path);
    if (fd < 0 && errno == ENOENT)
        return tab_fail(err, TAB_NOT_FOUND, path, "there is no such file below the folders given");
    if (fd < 0)
        return tab_fail(
            err, TAB_VALIDATION, path,
            "not readable below the folders given; paths are relative and may not leave them by links or "
            "..; start tabella mcp with --folder to give another folder");
    tab_status s = slurp(fd, path, &bytes, &n, err);
    close(fd);
    if (s == TAB_OK)
        s = tab_file_read(a, name->text, (tab_str){ bytes, n }, &most, &file, err);
    free(bytes);
    for (size_t i = 0; s == TAB_OK && i < file.n; i++) {
        for (size_t k = 0; k < to->n; k++)
            if (tab_str_eq(to->table[k]->id, file.table[i]->id))
                return tab_fail(err, TAB_VALIDATION, path,
                                "two tables have the same name; rename one of the files");
        if (to->n == TABLES)
            return tab_fail(err, TAB_VALIDATION, path, "at most 64 tables at once; name fewer files");
        to->table[to->n++] = file.table[i];
    }
    return s;
}

static tab_status read_tables(const mcp_tools *t, tab_arena *a, const tab_json *args, tables *to,
                              tab_error *err)
{
    static const char *const NAMES[] = { "a", "b", "rows", "series", "table" };
    const tab_json *list = tab_json_get(args, "tables");
    if (list != NULL && list->kind != TAB_JSON_ARRAY)
        return tab_fail(err, TAB_VALIDATION, "tables", "`tables` must be a list of paths");
    for (const tab_json *f = list != NULL ? list->first : NULL; f != NULL; f = f->next)
        TAB_TRY(read_one(t, a, "tables", f, to, err));
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (tab_json_get(args, NAMES[i]) != NULL)
            TAB_TRY(read_one(t, a, NAMES[i], tab_json_get(args, NAMES[i]), to, err));
    return to->n > 0
               ? TAB_OK
               : tab_fail(err, TAB_VALIDATION, "arguments", "name a file; see the inputSchema of this tool");
}

/* ---- runs -------------------------------------------------------------------------------------- */

static void forget(mcp_run *r)
{
    tab_arena_free(r->arena);
    free(r->text);
    *r = (mcp_run){ 0 };
}

void mcp_tools_free(mcp_tools *t)
{
    for (size_t i = 0; i < MCP_RUNS; i++)
        forget(&t->run[i]);
}

/* Keeps the text as a run; the text's memory is the run's from here. */
static tab_status keep(mcp_tools *t, tab_out *text, const mcp_run **ret, tab_error *err)
{
    mcp_run r = { .arena = tab_arena_new(SIZE_MAX / 2) };
    tab_out_bytes(text, "", 1);
    if (text->failed || r.arena == NULL) {
        tab_arena_free(r.arena);
        return tab_no_memory(err);
    }
    tab_status s = tab_json_read_own(r.arena, (tab_str){ text->p, text->n - 1 }, 64, &r.bundle, err);
    if (s != TAB_OK) {
        tab_arena_free(r.arena);
        return s;
    }
    r.bytes = text->n + tab_arena_used(r.arena);
    size_t held = r.bytes;
    for (size_t i = 1; i < MCP_RUNS; i++) { /* from the newest on */
        mcp_run *old = &t->run[(t->runs + MCP_RUNS - i) % MCP_RUNS];
        held += old->bytes;
        if (held > KEPT_BYTES)
            forget(old);
    }
    mcp_run *place = &t->run[t->runs++ % MCP_RUNS];
    forget(place);
    snprintf(r.name, sizeof r.name, "run-%zu", t->runs);
    r.text = text->p;
    *text = (tab_out){ 0 };
    *place = r;
    *ret = place;
    return TAB_OK;
}

static tab_status computed(tab_engine *e, tab_str tool, const tab_json *args, const tables *in, tab_out *o,
                           tab_error *err)
{
    double surest;
    if (tab_str_eq(tool, TAB_S("check")))
        return check_json(e, in->table, in->n, 0.5, o, &surest, err);
    tab_run_options opt = TAB_RUN_DEFAULTS;
    const tab_json *target = tab_json_get(args, "target"), *horizon = tab_json_get(args, "horizon");
    opt.given.missing_auto = true;
    opt.target = tab_str_eq(tool, TAB_S("predict")) ? TAB_TARGET_AUTO : TAB_TARGET_NONE;
    if (target == NULL && (horizon != NULL || tab_str_eq(tool, TAB_S("forecast"))))
        return tab_fail(err, TAB_VALIDATION, "target", "name the column to forecast in `target`");
    if (target != NULL && target->kind != TAB_JSON_STRING)
        return tab_fail(err, TAB_VALIDATION, "target", "`target` must be the name of a column");
    if (target != NULL && !tab_str_eq(target->text, TAB_S("none"))) {
        opt.target = TAB_TARGET_COLUMN;
        opt.target_column = target->text;
    }
    if (tab_str_eq(tool, TAB_S("forecast")) || horizon != NULL) {
        if (horizon == NULL || !tab_mcp_whole(args, "horizon", 1, 10000, &opt.horizon))
            return tab_fail(err, TAB_VALIDATION, "horizon",
                            "`horizon` must be a whole number from 1 to 10000");
    }
    Tabella__Bundle *b = NULL;
    TAB_TRY(tab_engine_run(e, in->table, in->n, &opt, &b, err));
    tab_out_open(o, '{');
    tab_bundle_json(o, b, NULL);
    tab_out_close(o, '}');
    return TAB_OK;
}

/* ---- calls ------------------------------------------------------------------------------------- */

static tab_status ask(mcp_tools *t, tab_arena *a, const tab_json *args, size_t most, tab_out *o,
                      tab_error *err)
{
    const tab_json *name = tab_json_get(args, "run"), *of;
    const mcp_run *r = NULL;
    tab_str path;
    for (size_t i = 0; i < MCP_RUNS && name != NULL && name->kind == TAB_JSON_STRING; i++)
        if (t->run[i].bundle != NULL && tab_str_eq(name->text, tab_str_of(t->run[i].name)))
            r = &t->run[i];
    if (r == NULL)
        return tab_fail(err, TAB_NOT_FOUND, "run",
                        "no such run; only the last 8 are kept, so run the tool again");
    TAB_TRY(tab_mcp_part(a, r->bundle, args, &path, &of, err));
    tab_mcp_fit(o, of, r->name, path, "", most);
    return TAB_OK;
}

static tab_status dry(tab_arena *a, const tables *in, size_t most, tab_out *o, tab_error *err)
{
    uint64_t cells = 0;
    char text[160];
    const tab_json *tree;
    for (size_t i = 0; i < in->n; i++)
        cells += (uint64_t)in->table[i]->rows * in->table[i]->cols;
    int n = snprintf(text, sizeof text,
                     "{\"dry_run\":true,\"tables\":%zu,\"cells\":%llu,\"amount_usd\":0,"
                     "\"where\":\"computed on this machine\"}",
                     in->n, (unsigned long long)cells);
    TAB_TRY(tab_json_read(a, (tab_str){ text, (size_t)n }, 4, &tree, err));
    tab_mcp_fit(o, tree, NULL, TAB_S(""), "", most);
    return TAB_OK;
}

static tab_status call(mcp_tools *t, tab_engine *e, const tab_mcp_tool *tool, const tab_json *args,
                       tab_out *o, tab_error *err)
{
    size_t most = 0;
    tables in = { .n = 0 };
    tab_out text = { 0 };
    const mcp_run *r = NULL;
    tab_str name = tab_str_of(tool->name);
    TAB_TRY(tab_mcp_arguments(tool, args, &most, err));
    if (tab_str_eq(name, TAB_S("ask")))
        return ask(t, e->arena, args, most, o, err);
    TAB_TRY(read_tables(t, e->arena, args, &in, err));
    const tab_json *dry_run = tab_json_get(args, "dry_run");
    if (dry_run != NULL && dry_run->yes)
        return dry(e->arena, &in, most, o, err);
    tab_status s = computed(e, name, args, &in, &text, err);
    if (s == TAB_OK)
        s = keep(t, &text, &r, err);
    tab_out_free(&text);
    if (s == TAB_OK)
        tab_mcp_fit(o, r->bundle, r->name, TAB_S(""), tool->first, most);
    return s;
}

tab_status mcp_tools_call(mcp_tools *t, tab_engine *e, tab_str name, const tab_json *arguments, tab_out *o)
{
    tab_error err = { 0 };
    const tab_mcp_tool *tool = tab_mcp_tool_find(TOOLS, TOOLS_N, name);
    tab_status s = tool != NULL ? call(t, e, tool, arguments, o, &err)
                                : tab_fail(&err, TAB_NOT_FOUND, "name", "no such tool");
    if (s != TAB_OK && s != TAB_CANCELLED)
        tab_mcp_failed(o, &err);
    return s == TAB_CANCELLED ? s : TAB_OK;
}
