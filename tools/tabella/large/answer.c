/* The last pass: every row with its answer and its filled cells, in the order of the rows. A slice of rows is
 * answered and written by one thread; slices are put one behind the other. A row of the sample has the
 * answer of models that did not see it. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/tabella/large/large.h"
#include "tools/tabella/out.h"

/* ANSWERS: the table's cells and, beside them, what was predicted. FILLED: the cells, none missing. */
enum { ANSWERS, FILLED, FILES };

typedef struct {
    const tab_table *piece;
    size_t from, n;
    uint64_t first; /* number of its first row */
    tab_out out[FILES];
    tab_status status;
    tab_error err;
} slice;

typedef struct {
    large *l;
    const char *path[FILES], *part[FILES];
    FILE *f[FILES];     /* NULL: not wanted */
    uint64_t row, wide; /* wide: records of what an earlier run has done */
    large_done done;    /* which that is */
    uint32_t *result;   /* (rows seen) of the sample's results, from 1; 0: none */
    slice *slice;
} answers;

/* Rows [from, from + n) of t; the columns are made in a. */
static const tab_table *cut(tab_arena *a, const tab_table *t, size_t from, size_t n)
{
    tab_table *own = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, t->cols + 1);
    if (own == NULL || col == NULL)
        return NULL;
    for (size_t c = 0; c < t->cols; c++) {
        col[c] = t->col[c];
        if (col[c].layout == TAB_NUMBERS)
            col[c].num += from;
        else
            col[c].code += from;
    }
    *own = (tab_table){ .id = t->id, .rows = n, .cols = t->cols, .col = col };
    return own;
}

/* Place of the first row of the sample that is not below. */
static size_t place_of(const large *l, uint64_t row)
{
    size_t from = 0, to = l->seen->rows;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (l->seen_row[mid] < row)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

static tab_status write_answers(const answers *x, slice *s, const tab_table *t, const Tabella__Prediction *p,
                                tab_error *err)
{
    const large *l = x->l;
    const Tabella__Prediction *own = l->b->prediction;
    tab_out *o = &s->out[ANSWERS];
    tab_column classes = { 0 };
    size_t k = p->results->n_row > 0 ? p->results->n_probabilities / p->results->n_row : 0;
    if (k > 0 && (p->classes == NULL || !tab_column_view(p->classes, k, &classes)))
        return tab_no_memory(err);
    for (size_t i = 0, at = place_of(l, s->first); i < s->n; i++) {
        uint64_t row = s->first + i;
        while (at < l->seen->rows && l->seen_row[at] < row)
            at++;
        bool seen = at < l->seen->rows && l->seen_row[at] == row && x->result[at] > 0;
        out_row(o, t, i, row);
        if (seen)
            out_answer(o, own, own->results, x->result[at] - 1, &classes);
        else
            out_answer(o, p, p->results, i, &classes);
        tab_out_bytes(o, "\r\n", 2);
    }
    return TAB_OK;
}

static tab_status write_filled(const answers *x, const tab_engine *e, slice *s, const tab_table *t,
                               const Tabella__Prediction *p, tab_error *err)
{
    tab_out *o = &s->out[FILLED];
    tab_cell *cell = tab_arena_new_of(e->arena, tab_cell, t->rows * t->cols + 1);
    if (cell == NULL)
        return tab_no_memory(err);
    TAB_TRY(large_fill_rows(x->l, e, t, p, cell, err));
    for (size_t i = 0; i < t->rows; i++)
        for (size_t c = 0; c < t->cols; c++) {
            out_cell(o, cell[i * t->cols + c]);
            tab_out_bytes(o, c + 1 < t->cols ? "," : "\r\n", c + 1 < t->cols ? 1 : 2);
        }
    return TAB_OK;
}

static tab_status write_slice(const answers *x, slice *s, tab_arena *a, tab_error *err)
{
    const large *l = x->l;
    tab_engine e = { .arena = a, .cancel = l->e.cancel, .seed = l->e.seed };
    Tabella__Prediction *p = NULL;
    const tab_table *t = cut(a, s->piece, s->from, s->n);
    if (t == NULL)
        return tab_no_memory(err);
    if (x->f[ANSWERS] != NULL) {
        TAB_TRY(tab_score_any(&e, l->parts.fitted, t, false, &p, err));
        TAB_TRY(write_answers(x, s, t, p, err));
    }
    if (x->f[FILLED] != NULL)
        TAB_TRY(write_filled(x, &e, s, t, p, err));
    return s->out[ANSWERS].failed || s->out[FILLED].failed ? tab_no_memory(err) : TAB_OK;
}

static void answer_slice(void *arg, size_t i)
{
    answers *x = arg;
    slice *s = &x->slice[i];
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    s->status = a != NULL ? write_slice(x, s, a, &s->err) : tab_no_memory(&s->err);
}

static tab_status put(const answers *x, size_t file, tab_out *o, tab_error *err)
{
    bool good = !o->failed && fwrite(o->p, 1, o->n, x->f[file]) == o->n;
    tab_status s = good ? TAB_OK
                   : o->failed
                       ? tab_no_memory(err)
                       : tab_fail(err, TAB_INTERNAL, "", "%.300s: %s", x->part[file], strerror(errno));
    tab_out_free(o);
    *o = (tab_out){ 0 };
    return s;
}

/* How far it is, once what is written lies in the files. */
static tab_status note(answers *x, tab_error *err)
{
    large *l = x->l;
    large_done d = { .pieces = l->past, .rows = x->row, .wide = x->wide + l->wide };
    for (size_t k = 0; k < FILES; k++) {
        if (x->f[k] == NULL)
            continue;
        if (fflush(x->f[k]) != 0)
            return tab_fail(err, TAB_INTERNAL, "", "%.300s: %s", x->part[k], strerror(errno));
        d.bytes[k] = (uint64_t)ftello(x->f[k]);
    }
    large_done_save(l, &d);
    return TAB_OK;
}

static tab_status answer(large *l, const tab_table *const *piece, size_t n, void *arg, tab_error *err)
{
    answers *x = arg;
    size_t slices = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        slices += (piece[i]->rows + LARGE_SLICE - 1) / LARGE_SLICE;
    x->slice = calloc(slices + 1, sizeof *x->slice);
    if (x->slice == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++)
        for (size_t from = 0; from < piece[i]->rows; from += LARGE_SLICE) {
            size_t rows = piece[i]->rows - from < LARGE_SLICE ? piece[i]->rows - from : LARGE_SLICE;
            x->slice[at++] = (slice){ .piece = piece[i], .from = from, .n = rows, .first = x->row };
            x->row += rows;
        }
    tab_engine_for(&l->e, slices, answer_slice, x);
    tab_status s = TAB_OK;
    for (size_t i = 0; i < slices; i++) {
        if (s == TAB_OK && (s = x->slice[i].status) != TAB_OK)
            *err = x->slice[i].err;
        for (size_t k = 0; k < FILES; k++)
            if (s == TAB_OK && x->f[k] != NULL)
                s = put(x, k, &x->slice[i].out[k], err);
            else
                tab_out_free(&x->slice[i].out[k]);
    }
    free(x->slice);
    if (s == TAB_OK)
        s = note(x, err);
    return s;
}

/* Goes on behind what an earlier run has written; false: there is less than it said. */
static bool go_on(answers *x, size_t file)
{
    struct stat st;
    bool good = stat(x->part[file], &st) == 0 && (uint64_t)st.st_size >= x->done.bytes[file] &&
                truncate(x->part[file], (off_t)x->done.bytes[file]) == 0;
    x->f[file] = good ? fopen(x->part[file], "abe") : NULL;
    return x->f[file] != NULL;
}

/* Both files are written beside, and named when they are whole. */
static tab_status begin(large *l, answers *x, size_t file, const char *name, tab_error *err)
{
    tab_out o = { 0 };
    x->path[file] = tab_arena_printf(l->e.arena, "%s/%s", l->run->out, name);
    x->part[file] = tab_arena_printf(l->e.arena, "%s/%s.part", l->run->out, name);
    if (x->path[file] == NULL || x->part[file] == NULL)
        return tab_no_memory(err);
    if (x->done.bytes[file] > 0 && go_on(x, file))
        return TAB_OK;
    if (x->done.bytes[file] > 0)
        return tab_fail(err, TAB_INTERNAL, "",
                        "%.300s: shorter than the earlier run left it; remove the folder to begin anew",
                        x->part[file]);
    x->f[file] = fopen(x->part[file], "wbe");
    if (x->f[file] == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "%.300s: %s", x->part[file], strerror(errno));
    if (file == ANSWERS) {
        out_top(&o, l->seen, l->b->prediction);
    } else {
        out_header(&o, l->seen);
        tab_out_bytes(&o, "\r\n", 2);
    }
    return put(x, file, &o, err);
}

static tab_status end(answers *x, tab_status s, tab_error *err)
{
    for (size_t k = 0; k < FILES; k++) {
        if (x->f[k] == NULL)
            continue;
        if ((fclose(x->f[k]) != 0 || (s == TAB_OK && rename(x->part[k], x->path[k]) != 0)) && s == TAB_OK)
            s = tab_fail(err, TAB_INTERNAL, "", "%.300s: %s", x->path[k], strerror(errno));
        if (s != TAB_OK && s != TAB_CANCELLED) /* who is ended may go on */
            unlink(x->part[k]);
    }
    return s;
}

tab_status large_answer(large *l, tab_error *err)
{
    const Tabella__Prediction *p = l->b->prediction;
    char name[160];
    answers x = { .l = l };
    bool asked = p != NULL && p->results != NULL;
    x.result = tab_arena_new_of(l->e.arena, uint32_t, l->seen->rows + 1);
    if (x.result == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; asked && i < p->results->n_row; i++)
        if (p->results->row[i] < l->seen->rows)
            x.result[p->results->row[i]] = (uint32_t)(i + 1);
    out_filled_name(l->seen->id, name, sizeof name);
    if (large_done_load(l, &x.done)) {
        x.row = x.done.rows;
        x.wide = x.done.wide;
        l->skip = x.done.pieces;
    }
    tab_status s = asked ? begin(l, &x, ANSWERS, "predictions.csv", err) : TAB_OK;
    if (s == TAB_OK && (l->fills > 0 || (asked && p->missing_target > 0)))
        s = begin(l, &x, FILLED, name, err);
    if (s == TAB_OK && (x.f[ANSWERS] != NULL || x.f[FILLED] != NULL))
        s = large_pass(l, "answer", answer, &x, err);
    l->wide += x.wide;
    return end(&x, s, err);
}
