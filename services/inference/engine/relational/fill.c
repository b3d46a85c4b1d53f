/* Values of candidates. Rows of a group come in order of time, and the target's rows that ask for the group
 * in order of their own: one sweep over both, whatever dates cut. The sums of a row are made in one order, so
 * that a served row has the bytes of a pinned one. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/relational/parts.h"

enum { KNOWN = UINT32_MAX - 1, UNKNOWN = UINT32_MAX }; /* in place of a group: a key without rows; none */
static const double DAY = 86400, MOST = 1e300;

/* Where each of the target's rows leads on one way. */
typedef struct {
    const tab_way *way;
    uint32_t *to;    /* (rows) the row at the end, TAB_NULL; or the group, KNOWN, UNKNOWN */
    double *cut;     /* (rows) rows before it count; NULL: all */
    uint32_t *order; /* (rows) by group and cut; NULL without groups */
} lead;

typedef struct {
    uint32_t to, row;
    double cut;
} place;

static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    if (x->cut != y->cut)
        return x->cut < y->cut ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Where row i of the subjects leads. */
static uint32_t end_of(const tab_links *l, const tab_way *w, uint64_t key, const double *cut)
{
    if (cut != NULL && isnan(*cut))
        return UNKNOWN;
    if (w->downs == 0) {
        uint32_t row = tab_way_row(w, key);
        size_t end = tab_way_end(w);
        /* what is linked came to be after the row: it says nothing yet */
        bool late = row != TAB_NULL && cut != NULL && l->p[end]->col[l->clock[end]].number[row] > *cut;
        return late ? UNKNOWN : row;
    }
    uint64_t anchor = tab_way_key(w, key);
    uint32_t group = tab_way_group(w, anchor);
    if (group != TAB_NULL)
        return group;
    return tab_keyed_row(w->hop[w->ups].from, anchor) != TAB_NULL ? KNOWN : UNKNOWN;
}

static bool lead_new(tab_arena *a, const tab_links *l, const tab_way *w, const tab_subjects *s, lead *ret)
{
    *ret = (lead){ .way = w, .to = tab_arena_new_of(a, uint32_t, s->rows + 1) };
    if (w->cut)
        ret->cut = tab_arena_new_of(a, double, s->rows + 1);
    if (w->downs > 0)
        ret->order = tab_arena_new_of(a, uint32_t, s->rows + 1);
    place *x = w->downs > 0 ? malloc((s->rows + 1) * sizeof *x) : NULL;
    bool ok = !tab_arena_full(a) && (x != NULL || w->downs == 0);
    for (size_t i = 0; ok && i < s->rows; i++) {
        if (w->cut)
            ret->cut[i] = tab_link_moment(l, s->date, i);
        ret->to[i] = end_of(l, w, s->key[tab_way_start(l, w)][i], w->cut ? &ret->cut[i] : NULL);
        if (x != NULL)
            x[i] = (place){ ret->to[i], (uint32_t)i, w->cut && ret->to[i] != UNKNOWN ? ret->cut[i] : 0 };
    }
    if (ok && x != NULL) {
        qsort(x, s->rows, sizeof *x, by_place);
        for (size_t i = 0; i < s->rows; i++)
            ret->order[i] = x[i].row;
    }
    free(x);
    return ok;
}

/* ---- one candidate --------------------------------------------------------------------------- */

/* What the rows so far say. */
typedef struct {
    double n, sum, least, most, last, hits, distinct;
} sums;

typedef struct {
    const tab_link_feature *f;
    const double *number;
    const uint32_t *code;
    uint32_t *seen; /* (levels) DISTINCT: the last group that had it, counted from 1 */
} reader;

/* Row `at` of the grouped ones is added. */
static void add(const reader *r, size_t at, uint32_t mark, sums *s)
{
    const tab_way *w = r->f->way;
    uint32_t row = w->leaf[at];
    if (r->f->kind == TAB_LINK_COUNT || r->f->kind == TAB_LINK_SINCE) {
        s->n++;
        if (w->time != NULL && !isnan(w->time[at]))
            s->last = w->time[at];
        return;
    }
    row = w->side != NULL ? w->side[row] : row;
    if (row == TAB_NULL)
        return;
    if (r->f->kind == TAB_LINK_SHARE || r->f->kind == TAB_LINK_HITS || r->f->kind == TAB_LINK_DISTINCT) {
        uint32_t code = r->code[row];
        if (code == TAB_NULL)
            return;
        s->n++;
        s->hits += code == r->f->level;
        if (r->seen != NULL && r->seen[code] != mark) {
            r->seen[code] = mark;
            s->distinct++;
        }
        return;
    }
    double x = r->number[row];
    if (isnan(x))
        return;
    s->least = s->n == 0 || x < s->least ? x : s->least;
    s->most = s->n == 0 || x > s->most ? x : s->most;
    s->last = x;
    s->sum += x;
    s->n++;
}

static double said(const reader *r, const sums *s, double until)
{
    switch (r->f->kind) {
    case TAB_LINK_COUNT:
        return s->n;
    case TAB_LINK_SUM:
        return fmin(fmax(s->sum, -MOST), MOST);
    case TAB_LINK_DISTINCT:
        return s->distinct;
    case TAB_LINK_HITS:
        return s->hits;
    case TAB_LINK_SINCE:
        return (until - s->last) / DAY; /* NaN before any */
    default:
        break;
    }
    if (s->n == 0)
        return (double)NAN;
    switch (r->f->kind) {
    case TAB_LINK_MEAN:
        return fmin(fmax(s->sum / s->n, s->least), s->most);
    case TAB_LINK_LEAST:
        return s->least;
    case TAB_LINK_MOST:
        return s->most;
    case TAB_LINK_LAST:
        return s->last;
    default:
        return s->hits / s->n;
    }
}

static void sweep(const reader *r, const lead *d, size_t rows, double *out)
{
    const tab_way *w = d->way;
    const sums none = { .last = (double)NAN };
    sums s = none;
    uint32_t group = UNKNOWN;
    size_t at = 0, mark = 0;
    for (size_t k = 0; k < rows; k++) {
        uint32_t i = d->order[k], to = d->to[i];
        out[i] = (double)NAN;
        if (to == UNKNOWN)
            continue;
        if (to != group) {
            s = none;
            group = to;
            mark++;
            at = to == KNOWN ? 0 : w->at[to];
        }
        size_t end = to == KNOWN ? 0 : w->at[to + 1];
        while (at < end && (!w->cut || w->time[at] < d->cut[i]))
            add(r, at++, (uint32_t)mark, &s);
        out[i] = said(r, &s, w->cut ? d->cut[i] : w->now);
    }
}

/* Of single rows. */
static void gather(const reader *r, const lead *d, size_t rows, double *number, uint32_t *code)
{
    for (size_t i = 0; i < rows; i++) {
        uint32_t row = d->to[i];
        if (code != NULL)
            code[i] = row == TAB_NULL ? TAB_NULL : r->code[row];
        else if (row == TAB_NULL)
            number[i] = (double)NAN;
        else if (r->f->kind == TAB_LINK_AGE)
            number[i] = ((d->cut != NULL ? d->cut[i] : d->way->now) - r->number[row]) / DAY;
        else
            number[i] = r->number[row];
    }
}

typedef struct {
    const tab_links *l;
    const tab_link_feature *const *f;
    const lead *lead; /* (ways) */
    size_t rows;
    tab_link_values *v;
    atomic_bool failed;
} job;

static void fill_one(void *ctx, size_t k)
{
    job *j = ctx;
    const tab_link_feature *f = j->f[k];
    const lead *d = &j->lead[f->way - j->l->way];
    reader r = { .f = f };
    if (f->kind != TAB_LINK_COUNT && f->kind != TAB_LINK_SINCE) {
        const tab_column_profile *c = &j->l->p[f->table]->col[f->column];
        r.number = tab_link_numbers(c);
        r.code = c->code;
        if (f->kind == TAB_LINK_DISTINCT && (r.seen = calloc(c->levels + 1, sizeof *r.seen)) == NULL) {
            atomic_store(&j->failed, true);
            return;
        }
    }
    if (f->way->downs > 0)
        sweep(&r, d, j->rows, j->v->number[k]);
    else
        gather(&r, d, j->rows, j->v->number[k], j->v->code[k]);
    free(r.seen);
}

tab_status tab_link_fill(const tab_engine *e, const tab_links *l, const tab_link_feature *const *f, size_t n,
                         const tab_subjects *s, tab_link_values *ret, tab_error *err)
{
    tab_arena *a = e->arena;
    lead *d = tab_arena_new_of(a, lead, l->ways + 1);
    *ret = (tab_link_values){ tab_arena_new_of(a, double *, n + 1), tab_arena_new_of(a, uint32_t *, n + 1) };
    if (d == NULL || ret->number == NULL || ret->code == NULL)
        return tab_no_memory(err);
    for (size_t k = 0; k < n; k++) {
        size_t way = (size_t)(f[k]->way - l->way);
        if (tab_engine_cancelled(e))
            return tab_fail(err, TAB_CANCELLED, "", "cancelled");
        if (d[way].way == NULL && !lead_new(a, l, f[k]->way, s, &d[way]))
            return tab_no_memory(err);
        if (f[k]->kind == TAB_LINK_CODE)
            ret->code[k] = tab_arena_new_of(a, uint32_t, s->rows + 1);
        else
            ret->number[k] = tab_arena_new_of(a, double, s->rows + 1);
    }
    if (tab_arena_full(a))
        return tab_no_memory(err);
    job j = { l, f, d, s->rows, ret, false };
    atomic_init(&j.failed, false);
    tab_engine_for(e, n, fill_one, &j);
    return atomic_load(&j.failed) ? tab_no_memory(err) : TAB_OK;
}
