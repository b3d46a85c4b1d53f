/* See tabella.h: what goes in, a run, and what comes out. */
#include "tools/library/library.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/config.h"
#include "common/bundle/bundle_json.h"
#include "common/files/arrow/arrow_stream.h"
#include "common/files/files.h"

enum { THREADS_MOST = 256, HORIZON_MOST = 10000 };

int tabella_interface(void)
{
    return TABELLA_INTERFACE;
}

const char *tabella_version(void)
{
    return TAB_VERSION;
}

tabella *tabella_new(void)
{
    tabella *t = calloc(1, sizeof *t);
    if (t == NULL)
        return NULL;
    t->arena = tab_arena_new(SIZE_MAX / 2);
    t->threads = 1;
    t->notes = "";
    t->o = (tab_run_options)TAB_RUN_DEFAULTS;
    if (t->arena != NULL)
        return t;
    free(t);
    return NULL;
}

void tabella_free(tabella *t)
{
    if (t == NULL || atomic_fetch_sub(&t->holders, 1) > 0)
        return;
    tab_out_free(&t->result);
    tabella_free(t->served_by);
    tab_fitted_free(t->fitted);
    tab_arena_free(t->arena);
    free(t);
}

tabella *library_hold(const tabella *t)
{
    tabella *held = (tabella *)(uintptr_t)t; /* a fitted one is const to those who serve by it */
    atomic_fetch_add(&held->holders, 1);
    return held;
}

int library_error(tabella *t, const tab_error *err)
{
    const char *param = err->param;
    t->err = *err;
    snprintf(t->error, sizeof t->error, "%s%s%s", param, param[0] != 0 ? ": " : "", err->message);
    return -1;
}

int library_failed(tabella *t, const char *param, const char *message)
{
    tab_error err = { 0 };
    (void)!tab_fail(&err, TAB_VALIDATION, param, "%s", message);
    return library_error(t, &err);
}

int library_no_memory(tabella *t)
{
    tab_error err = { 0 };
    (void)!tab_fail(&err, TAB_INTERNAL, "", "out of memory");
    return library_error(t, &err);
}

/* A copy with a 0 behind; NULL: out of memory. */
static char *copy(tabella *t, const void *p, size_t n)
{
    char *ret = n < SIZE_MAX ? tab_arena_alloc(t->arena, n + 1, 1) : NULL;
    if (ret != NULL && n > 0)
        memcpy(ret, p, n);
    return ret;
}

/* All of these tables, or none. */
static int add(tabella *t, const tab_table *const *table, size_t n)
{
    if (n > LIBRARY_TABLES - t->n)
        return library_failed(t, "tables", "at most 64 are read at once");
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < t->n + i; k++)
            if (tab_str_eq((k < t->n ? t->table[k] : table[k - t->n])->id, table[i]->id))
                return library_failed(t, "tables", "two tables have the same id");
    }
    for (size_t i = 0; i < n; i++)
        t->table[t->n++] = table[i];
    return 0;
}

int tabella_add_file(tabella *t, const char *name, const void *bytes, size_t n)
{
    const tab_file_limits most = {
        (uint64_t)1 << 40, (uint64_t)1 << 32, LIBRARY_COLUMNS, LIBRARY_TABLES, false, false
    };
    char *p = copy(t, bytes, n), *called = copy(t, name, strlen(name));
    tab_file file;
    tab_error err = { 0 };
    if (p == NULL || called == NULL)
        return library_no_memory(t);
    if (tab_file_read(t->arena, tab_str_of(called), (tab_str){ p, n }, &most, &file, &err) != TAB_OK) {
        err.param[0] = 0;
        return library_error(t, &err);
    }
    if (file.notes.n > 0) {
        size_t before = strlen(t->notes);
        char *all = tab_arena_alloc(t->arena, before + file.notes.n + 2, 1);
        if (all == NULL)
            return library_no_memory(t);
        memcpy(all, t->notes, before);
        memcpy(all + before, file.notes.p, file.notes.n);
        all[before + file.notes.n] = '\n';
        t->notes = all;
    }
    size_t from = t->n;
    if (add(t, file.table, file.n) != 0)
        return -1;
    for (size_t i = 0; i < file.n; i++)
        t->reading[from + i] = file.reading[i];
    return 0;
}

int tabella_add_json(tabella *t, const char *json, size_t n)
{
    const tab_body_limits most = { 8, LIBRARY_TABLES, LIBRARY_COLUMNS, 0, (uint64_t)1 << 32 };
    char *p = copy(t, json, n);
    tab_body body;
    tab_error err = { 0 };
    if (p == NULL)
        return library_no_memory(t);
    if (tab_body_read(t->arena, (tab_str){ p, n }, &most, &body, &err) != TAB_OK)
        return library_error(t, &err);
    t->tables_given = true;
    return add(t, body.tables, body.n_tables);
}

int tabella_add_stream(tabella *t, const char *id, struct ArrowArrayStream *stream)
{
    const uint64_t cells = (uint64_t)1 << 32;
    char *called = copy(t, id, strlen(id));
    const tab_table *table;
    tab_error err = { 0 };
    if (called == NULL) {
        stream->release(stream);
        return library_no_memory(t);
    }
    if (tab_arrow_stream_read(t->arena, stream, tab_str_of(called), LIBRARY_COLUMNS, cells, &table, &err) !=
        TAB_OK)
        return library_error(t, &err);
    t->tables_given = true;
    return add(t, &table, 1);
}

static bool number(const char *s, double least, double most, double *ret)
{
    char *end;
    double v = strtod(s, &end);
    if (*s == 0 || *end != 0 || !(v >= least && v <= most))
        return false;
    *ret = v;
    return true;
}

static bool whole(const char *s, double most, size_t *ret)
{
    double v;
    if (!number(s, 1, most, &v) || v != floor(v))
        return false;
    *ret = (size_t)v;
    return true;
}

static int cut(tabella *t, const char *name, const char *s, int by, double most)
{
    double v;
    if (!number(s, 0, most, &v))
        return library_failed(t, name, most < 1 ? "a number from 0 to 0.5" : "a number from 0 to 1");
    if (t->o.anomaly.by != TAB_CUT_TOLD && (int)t->o.anomaly.by != by)
        return library_failed(t, name, "anomaly-share or anomaly-threshold, not both");
    t->o.anomaly = (tab_anomaly_cut){ by, v };
    return 0;
}

static bool task(const char *s, tab_task *ret)
{
    static const char *const names[] = { "auto", "classification", "regression", "anomaly" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(s, names[i]) == 0) {
            *ret = (tab_task)i;
            return true;
        }
    return false;
}

static bool split(const char *s, tab_split *ret)
{
    static const char *const names[] = { "auto", "random", "time", "group" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(s, names[i]) == 0) {
            *ret = (tab_split)i;
            return true;
        }
    return false;
}

static bool target(const char *s, tab_run_options *o)
{
    o->target = strcmp(s, "none") == 0   ? TAB_TARGET_NONE
                : strcmp(s, "auto") == 0 ? TAB_TARGET_AUTO
                                         : TAB_TARGET_COLUMN;
    o->target_column = o->target == TAB_TARGET_COLUMN ? tab_str_of(s) : TAB_S("");
    return *s != 0;
}

int tabella_option(tabella *t, const char *name, const char *value)
{
    char *s = copy(t, value, strlen(value));
    if (s == NULL)
        return library_no_memory(t);
    tab_run_options *o = &t->o;
    if (strcmp(name, "target") == 0)
        return target(s, o) ? 0 : library_failed(t, name, "a column, auto or none");
    if (strcmp(name, "task") == 0)
        return task(s, &o->task) ? 0 : library_failed(t, name, "auto, classification, regression or anomaly");
    if (strcmp(name, "threshold") == 0)
        return number(s, 0, 1, &o->threshold) ? 0 : library_failed(t, name, "a number from 0 to 1");
    if (strcmp(name, "horizon") == 0)
        return whole(s, HORIZON_MOST, &o->horizon)
                   ? 0
                   : library_failed(t, name, "a whole number from 1 to 10000");
    if (strcmp(name, "threads") == 0)
        return whole(s, THREADS_MOST, &t->threads) ? 0
                                                   : library_failed(t, name, "a whole number from 1 to 256");
    if (strcmp(name, "anomaly-share") == 0)
        return cut(t, name, s, TAB_CUT_SHARE, 0.5);
    if (strcmp(name, "anomaly-threshold") == 0)
        return cut(t, name, s, TAB_CUT_THRESHOLD, 1);
    if (strcmp(name, "explain") == 0) {
        o->explain = strcmp(s, "yes") == 0;
        return o->explain || strcmp(s, "no") == 0 ? 0 : library_failed(t, name, "yes or no");
    }
    if (strcmp(name, "na") == 0)
        return library_marks(t, tab_str_of(s));
    if (strcmp(name, "columns") == 0)
        return library_columns(t, tab_str_of(s));
    if (strcmp(name, "split") == 0)
        return split(s, &o->split) ? 0 : library_failed(t, name, "auto, random, time or group");
    if (strcmp(name, "base") == 0)
        o->base = s;
    else if (strcmp(name, "as-of") == 0)
        o->as_of = tab_str_of(s);
    else
        return library_failed(t, name, "no such option; see the header of libtabella");
    return 0;
}

void tabella_progress(tabella *t, void (*report)(void *arg, const char *phase, double done), void *arg)
{
    t->report = report;
    t->report_arg = arg;
}

int library_print(tabella *t, Tabella__Bundle *b)
{
    tab_out *o = &t->result;
    tab_bundle_run_json(o, b);
    tab_out_bytes(o, "\n", 2); /* and the 0 */
    if (!o->failed) {
        t->bundle = b;
        return 0;
    }
    tab_out_free(o);
    *o = (tab_out){ 0 };
    return library_no_memory(t);
}

int library_begin(tabella *t, tab_engine *e, tab_pool **pool)
{
    if (t->ran)
        return library_failed(t, "", "this run has ended; start another with tabella_new");
    if (t->n == 0)
        return library_failed(t, "tables", "there is none; a run has 1 to 64");
    t->ran = true;
    /* as the command line, for the marks of rows that are served later as well; a table that was given needs
     * to be asked for */
    if (!t->o.given.missing_told && !t->tables_given)
        t->o.given.missing_auto = true;
    *pool = tab_pool_new(t->threads - 1, false);
    *e = (tab_engine){ .arena = t->arena,
                       .cancel = &t->cancel,
                       .progress = t->report,
                       .progress_arg = t->report_arg,
                       .parallel_for = *pool != NULL ? tab_pool_for : NULL,
                       .parallel_arg = *pool };
    return 0;
}

int tabella_run(tabella *t)
{
    TAB_AUTO(tab_pool) *pool = NULL;
    tab_engine e;
    Tabella__Bundle *b = NULL;
    tab_error err = { 0 };
    if (library_begin(t, &e, &pool) != 0)
        return -1;
    if (tab_engine_run(&e, t->table, t->n, &t->o, &b, &err) != TAB_OK)
        return library_error(t, &err);
    for (size_t i = 0; i < t->n; i++)
        b->tables[i]->reading =
            (ProtobufCBinaryData){ t->reading[i].n, (uint8_t *)(uintptr_t)t->reading[i].p };
    return library_print(t, b);
}

void tabella_cancel(tabella *t)
{
    atomic_store(&t->cancel, true);
}

const char *tabella_result(const tabella *t, size_t *n)
{
    *n = t->result.n > 0 ? t->result.n - 1 : 0;
    return t->result.p;
}

const char *tabella_error(const tabella *t)
{
    return t->error;
}

const char *tabella_error_type(const tabella *t)
{
    return t->error[0] != 0 ? tab_status_name(t->err.status) : "";
}

const char *tabella_error_param(const tabella *t)
{
    return t->err.param;
}

const char *tabella_notes(const tabella *t)
{
    return t->notes;
}
