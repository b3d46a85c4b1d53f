/* See request.h: which pinned table and columns the tables of a serve call belong to, and what of them
 * differs. */
#include "services/inference/serve/request.h"

#include <math.h>
#include <stdio.h>

#include "services/inference/engine/profile/features/column.h"
#include "services/inference/engine/profile/given.h"

typedef struct {
    inference *self;
    tab_loan *loan;
} hold;

static void give(void *arg)
{
    hold *h = arg;
    tab_states_give(h->self->states, h->loan);
}

bool loan_until_packed(inference *self, tab_call *call, tab_loan *loan)
{
    hold *h = tab_arena_new_of(call->arena, hold, 1);
    if (h == NULL)
        return false;
    *h = (hold){ self, loan };
    return tab_arena_defer(call->arena, give, h);
}

/* ---- columns --------------------------------------------------------------------------------- */

#define REMEDY "; send the pinned columns, or sync and refresh the endpoint onto the new ones"

static size_t count_name(const tab_table *t, tab_str name, size_t *at)
{
    size_t n = 0;
    for (size_t c = 0; c < t->cols; c++)
        if (tab_str_eq(t->col[c].name, name)) {
            n++;
            *at = c;
        }
    return n;
}

/* Finds columns by name where the pinned names are unique and given, else by position. */
static bool by_name(const tab_table *pinned)
{
    size_t at;
    for (size_t c = 0; c < pinned->cols; c++)
        if (pinned->col[c].name.n == 0 || count_name(pinned, pinned->col[c].name, &at) != 1)
            return false;
    return true;
}

/* Names of columns come from the caller: they are quoted short. */
static void list_names(char *buf, size_t size, const tab_table *in, const tab_table *against)
{
    size_t used = 0, n = 0, at;
    buf[0] = 0;
    for (size_t c = 0; c < in->cols; c++) {
        if (count_name(against, in->col[c].name, &at) > 0)
            continue;
        if (n++ < 4 && used + 48 < size)
            used +=
                (size_t)snprintf(buf + used, size - used, "%s\"%.*s\"", n > 1 ? ", " : "",
                                 (int)(in->col[c].name.n > 32 ? 32 : in->col[c].name.n), in->col[c].name.p);
    }
    if (n > 4 && used + 24 < size)
        snprintf(buf + used, size - used, " and %zu more", n - 4);
}

/* The same names in the same order, as most requests have them. */
static bool in_order(const tab_table *pinned, const tab_table *t)
{
    bool same = t->cols == pinned->cols;
    for (size_t c = 0; same && c < t->cols; c++)
        same = tab_str_eq(t->col[c].name, pinned->col[c].name);
    return same;
}

static tab_status match_columns(tab_arena *a, const tab_table *pinned, const tab_table *t, size_t i,
                                const tab_table **ret, size_t **ret_from, tab_error *err)
{
    char param[40], missing[160], extra[160];
    snprintf(param, sizeof param, "tables[%zu].columns", i);
    tab_column *col = tab_arena_new_of(a, tab_column, pinned->cols + 1);
    size_t *from = tab_arena_new_of(a, size_t, pinned->cols + 1);
    tab_table *own = tab_arena_new_of(a, tab_table, 1);
    if (col == NULL || from == NULL || own == NULL)
        return tab_no_memory(err);
    bool names = !in_order(pinned, t) && by_name(pinned);
    for (size_t c = 0, at; names && c < t->cols; c++)
        if (count_name(t, t->col[c].name, &at) > 1 && count_name(pinned, t->col[c].name, &at) > 0)
            return tab_fail(err, TAB_VALIDATION, param,
                            "columns differ from the pinned snapshot: \"%.*s\" occurs more than once",
                            (int)(t->col[c].name.n > 32 ? 32 : t->col[c].name.n), t->col[c].name.p);
    if (names) {
        list_names(missing, sizeof missing, pinned, t);
        list_names(extra, sizeof extra, t, pinned);
        if (missing[0] != 0 || extra[0] != 0)
            return tab_fail(
                err, TAB_VALIDATION, param, "columns differ from the pinned snapshot: %s%s%s%s%s" REMEDY,
                missing[0] != 0 ? "missing " : "", missing, missing[0] != 0 && extra[0] != 0 ? "; " : "",
                extra[0] != 0 ? "unexpected " : "", extra);
    }
    if (t->cols != pinned->cols)
        return tab_fail(err, TAB_VALIDATION, param,
                        "the pinned snapshot has %zu columns, the request %zu" REMEDY, pinned->cols, t->cols);
    for (size_t c = 0; c < pinned->cols; c++) {
        from[c] = c;
        if (names)
            (void)!count_name(t, pinned->col[c].name, &from[c]); /* each once: then there are as many */
        col[c] = t->col[from[c]];
        col[c].name = pinned->col[c].name;
    }
    *own = (tab_table){ .id = pinned->id, .rows = t->rows, .cols = pinned->cols, .col = col };
    *ret = own;
    *ret_from = from;
    return TAB_OK;
}

/* Refuses a value that the pinned column cannot hold; names it by the request's own position. Marks that
 * stand for "missing" pass, as they did in the pinned data. */
static tab_status check_types(tab_arena *a, const tab_profile *p, const tab_table *t, const size_t *from,
                              size_t i, tab_error *err)
{
    for (size_t c = 0; c < t->cols; c++) {
        tab_type type = p->col[c].type;
        if ((type != TAB_NUMERIC && type != TAB_DATETIME && type != TAB_BOOLEAN) ||
            t->col[c].layout != TAB_CODED)
            continue;
        tab_column_profile own = { .index = c, .column = &t->col[c], .type = type, .role = p->col[c].role };
        tab_reading r;
        if (!tab_read_column(a, &t->col[c], t->rows, &r) || !tab_view_column(&r, &own))
            return tab_no_memory(err);
        for (size_t k = 0; own.number != NULL && k < t->rows; k++) {
            bool mark = r.code[k] == TAB_NULL || r.foreign[r.code[k]] != 0;
            if (isnan(own.number[k]) && !mark) {
                char param[64];
                snprintf(param, sizeof param, "tables[%zu].rows[%zu][%zu]", i, k, from[c]);
                return tab_fail(
                    err, TAB_VALIDATION, param,
                    "\"%.*s\" is %s in the pinned snapshot, but this value is not; send null if it is "
                    "unknown",
                    (int)(t->col[c].name.n > 32 ? 32 : t->col[c].name.n), t->col[c].name.p,
                    tab_type_name(type));
            }
        }
    }
    return TAB_OK;
}

tab_status serve_request_read(tab_arena *a, const serve_state *st, const tab_table *const *tables, size_t n,
                              serve_request *ret, tab_error *err)
{
    *ret = (serve_request){ .n = n,
                            .table = tab_arena_new_of(a, const tab_table *, n + 1),
                            .pinned = tab_arena_new_of(a, size_t, n + 1),
                            .from = tab_arena_new_of(a, size_t *, n + 1) };
    if (ret->table == NULL || ret->pinned == NULL || ret->from == NULL)
        return tab_no_memory(err);
    if (n == 0)
        return tab_fail(err, TAB_VALIDATION, "tables", "at least one table is needed");
    size_t rows = 0;
    for (size_t i = 0; i < n; i++) {
        char param[40];
        snprintf(param, sizeof param, "tables[%zu].id", i);
        size_t t = 0;
        while (t < st->n && !tab_str_eq(st->table[t]->id, tables[i]->id))
            t++;
        if (t == st->n)
            return tab_fail(err, TAB_VALIDATION, param,
                            "this endpoint has no table \"%.*s\"; it has \"%.*s\"%s",
                            (int)(tables[i]->id.n > 64 ? 64 : tables[i]->id.n), tables[i]->id.p,
                            (int)(st->table[0]->id.n > 64 ? 64 : st->table[0]->id.n), st->table[0]->id.p,
                            st->n > 1 ? " and others" : "");
        for (size_t k = 0; k < i; k++)
            if (ret->pinned[k] == t)
                return tab_fail(err, TAB_VALIDATION, param, "two tables have the same id");
        rows += tables[i]->rows;
        if (rows > SERVE_ROWS)
            return tab_fail(err, TAB_VALIDATION, "tables", "a serve call can have at most %d rows",
                            SERVE_ROWS);
        tab_status s = match_columns(a, st->table[t], tables[i], i, &ret->table[i], &ret->from[i], err);
        if (s == TAB_OK && (ret->table[i] = tab_void_cells(a, st->profile[t], ret->table[i])) == NULL)
            s = tab_no_memory(err);
        if (s == TAB_OK)
            s = check_types(a, st->profile[t], ret->table[i], ret->from[i], i, err);
        if (s != TAB_OK)
            return s;
        ret->pinned[i] = t;
    }
    return TAB_OK;
}

void serve_request_param(const serve_request *r, size_t i, tab_error *err)
{
    size_t row, col;
    if (err == NULL)
        return;
    if (sscanf(err->param, "tables[0].rows[%zu][%zu]", &row, &col) == 2 && col < r->table[i]->cols)
        snprintf(err->param, sizeof err->param, "tables[%zu].rows[%zu][%zu]", i, row, r->from[i][col]);
    else if (strcmp(err->param, "tables[0].columns") == 0)
        snprintf(err->param, sizeof err->param, "tables[%zu].columns", i);
}
