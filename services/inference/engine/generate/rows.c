/* Makes rows of a plan. A value is made when it is first asked for, from values before it, and kept in
 * the row's context; rows of tables above and below that are read on the way are kept for a while. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "services/inference/engine/generate/plan.h"

static const double TENS[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9 };
enum { DECIMALS = 9 };

static tab_str keep(context *c, const char *p, size_t n)
{
    if (n > TEXTS - c->used)
        n = TEXTS - c->used;
    memcpy(c->text + c->used, p, n);
    c->used += n;
    return (tab_str){ c->text + c->used - n, n };
}

static uint64_t counter(const context *c, const column *col)
{
    return col->own ? c->row : c->src;
}

static double rounded(double x, int decimals)
{
    double p = TENS[decimals < 0 ? 0 : decimals > DECIMALS ? DECIMALS : decimals];
    x = round(x * p) / p;
    return isfinite(x) ? x + 0.0 : 0;
}

/* Which group, list or record the column that decides says. */
static size_t decided(tab_generate_reader *r, context *c, const column *col, size_t n)
{
    if (col->of_col < 0)
        return 0;
    context *of = col->of_parent == 0 ? c : rows_parent(r, c, (size_t)col->of_parent - 1);
    double x = r->value(r, of, (size_t)col->of_col)->x;
    size_t k = x < 0 ? 0 : (size_t)x % RECORDS;
    assert(n > 0);
    return k < n ? k : n - 1;
}

/* A record by chance: the first ones more often. */
static size_t record(const list *l, uint64_t key, uint64_t row)
{
    double u = generate_unit(key, row);
    size_t i = (size_t)((double)l->n * u * sqrt(u));
    return i < l->n ? i : l->n - 1;
}

static size_t shown_text(const column *col, const value *v, char *buf, size_t size)
{
    if (v->text.p != NULL) {
        size_t n = v->text.n < size ? v->text.n : size;
        memcpy(buf, v->text.p, n);
        return n;
    }
    if (size < 40)
        return 0;
    if (col->kind == KIND_DATE || col->kind == KIND_TIME)
        return generate_date_text(v->x, col->kind == KIND_TIME, buf);
    return tab_generate_number(v->x, col->decimals, buf);
}

static void make_template(tab_generate_reader *r, context *c, const column *col, value *v)
{
    char buf[1024], one[256];
    size_t n = 0;
    for (size_t i = 0; i < col->pieces; i++) {
        const piece *p = &col->piece[i];
        size_t k = p->plain.n < sizeof buf - n ? p->plain.n : sizeof buf - n;
        memcpy(buf + n, p->plain.p, k);
        n += k;
        if (p->list != NULL) {
            const list *l = p->list;
            tab_str s = l->text[record(l, p->key, counter(c, col)) * l->fields];
            n += generate_fill(p->key + 1, counter(c, col), s, buf + n, sizeof buf - n);
        } else if (p->col >= 0) {
            context *of = p->parent == 0 ? c : rows_parent(r, c, (size_t)p->parent - 1);
            const value *w = r->value(r, of, (size_t)p->col);
            k = shown_text(&of->t->col[p->col], w, one, sizeof one);
            n += p->how != 0 ? generate_plain((tab_str){ one, k }, p->how, buf + n, sizeof buf - n)
                             : (size_t)0;
            if (p->how == 0) {
                k = k < sizeof buf - n ? k : sizeof buf - n;
                memcpy(buf + n, one, k);
                n += k;
            }
        }
    }
    v->text = keep(c, buf, n);
}

static void make_field(tab_generate_reader *r, context *c, const column *col, value *v)
{
    const list *l = col->lists > 0 ? col->list[0] : NULL;
    size_t at;
    if (l != NULL) {
        at = record(l, col->key, counter(c, col)) * l->fields;
    } else {
        context *of = col->of_parent == 0 ? c : rows_parent(r, c, (size_t)col->of_parent - 1);
        double x = r->value(r, of, (size_t)col->of_col)->x;
        at = rows_record(&of->t->col[col->of_col], x, (size_t)col->field, &l);
    }
    if (col->kind == KIND_PART) {
        v->x = l->num[at];
        v->text = l->word[at] ? l->text[at] : (tab_str){ NULL, 0 };
        return;
    }
    char buf[256];
    v->text = keep(c, buf, generate_fill(col->key + 1, counter(c, col), l->text[at], buf, sizeof buf));
}

static void make_reference(tab_generate_reader *r, context *c, const column *col, value *v)
{
    size_t k = (size_t)col->of_parent - 1;
    uint64_t row = rows_above(r, c, k);
    const column *to = &r->g->table[c->t->parent[k].table].col[0];
    char buf[64];
    v->x = (double)row;
    v->text = keep(c, buf, generate_key_text(to->pattern, row, buf, sizeof buf));
}

static void make_sum(tab_generate_reader *r, context *c, const column *col, value *v)
{
    uint64_t first, n;
    double x = 0;
    rows_lines(r, (size_t)col->of_parent, c->row, &first, &n);
    for (uint64_t i = 0; i < n && col->agg != 1; i++) {
        double y = r->value(r, rows_held(r, (size_t)col->of_parent, first + i), (size_t)col->of_col)->x;
        x = col->agg == 0 || i == 0 ? x + y : col->agg == 2 ? fmin(x, y) : fmax(x, y);
    }
    v->x = rounded(col->agg == 1 ? (double)n : x, col->decimals);
}

static void make_pick(tab_generate_reader *r, context *c, const column *col, value *v)
{
    const float *w = &col->weight[decided(r, c, col, col->groups) * col->labels];
    float u = (float)generate_unit(col->key, counter(c, col));
    size_t n = 0;
    while (n + 1 < col->labels && u >= w[n])
        n++;
    v->x = (double)n;
    v->text = col->label[n];
}

static void make_code(context *c, const column *col, value *v)
{
    uint64_t row = counter(c, col);
    char buf[256];
    v->text = col->pattern;
    if (col->list[0] != NULL)
        v->text = col->list[0]->text[record(col->list[0], col->key + 1, row) * col->list[0]->fields];
    size_t n = generate_fill(col->key, row, v->text, buf, sizeof buf);
    generate_check_digits(col->code, buf, n);
    v->text = keep(c, buf, n);
}

static void make_copy(tab_generate_reader *r, context *c, const column *col, value *v)
{
    char buf[256];
    context *of = rows_parent(r, c, (size_t)col->of_parent - 1);
    const column *there = &of->t->col[col->of_col];
    const value *w = r->value(r, of, (size_t)col->of_col);
    v->x = w->x;
    if (w->text.p != NULL || there->kind == KIND_DATE || there->kind == KIND_TIME)
        v->text = keep(c, buf, shown_text(there, w, buf, sizeof buf));
}

static void make(tab_generate_reader *r, context *c, const column *col, value *v)
{
    uint64_t row = counter(c, col);
    char buf[256];
    size_t n;
    v->text = (tab_str){ NULL, 0 };
    switch (col->kind) {
    case KIND_KEY:
        v->x = (double)c->row;
        v->text = keep(c, buf, generate_key_text(col->pattern, c->row, buf, sizeof buf));
        return;
    case KIND_REF:
        make_reference(r, c, col, v);
        return;
    case KIND_PICK:
        make_pick(r, c, col, v);
        return;
    case KIND_CHOOSE: {
        double x = rows_formula(r, c, &col->e, col->own);
        v->x = !(x > 0) ? 0 : x >= (double)col->labels ? (double)col->labels - 1 : floor(x);
        v->text = col->label[(size_t)v->x];
        return;
    }
    case KIND_FROM: {
        size_t which = decided(r, c, col, col->lists);
        const list *l = col->list[which];
        n = col->each ? c->row % l->n : record(l, col->key, row);
        assert(n < l->n && n < RECORDS);
        v->x = (double)(n + which * RECORDS);
        v->text = l->text[n * l->fields];
        return;
    }
    case KIND_PART:
    case KIND_FILL:
        make_field(r, c, col, v);
        return;
    case KIND_TEXT:
        make_template(r, c, col, v);
        return;
    case KIND_NUM:
        v->x = rounded(rows_formula(r, c, &col->e, col->own), col->decimals);
        return;
    case KIND_DATE:
        v->x = floor(rows_formula(r, c, &col->e, col->own) / GENERATE_DAY) * GENERATE_DAY;
        return;
    case KIND_TIME:
        v->x = floor(rows_formula(r, c, &col->e, col->own));
        return;
    case KIND_OUTCOME: {
        double z = col->shift + col->scale * rows_formula(r, c, &col->e, col->own);
        v->x = generate_unit(col->key, row) < 1 / (1 + exp(-z));
        v->text = col->label[(size_t)v->x];
        return;
    }
    case KIND_SIGNAL:
        v->x = rows_formula(r, c, &col->e, col->own) +
               col->scale * generate_quantile(generate_unit(col->key, row));
        v->x = rounded(v->x, col->decimals);
        return;
    case KIND_CODE:
        make_code(c, col, v);
        return;
    case KIND_COPY:
        make_copy(r, c, col, v);
        return;
    default:
        make_sum(r, c, col, v);
    }
}

static const value *rows_value(tab_generate_reader *r, context *c, size_t i)
{
    if ((c->done & UINT64_C(1) << i) == 0) {
        assert(i < 64); /* a bit of done each */
        c->done |= UINT64_C(1) << i;
        make(r, c, &c->t->col[i], &c->v[i]);
    }
    return &c->v[i];
}

/* ---- what is shown ---------------------------------------------------------------------------- */

static bool absent(tab_generate_reader *r, context *c, const column *col)
{
    if (col->kind == KIND_COPY) {
        context *of = rows_parent(r, c, (size_t)col->of_parent - 1);
        if (absent(r, of, &of->t->col[col->of_col]))
            return true;
    }
    if (col->kind == KIND_REF && c->t->parent[col->of_parent - 1].way == PARENT_SELF && c->row == 0)
        return true;
    if (col->only.n > 0 && rows_formula(r, c, &col->only, col->own) == 0)
        return true;
    return col->missing.n > 0 &&
           generate_unit(col->key + 11, c->row) < rows_formula(r, c, &col->missing, col->own);
}

static void show(tab_generate_reader *r, context *c, const column *col, const value *v,
                 tab_generated_cell *ret)
{
    char *buf = r->shown + r->used;
    *ret = (tab_generated_cell){ .kind = TAB_CELL_NULL };
    if (absent(r, c, col))
        return;
    ret->kind = TAB_CELL_TEXT;
    if (v->text.p != NULL) {
        ret->text = v->text;
        /* who comes twice was written down twice */
        double slips = col->typo * (c->src != c->row ? 10 : 1);
        if (slips > 0 && generate_unit(col->key + 12, c->row) < slips)
            ret->text = (tab_str){ buf, generate_typo(col->key + 13, c->row, v->text, buf, 256) };
    } else if (col->kind == KIND_DATE || col->kind == KIND_TIME) {
        ret->text = (tab_str){ buf, generate_date_text(v->x, col->kind == KIND_TIME, buf) };
    } else {
        ret->kind = TAB_CELL_NUMBER;
        ret->num = v->x;
        ret->decimals = col->kind == KIND_PART || col->kind == KIND_COPY ? -1 : col->decimals;
        return;
    }
    if (ret->text.p == buf)
        r->used += ret->text.n;
    assert(r->used <= (size_t)TAB_GENERATE_COLS * 256);
}

void tab_generate_row(tab_generate_reader *r, size_t i, uint64_t row, tab_generated_cell *ret)
{
    size_t at = i == 0 ? r->g->main : i - (i <= r->g->main);
    const table *t = &r->g->table[at];
    context *c = &r->now[at];
    assert(row < t->rows);
    r->used = 0;
    rows_begin(c, row);
    for (size_t k = 0; k < t->shown.cols; k++)
        show(r, c, &t->col[t->shown_at[k]], rows_value(r, c, t->shown_at[k]), &ret[k]);
}

size_t tab_generate_broken(tab_generate_reader *r, size_t i, uint64_t row)
{
    size_t at = i == 0 ? r->g->main : i - (i <= r->g->main), broken = 0;
    const table *t = &r->g->table[at];
    context *c = &r->now[at];
    rows_begin(c, row);
    for (size_t k = 0; k < t->checks; k++)
        broken += rows_formula(r, c, &t->check[k], true) == 0;
    return broken;
}

/* Digits of whole tenths, hundredths ...: what printf would give, sooner. */
size_t tab_generate_number(double x, int decimals, char *buf)
{
    double scaled =
        decimals >= 0 && decimals <= DECIMALS ? round(fabs(x) * TENS[decimals]) : (double)INFINITY;
    if (scaled >= 1e15)
        return tab_number_text(x, buf);
    char back[24];
    size_t n = 0, k = 0;
    uint64_t u = (uint64_t)scaled;
    if (x < 0 && u > 0)
        buf[n++] = '-';
    for (; u > 0 || k < (size_t)decimals + 1; u /= 10)
        back[k++] = (char)('0' + u % 10);
    while (k > 0) {
        buf[n++] = back[--k];
        if (k == (size_t)decimals && k > 0)
            buf[n++] = '.';
    }
    return n;
}

static bool begin_context(tab_arena *a, const table *t, context *c)
{
    *c = (context){ .t = t, .row = UINT64_MAX };
    c->v = tab_arena_new_of(a, value, t->cols);
    c->text = tab_arena_alloc(a, TEXTS, 1);
    return c->v != NULL && c->text != NULL;
}

tab_generate_reader *tab_generate_reader_new(tab_arena *a, const tab_generator *g)
{
    tab_generate_reader *r = tab_arena_new_of(a, tab_generate_reader, 1);
    if (r == NULL)
        return NULL;
    r->g = g;
    r->value = rows_value;
    r->shown = tab_arena_alloc(a, TAB_GENERATE_COLS, 256);
    bool ok = r->shown != NULL;
    for (size_t i = 0; i < g->tables && ok; i++) {
        r->groups[i] = tab_arena_new_of(a, group, GROUPS);
        r->held[i] = tab_arena_new_of(a, context, HELD);
        ok = r->groups[i] != NULL && r->held[i] != NULL && begin_context(a, &g->table[i], &r->now[i]) &&
             begin_context(a, &g->table[i], &r->probe[i]);
        for (size_t k = 0; k < HELD && ok; k++)
            ok = begin_context(a, &g->table[i], &r->held[i][k]);
    }
    return ok ? r : NULL;
}
