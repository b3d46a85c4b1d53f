/* See slices.h. Bounds and values are those of the pinned rows, made once a state; columns that hold personal
 * data, name one row, hold times or free text, or hardly vary, make no slices. A name that does not fit a
 * receipt leaves its column out, so that no two slices share one. */
#include "services/inference/serve/slices.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "common/security/receipt.h"
#include "services/inference/engine/message.h"
#include "services/inference/engine/profile/features/column.h"

/* SAMPLE: pinned rows that fifths are made of. A column's parts: its values, another one, missing. */
enum { FIFTHS = 5, VALUES = 5, PARTS = VALUES + 2, SAMPLE = 20000 };
static const double VARIES = 0.98; /* of the rows in one part are too many */

typedef struct {
    size_t column, n;
    bool number;
    double edge[FIFTHS]; /* (n - 1) */
    tab_str value[VALUES];
    tab_str name[PARTS]; /* n, then "another value" (categories), then "missing" */
} sliced;

typedef struct slices {
    size_t n;
    sliced of[TAB_RECEIPT_SLICES];
} slices;

/* ---- what they are --------------------------------------------------------------------------- */

/* The part's name, or none where it does not fit a receipt. */
static bool name_part(tab_arena *a, tab_str column, const char *which, tab_str value, tab_str *ret)
{
    char text[TAB_RECEIPT_SLICE];
    int n = snprintf(text, sizeof text, "%.*s %s%.*s", TAB_STR(column), which, TAB_STR(value));
    if (n < 0 || (size_t)n >= sizeof text || strlen(text) != (size_t)n)
        return false;
    for (int i = 0; i < n; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 127)
            return false;
    *ret = tab_arena_copy(a, (tab_str){ text, (size_t)n });
    return ret->p != NULL;
}

/* As it is said, so that the name is where the part ends. */
static double said(double x)
{
    char digits[40];
    snprintf(digits, sizeof digits, "%.4g", x);
    return strtod(digits, NULL);
}

static bool name_numbers(tab_arena *a, tab_str column, sliced *s)
{
    bool ok = true;
    for (size_t k = 0; ok && k < s->n; k++) {
        char which[80];
        if (k == 0)
            snprintf(which, sizeof which, "below %.4g", s->edge[0]);
        else if (k + 1 < s->n)
            snprintf(which, sizeof which, "from %.4g to below %.4g", s->edge[k - 1], s->edge[k]);
        else
            snprintf(which, sizeof which, "from %.4g", s->edge[k - 1]);
        ok = name_part(a, column, which, TAB_S(""), &s->name[k]);
    }
    return ok;
}

/* Fifths of the pinned numbers; equal ones share a part. False: it makes no slices. */
static bool of_numbers(tab_arena *a, const tab_column_profile *p, size_t rows, tab_str column, sliced *s)
{
    TAB_AUTO(tab_arena) *scratch = tab_arena_new((size_t)1 << 20);
    size_t step = rows > SAMPLE ? (rows + SAMPLE - 1) / SAMPLE : 1, n = 0, edges = 0;
    double *x = scratch == NULL ? NULL : tab_arena_new_of(scratch, double, rows / step + 2);
    if (x == NULL)
        return false;
    for (size_t i = 0; i < rows; i += step)
        if (isfinite(p->number[i]))
            x[n++] = p->number[i];
    if (n == 0)
        return false;
    qsort(x, n, sizeof *x, tab_ascending_double);
    for (size_t k = 1; k < FIFTHS; k++) {
        double edge = said(x[k * n / FIFTHS]);
        if (edge > x[0] && (edges == 0 || edge > s->edge[edges - 1]))
            s->edge[edges++] = edge;
    }
    s->number = true;
    s->n = edges + 1;
    return edges > 0 && name_numbers(a, column, s);
}

static bool of_flags(tab_arena *a, tab_str column, sliced *s)
{
    s->number = true;
    s->n = 2;
    s->edge[0] = 0.5;
    return name_part(a, column, "= false", TAB_S(""), &s->name[0]) &&
           name_part(a, column, "= true", TAB_S(""), &s->name[1]);
}

/* The commonest values; of equally common ones the first. */
static bool of_values(tab_arena *a, const tab_column_profile *p, size_t rows, tab_str column, sliced *s)
{
    TAB_AUTO(tab_arena) *scratch = tab_arena_new(p->levels * 8 + 4096);
    uint64_t *count = scratch == NULL ? NULL : tab_arena_new_of(scratch, uint64_t, p->levels + 1);
    bool ok = count != NULL && p->levels > 1;
    for (size_t i = 0; ok && i < rows; i++)
        if (p->code[i] != TAB_NULL)
            count[p->code[i]]++;
    s->n = p->levels < VALUES ? p->levels : VALUES;
    for (size_t b = 0; ok && b < s->n; b++) {
        size_t best = 0;
        for (size_t l = 1; l < p->levels; l++)
            best = count[l] > count[best] ? l : best;
        ok = (double)count[best] <= VARIES * (double)rows;
        count[best] = 0;
        s->value[b] = tab_arena_copy(a, p->level[best]);
        ok = ok && s->value[b].p != NULL && name_part(a, column, "= ", s->value[b], &s->name[b]);
    }
    return ok && name_part(a, column, "has another value", TAB_S(""), &s->name[s->n]);
}

static bool slices_column(tab_arena *a, const serve_state *st, size_t c, bool numbers, sliced *s)
{
    const tab_profile *p = st->profile[st->sel.table];
    const tab_column_profile *of = &p->col[c];
    bool number = of->number != NULL && (of->type == TAB_NUMERIC || of->type == TAB_BOOLEAN);
    Tabella__ColumnRef *ref = tab_column_ref(a, p->table, (uint32_t)st->sel.table, c);
    if (ref == NULL || c == st->sel.column || of->identifying || of->pii || of->type == TAB_TEXT ||
        of->type == TAB_DATETIME || number != numbers || (!number && of->code == NULL))
        return false;
    tab_str column = { (const char *)ref->address.data, ref->address.len };
    *s = (sliced){ .column = c };
    bool ok = of->type == TAB_BOOLEAN && number ? of_flags(a, column, s)
              : number                          ? of_numbers(a, of, p->table->rows, column, s)
                                                : of_values(a, of, p->table->rows, column, s);
    return ok && name_part(a, column, "is missing", TAB_S(""), &s->name[s->number ? s->n : s->n + 1]);
}

/* Half of them categories where there are so many, then numbers, each in the table's order. */
static void choose(tab_arena *a, const serve_state *st, slices *ret)
{
    size_t cols = st->profile[st->sel.table]->table->cols;
    const size_t until[] = { TAB_RECEIPT_SLICES / 2, TAB_RECEIPT_SLICES, TAB_RECEIPT_SLICES };
    size_t next = 0; /* the first column that the categories have not come to */
    for (size_t turn = 0; turn < 3; turn++) {
        bool numbers = turn == 1;
        for (size_t c = turn == 2 ? next : 0; c < cols && ret->n < until[turn]; c++) {
            ret->n += slices_column(a, st, c, numbers, &ret->of[ret->n]);
            next = turn == 0 ? c + 1 : next;
        }
    }
}

/* Made once; NULL: out of memory, and receipts go without. */
static const slices *made(serve_state *st)
{
    pthread_mutex_lock(&st->lock);
    if (st->slices == NULL) {
        slices *s = tab_arena_new_of(st->arena, slices, 1);
        if (s != NULL && st->fitted != NULL)
            choose(st->arena, st, s);
        st->slices = s;
    }
    const slices *s = st->slices;
    pthread_mutex_unlock(&st->lock);
    return s;
}

/* ---- to which a row belongs ------------------------------------------------------------------ */

static size_t part_of_number(const sliced *s, double x)
{
    size_t k = 0;
    if (isnan(x))
        return s->n;
    while (k + 1 < s->n && x >= s->edge[k])
        k++;
    return k;
}

static size_t part_of_value(const sliced *s, tab_str v)
{
    size_t k = 0;
    while (k < s->n && !tab_str_eq(s->value[k], v))
        k++;
    return k;
}

/* The part of each row. False: out of memory. */
static bool parts_of(tab_arena *a, const serve_state *st, const sliced *s, const tab_table *t, uint8_t *ret)
{
    const tab_column_profile *p = &st->profile[st->sel.table]->col[s->column];
    tab_column_profile own = {
        .index = s->column, .column = &t->col[s->column], .type = p->type, .role = p->role
    };
    tab_reading r;
    if (!tab_read_known(a, &t->col[s->column], t->rows, &r, &own))
        return false;
    for (size_t i = 0; i < t->rows; i++) {
        size_t k;
        if (s->number)
            k = own.number == NULL ? s->n : part_of_number(s, own.number[i]);
        else
            k = own.code == NULL || own.code[i] == TAB_NULL ? s->n + 1
                                                            : part_of_value(s, own.level[own.code[i]]);
        ret[i] = (uint8_t)k;
    }
    return true;
}

/* The names of one column's parts, and each result's. */
static bool add_column(tab_arena *a, const serve_state *st, const sliced *s, const tab_table *t,
                       const Tabella__Results *of, size_t at, Tabella__ServePart *y)
{
    uint8_t *part = tab_arena_new_of(a, uint8_t, t->rows + 1);
    size_t first = y->n_slice;
    if (part == NULL || !parts_of(a, st, s, t, part))
        return false;
    for (size_t k = 0; k < s->n + (s->number ? 1 : 2); k++)
        y->slice[y->n_slice++] = (ProtobufCBinaryData){ s->name[k].n, (uint8_t *)(uintptr_t)s->name[k].p };
    for (size_t i = 0; i < of->n_row; i++)
        if (of->row[i] < t->rows)
            y->slice_of[i * TAB_RECEIPT_SLICES + at] = (uint32_t)(first + part[of->row[i]] + 1);
    return true;
}

bool slices_of(tab_arena *a, serve_state *st, const serve_request *r, const Tabella__Prediction *p,
               Tabella__ServePart *y)
{
    const slices *s = made(st);
    const tab_table *t = NULL;
    for (size_t i = 0; i < r->n; i++)
        if (r->pinned[i] == st->sel.table)
            t = r->table[i];
    if (s == NULL || s->n == 0 || t == NULL || p == NULL || p->results == NULL)
        return true;
    size_t n = p->results->n_row * TAB_RECEIPT_SLICES;
    y->slice = tab_arena_new_of(a, ProtobufCBinaryData, TAB_RECEIPT_SLICES * PARTS);
    y->slice_of = tab_arena_new_of(a, uint32_t, n + 1);
    if (y->slice == NULL || y->slice_of == NULL)
        return false;
    y->n_slice_of = n;
    for (size_t c = 0; c < s->n; c++)
        if (!add_column(a, st, &s->of[c], t, p->results, c, y))
            return false;
    return true;
}
