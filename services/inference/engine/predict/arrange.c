/* See arrange.h; fitted.c and evaluate.c ask. */
#include "services/inference/engine/predict/arrange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/order.h"
#include "services/inference/engine/features/mix.h"

/* SCAN: rows that the small models learn from. LEAST_TIMES and LEAST_GROUPS: fewer decide nothing. BINS: of
 * time, whose sums are what chance is told by. Chosen by hand, not measured. */
enum { SCAN = 4000, LEAST_TIMES = 20, LEAST_GROUPS = 20, BINS = 20 };
/* The gap must be beyond chance at 1 %, and be worth a word. LATER: the shares of the times that the
 * forward fits do not see. */
static const double CHANCE = 2.58, WORTH = 0.03, LATER[] = { 0.25, 0.5 };
static const tab_recipe QUICK = { .learner = { &tab_learn_boost_quick }, .n = 1, .folds = 5, .work = 1e12 };

/* ---- columns --------------------------------------------------------------------------------- */

/* Numbers that count the rows: each once, in order, evenly spaced. */
static bool counts_rows(const double *v, size_t rows)
{
    double step = rows > 1 ? v[1] - v[0] : 0;
    for (size_t r = 1; r < rows; r++)
        if (!(v[r] - v[r - 1] == step)) // NOLINT: the very step
            return false;
    return step > 0;
}

const double *tab_times_of(const tab_column_profile *c, size_t rows)
{
    bool few = c->distinct < LEAST_TIMES || c->missing > 0.1 || c->use == TAB_USE_IGNORE;
    if (few)
        return NULL;
    if (c->type == TAB_DATETIME && c->number != NULL)
        return c->number;
    if (c->column->layout == TAB_NUMBERS && c->present == rows && counts_rows(c->column->num, rows))
        return c->column->num;
    return NULL;
}

uint32_t *tab_groups_of(tab_arena *a, const tab_column_profile *c, size_t rows)
{
    bool key = c->identifying || c->use == TAB_USE_KEY;
    if (!key || c->distinct < LEAST_GROUPS || 3 * c->distinct > 2 * c->present || c->use == TAB_USE_IGNORE)
        return NULL;
    bool coded = c->column->layout == TAB_CODED;
    double *sorted = coded ? NULL : tab_arena_new_of(a, double, rows + 1);
    uint32_t *group = tab_arena_new_of(a, uint32_t, rows + 1);
    size_t n = 0;
    if (group == NULL || (!coded && sorted == NULL))
        return NULL;
    for (size_t r = 0; !coded && r < rows; r++)
        if (!isnan(c->column->num[r]))
            sorted[n++] = c->column->num[r];
    if (!coded)
        qsort(sorted, n, sizeof *sorted, tab_ascending_double);
    for (size_t r = 0; r < rows; r++) {
        if (coded) {
            group[r] = c->column->code[r] == TAB_NULL ? (uint32_t)(rows + r) : c->column->code[r];
            continue;
        }
        const double *at = isnan(c->column->num[r])
                               ? NULL
                               : bsearch(&c->column->num[r], sorted, n, sizeof *sorted, tab_ascending_double);
        while (at != NULL && at > sorted && at[-1] == *at) // NOLINT: the very number
            at--;
        group[r] = at == NULL ? (uint32_t)(rows + r) : (uint32_t)(at - sorted);
    }
    return group;
}

/* Whether the rows come in the order of their times, one way or the other: nine in ten neighbours of unlike
 * times do. A column in which they do not is what a row is about (the year of a house), not when it came. */
static bool in_order(const double *when, size_t rows)
{
    size_t up = 0, down = 0;
    double last = (double)NAN;
    for (size_t r = 0; r < rows; r++) {
        up += when[r] > last;
        down += when[r] < last;
        last = isnan(when[r]) ? last : when[r];
    }
    size_t most = up > down ? up : down;
    return up + down >= LEAST_TIMES && 10 * most >= 9 * (up + down);
}

/* ---- places ---------------------------------------------------------------------------------- */

typedef struct {
    double key;
    uint64_t tie;
    uint32_t at;
} placed;

static int by_place(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->tie != y->tie)
        return x->tie < y->tie ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* place (data rows) from keys: the share of rows before a row's key, so that equal keys have one place. NaN
 * keys stand anywhere. False: memory. */
static bool place_rows(const tab_data *d, placed *o, float *place)
{
    for (size_t i = 0; i < d->rows; i++) {
        o[i].at = (uint32_t)i;
        o[i].tie = d->hash[i];
    }
    qsort(o, d->rows, sizeof *o, by_place);
    for (size_t i = 0; i < d->rows;) {
        size_t end = i;
        while (end < d->rows && o[end].key == o[i].key) // NOLINT: the very key
            end++;
        for (size_t k = i; k < end; k++)
            place[o[k].at] = (float)(((double)i + (double)(end - i) / 2) / (double)d->rows);
        i = end;
    }
    return true;
}

/* ---- small models ---------------------------------------------------------------------------- */

/* One comparison at work. Rows beyond SCAN are masked, whole groups of them. */
typedef struct {
    const tab_engine *e;
    const tab_profile *p;
    const tab_problem *q;
    tab_arena *a; /* scratch */
    uint32_t *label;
    float *y;
    double *loss[2]; /* (rows) at random, by place */
} trial;

static double loss_of(const tab_problem *q, const tab_stack *s, size_t i)
{
    if (q->classification)
        return -(double)s->oof[i * s->outputs + q->label[i]];
    double d = (double)(s->oof[i] - q->y[i]);
    return d * d;
}

static bool asked(const tab_problem *q, size_t i)
{
    return q->classification ? q->label[i] != TAB_NULL : !isnan(q->y[i]);
}

/* A small stack with rows kept apart by place, or at random where it is NULL. NULL: memory or cancelled. */
static tab_stack *small(const trial *t, const float *place)
{
    tab_problem q = *t->q;
    tab_engine own = *t->e;
    own.progress = NULL;
    own.arena = t->a;
    q.label = t->label;
    q.y = t->y;
    q.place = place;
    return tab_stack_fit(&own, t->a, &q, &QUICK);
}

/* Loss of each row that is asked, and the share of the baseline's loss that is taken off. */
static bool measure(const trial *t, const float *place, double *loss, double *skill)
{
    const tab_stack *s = small(t, place);
    tab_problem q = *t->q;
    q.label = t->label, q.y = t->y;
    for (size_t i = 0; s != NULL && i < q.data->rows; i++)
        loss[i] = asked(&q, i) ? loss_of(&q, s, i) : 0;
    *skill = s != NULL && s->prior_loss > 0 ? 1 - s->loss / s->prior_loss : 0;
    return s != NULL;
}

/* The mean gap of losses in standard errors, rows of one block taken together. block (rows) < blocks. */
static double gap(const trial *t, const uint32_t *block, size_t blocks)
{
    tab_problem q = *t->q;
    q.label = t->label, q.y = t->y;
    double *sum = calloc(blocks + 1, sizeof *sum), mean = 0, square = 0;
    size_t *n = calloc(blocks + 1, sizeof *n), used = 0, rows = 0;
    for (size_t i = 0; sum != NULL && n != NULL && i < q.data->rows; i++)
        if (asked(&q, i)) {
            sum[block[i]] += t->loss[1][i] - t->loss[0][i];
            n[block[i]]++, rows++;
        }
    for (size_t b = 0; sum != NULL && n != NULL && b < blocks; b++)
        used += n[b] > 0, mean += sum[b];
    mean /= rows > 0 ? (double)rows : 1;
    for (size_t b = 0; sum != NULL && n != NULL && b < blocks; b++) {
        double d = sum[b] - mean * (double)n[b];
        square += d * d;
    }
    free(sum);
    free(n);
    double error = used > 1 ? sqrt(square * (double)used / (double)(used - 1)) / (double)rows : 0;
    return error > 0 ? mean / error : 0;
}

/* The targets that are learned from: of rows whose key's hash is among the least, about SCAN of them. */
static void mask(const trial *t, const uint64_t *key, size_t present)
{
    double keep = present > SCAN ? (double)SCAN / (double)present : 1;
    for (size_t i = 0; i < t->q->data->rows; i++) {
        bool in = tab_unit(tab_mix2(key[i], 0xa11)) < keep;
        t->label[i] = in ? t->q->label[i] : TAB_NULL;
        t->y[i] = in ? t->q->y[i] : NAN;
    }
}

/* A later row: how far it lies beyond the cut, and by how much its squared error is more. */
typedef struct {
    double distance, over;
} far;

static int by_distance(const void *a, const void *b)
{
    const far *x = a, *y = b;
    return (x->distance > y->distance) - (x->distance < y->distance);
}

/* Least squares on the means of STEPS runs of distances: neither part is below 0, as an error of a later
 * row is taken for no smaller. A line, not a square: a random walk's error grows so, and what nobody looked
 * at is not made tenfold of what was (decision 0390). */
static void grow(far *v, size_t n, tab_arrangement *r)
{
    enum { STEPS = 4 };
    double d[STEPS] = { 0 }, s[STEPS] = { 0 }, x = 0, y = 0, xx = 0, xy = 0;
    qsort(v, n, sizeof *v, by_distance);
    for (size_t k = 0; k < STEPS; k++) {
        size_t from = k * n / STEPS, to = (k + 1) * n / STEPS;
        for (size_t i = from; i < to; i++)
            d[k] += v[i].distance / (double)(to - from), s[k] += v[i].over / (double)(to - from);
        x += d[k] / STEPS, y += s[k] / STEPS;
    }
    for (size_t k = 0; k < STEPS; k++)
        xx += (d[k] - x) * (d[k] - x), xy += (d[k] - x) * (s[k] - y);
    r->slope = xx > 0 && xy > 0 ? xy / xx : 0;
    r->flat = y - r->slope * x;
    if (r->flat < 0) {
        r->flat = 0;
        r->slope = x > 0 && y > 0 ? y / x : 0;
    }
    r->most = v[n - 1].distance;
}

/* Fits on the rows before the last `share` of the times and answers those: adds them to v. y: the targets. */
static bool answer_later(const trial *t, const double *when, const float *place, const float *y, double near,
                         double share, far *v, size_t *n)
{
    size_t rows = t->q->data->rows;
    double lo = (double)INFINITY, cut = (double)-INFINITY, hi = (double)-INFINITY;
    for (size_t i = 0; i < rows; i++) {
        double x = when[t->q->data->row[i]];
        if (isnan(y[i]) || isnan(x))
            continue;
        bool later = (double)place[i] > 1 - share;
        t->y[i] = later ? NAN : y[i];
        lo = fmin(lo, x), hi = fmax(hi, x);
        cut = later ? cut : fmax(cut, x);
    }
    bool able = cut > lo && hi > cut;
    const tab_stack *s = able ? small(t, NULL) : NULL;
    for (size_t i = 0; s != NULL && i < rows; i++) {
        double d = (when[t->q->data->row[i]] - cut) / (cut - lo), off = (double)(s->oof[i] - y[i]);
        if (!isnan(y[i]) && isnan(t->y[i]) && d > 0)
            v[(*n)++] = (far){ d, off * off - near };
    }
    memcpy(t->y, y, rows * sizeof *y);
    return s != NULL || !able;
}

/* How the squared error of later rows grows with the distance, by two cuts. */
static bool look_ahead(const trial *t, const double *when, const float *place, tab_arrangement *r)
{
    size_t rows = t->q->data->rows, n = 0, later = 0;
    double near = 0, blocked = 0;
    float *y = tab_arena_new_of(t->a, float, rows + 1);
    far *v = tab_arena_new_of(t->a, far, 2 * rows + 1);
    if (y == NULL || v == NULL)
        return false;
    memcpy(y, t->y, rows * sizeof *y);
    for (size_t i = 0; i < rows; i++)
        if (!isnan(y[i]))
            near += t->loss[0][i], blocked += t->loss[1][i], n++;
    near /= n > 0 ? (double)n : 1;
    r->blocked = n > 0 ? fmax(0, blocked / (double)n - near) : 0;
    for (size_t k = 0; k < sizeof LATER / sizeof *LATER; k++)
        if (!answer_later(t, when, place, y, near, LATER[k], v, &later))
            return false;
    if (later >= LEAST_TIMES)
        grow(v, later, r);
    return true;
}

/* Compares a column's arrangement with a random one and keeps it in r where it is the worst so far. group
 * NULL: by time. forced: it is kept anyway. False: memory or cancelled. */
static bool try_column(trial *t, tab_arena *keep, size_t column, const double *when, const uint32_t *group,
                       bool forced, tab_arrangement *r)
{
    const tab_data *d = t->q->data;
    placed *o = tab_arena_new_of(t->a, placed, d->rows + 1);
    uint64_t *key = tab_arena_new_of(t->a, uint64_t, d->rows + 1);
    uint32_t *block = tab_arena_new_of(t->a, uint32_t, d->rows + 1);
    float *place = tab_arena_new_of(keep, float, d->rows + 1);
    size_t present = 0, blocks = group == NULL ? BINS : 2 * d->rows;
    double skill[2];
    if (tab_arena_full(t->a) || place == NULL)
        return false;
    for (size_t i = 0; i < d->rows; i++) {
        size_t row = d->row[i];
        key[i] = group == NULL ? d->hash[i] : tab_mix2(group[row], 0x9a);
        o[i].key = group != NULL ? tab_unit(key[i]) : isnan(when[row]) ? (double)-INFINITY : when[row];
        present += asked(t->q, i);
    }
    place_rows(d, o, place);
    mask(t, key, present);
    for (size_t i = 0; i < d->rows; i++) {
        size_t bin = (size_t)((double)place[i] * BINS);
        block[i] = group != NULL ? group[d->row[i]] : (uint32_t)(bin < BINS ? bin : BINS - 1);
    }
    if (!measure(t, NULL, t->loss[0], &skill[0]) || !measure(t, place, t->loss[1], &skill[1]))
        return false;
    if (group == NULL && r->time == t->p->table->cols) {
        r->time = column;
        if (!t->q->classification && !look_ahead(t, when, place, r))
            return false;
    }
    bool worse = gap(t, block, blocks) > CHANCE && skill[0] - skill[1] > WORTH;
    bool first = !r->measured, more = skill[0] - skill[1] > r->random_score - r->score;
    if (first || more) {
        r->measured = true;
        r->random_score = skill[0];
        r->score = skill[1];
    }
    if ((worse || forced) && (r->place == NULL || more)) {
        r->kind = group != NULL ? TAB_SPLIT_GROUP : TAB_SPLIT_TIME;
        r->column = column;
        r->place = place;
    }
    return true;
}

/* A trial's room. False: memory. */
static bool open_trial(const tab_engine *e, const tab_profile *p, const tab_problem *q, tab_arena *work,
                       trial *t)
{
    size_t rows = p->table->rows;
    *t = (trial){ .e = e,
                  .p = p,
                  .q = q,
                  .a = work,
                  .label = tab_arena_new_of(work, uint32_t, rows + 1),
                  .y = tab_arena_new_of(work, float, rows + 1),
                  .loss = { tab_arena_new_of(work, double, rows + 1),
                            tab_arena_new_of(work, double, rows + 1) } };
    return !tab_arena_full(work);
}

/* Rows kept apart by the groups of which asked rows' are new. False: memory or cancelled. */
static bool by_new_groups(trial *t, tab_arena *a, const tab_asked *asked, bool forced, tab_arrangement *r)
{
    size_t rows = t->p->table->rows;
    uint32_t *group = tab_arena_new_of(t->a, uint32_t, rows + 1);
    for (size_t i = 0; group != NULL && i < rows; i++)
        group[i] = asked->member[i] == TAB_NULL ? (uint32_t)(rows + i) : asked->member[i];
    return group != NULL && try_column(t, a, asked->group, NULL, group, forced, r);
}

/* Rows kept apart as most of the asked ones lie to the others. False: memory or cancelled. */
static bool as_asked(const tab_engine *e, tab_arena *a, const tab_profile *p, const tab_problem *q,
                     const tab_asked *asked, tab_arrangement *r)
{
    size_t later = asked->rows[TAB_REGIME_LATER], fresh = asked->rows[TAB_REGIME_NEW_GROUP],
           alike = asked->asked - later - fresh;
    TAB_AUTO(tab_arena) *work = tab_arena_new((size_t)8 << 30);
    trial t;
    if (later == 0 && fresh == 0)
        return true;
    if (work == NULL || !open_trial(e, p, q, work, &t))
        return false;
    if (later >= fresh && later >= alike)
        return try_column(&t, a, asked->series.times == 1 ? asked->series.time[0] : p->table->cols,
                          asked->series.when, NULL, true, r);
    if (fresh >= alike)
        return by_new_groups(&t, a, asked, true, r);
    tab_arrangement own = { .time = p->table->cols };
    if (fresh > 0 && !by_new_groups(&t, a, asked, false, &own))
        return false;
    r->fresh_gap = fmax(0, own.random_score - own.score);
    r->fresh_left = own.random_score > 0 ? fmax(0, fmin(1, own.score / own.random_score)) : 1;
    return true;
}

/* The reason of a choice by what is asked. */
static const char *why_asked(tab_arena *a, const tab_profile *p, const tab_asked *s, const tab_arrangement *r)
{
    size_t n = r->kind == TAB_SPLIT_TIME ? s->rows[TAB_REGIME_LATER] : s->rows[TAB_REGIME_NEW_GROUP];
    if (r->kind == TAB_SPLIT_RANDOM)
        return tab_arena_printf(a,
                                "%zu of %zu rows to be answered are like the others: not later, and of "
                                "no new group",
                                s->asked - s->rows[TAB_REGIME_LATER] - s->rows[TAB_REGIME_NEW_GROUP],
                                s->asked);
    if (r->kind == TAB_SPLIT_TIME)
        return tab_arena_printf(a, "%zu of %zu rows to be answered come after all others in time", n,
                                s->asked);
    tab_str c = tab_column_address(a, p->table, r->column);
    return tab_arena_printf(a, "%zu of %zu rows to be answered are of groups by %.*s that no other row is of",
                            n, s->asked, (int)(c.n < 64 ? c.n : 64), c.p);
}

/* The reason, for people. */
static const char *why(tab_arena *a, const tab_profile *p, tab_split want, const tab_arrangement *r)
{
    if (want == TAB_SPLIT_RANDOM)
        return "asked for";
    if (r->kind == TAB_SPLIT_RANDOM)
        return r->measured
                   ? tab_arena_printf(a,
                                      "a small model takes off %.0f %% of the uncertainty of rows kept "
                                      "apart by time or key, %.0f %% of rows kept apart at random: "
                                      "within chance of each other",
                                      100 * fmax(0, r->score), 100 * fmax(0, r->random_score))
                   : "no column of times orders the rows, and none groups them";
    tab_str c = tab_column_address(a, p->table, r->column);
    const char *given = want == TAB_SPLIT_AUTO ? "" : "asked for; ";
    return tab_arena_printf(a,
                            "%srows kept apart by %.*s lose %.0f %% of their uncertainty to a small model, "
                            "rows kept apart at random %.0f %%",
                            given, (int)(c.n < 64 ? c.n : 64), c.p, 100 * fmax(0, r->score),
                            100 * fmax(0, r->random_score));
}

/* The times of the table where columns hold them and rows came in their order, or stand by series; else
 * NULL. */
static const double *times_of(const tab_asked *s, size_t rows)
{
    bool told = s != NULL && (s->series.kind == TAB_TIME_COLUMN || s->series.kind == TAB_TIME_PARTS);
    return told && (s->series.keys > 0 || in_order(s->series.when, rows)) ? s->series.when : NULL;
}

/* How errors grow beyond the times, where nothing was kept apart by them. False: memory or cancelled. */
static bool learn_growth(const tab_engine *e, tab_arena *a, const tab_profile *p, const tab_problem *q,
                         const tab_asked *asked, tab_arrangement *r)
{
    tab_arrangement own = { .time = p->table->cols };
    TAB_AUTO(tab_arena) *work = tab_arena_new((size_t)8 << 30);
    trial t;
    if (q->classification || r->time < p->table->cols || times_of(asked, p->table->rows) == NULL)
        return true;
    if (work == NULL || !open_trial(e, p, q, work, &t) ||
        !try_column(&t, a, asked->series.time[0], asked->series.when, NULL, false, &own))
        return false;
    r->time = own.time;
    r->flat = own.flat, r->slope = own.slope, r->most = own.most, r->blocked = own.blocked;
    return true;
}

/* Whether a column of the table's own parts rows: the arrangement that is the worst, or the one asked for. */
static bool by_evidence(const tab_engine *e, tab_arena *a, const tab_profile *p, const tab_problem *q,
                        size_t target, size_t own, tab_split want, const tab_asked *asked,
                        tab_arrangement *ret)
{
    size_t rows = p->table->rows;
    const double *times = times_of(asked, rows);
    for (size_t c = 0; c < own && want != TAB_SPLIT_RANDOM && rows >= 2 * LEAST_TIMES; c++) {
        TAB_AUTO(tab_arena) *work = tab_arena_new((size_t)8 << 30);
        bool found = times != NULL && c == asked->series.time[0];
        const double *when = c == target ? NULL : found ? times : tab_times_of(&p->col[c], rows);
        uint32_t *group = c == target || work == NULL ? NULL : tab_groups_of(work, &p->col[c], rows);
        if (work == NULL)
            return false;
        if (want == TAB_SPLIT_AUTO && when != NULL && !found && !in_order(when, rows))
            when = NULL;
        /* more rows a key than keys: places or kinds, whose new rows are theirs again */
        if (want == TAB_SPLIT_AUTO && p->col[c].distinct * p->col[c].distinct < p->col[c].present)
            group = NULL;
        if (want == TAB_SPLIT_TIME ? when == NULL : want == TAB_SPLIT_GROUP ? group == NULL : !when && !group)
            continue;
        trial t;
        bool by_time = when != NULL && want != TAB_SPLIT_GROUP;
        if (!open_trial(e, p, q, work, &t) ||
            !try_column(&t, a, c, by_time ? when : NULL, by_time ? NULL : group, want != TAB_SPLIT_AUTO, ret))
            return false;
    }
    return true;
}

tab_status tab_arrange(const tab_engine *e, tab_arena *a, const tab_profile *p, const tab_problem *q,
                       size_t target, size_t own, tab_split want, const tab_asked *asked,
                       tab_arrangement *ret, tab_error *err)
{
    size_t cols = p->table->cols;
    *ret = (tab_arrangement){ .kind = TAB_SPLIT_RANDOM, .column = cols, .time = cols };
    bool told = want == TAB_SPLIT_AUTO && asked != NULL && asked->asked > 0;
    bool ok =
        told ? as_asked(e, a, p, q, asked, ret) : by_evidence(e, a, p, q, target, own, want, asked, ret);
    if (!ok || (want == TAB_SPLIT_AUTO && !learn_growth(e, a, p, q, asked, ret)))
        return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : tab_no_memory(err);
    if (want > TAB_SPLIT_RANDOM && ret->kind != want)
        return tab_fail(err, TAB_VALIDATION, "options.split",
                        want == TAB_SPLIT_TIME ? "no column of times orders the rows"
                                               : "no column of repeating keys groups the rows");
    ret->reason = told ? why_asked(a, p, asked, ret) : why(a, p, want, ret);
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}
