/* See arrange.h; fitted.c and held_out.c ask. */
#include "services/inference/engine/predict/asked/arrange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/order.h"
#include "services/inference/engine/features/mix.h"

/* SCAN: rows that the small models learn from. LEAST_TIMES and LEAST_GROUPS: fewer decide nothing;
 * FEWEST_GROUPS: that groups which were asked for may be. BINS: of time, whose sums are what chance is told
 * by. Chosen by hand, not measured. */
enum { SCAN = 4000, LEAST_TIMES = 20, LEAST_GROUPS = 20, FEWEST_GROUPS = 5, BINS = 20 };
/* The gap must be beyond chance at 1 %, and be worth a word. */
static const double CHANCE = 2.58, WORTH = 0.03;
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

/* A column of words that repeat may name what rows are of, though no key. */
static bool words(const tab_column_profile *c)
{
    return c->type == TAB_CATEGORICAL || c->type == TAB_TEXT;
}

uint32_t *tab_groups_of(tab_arena *a, const tab_column_profile *c, size_t rows, bool asked)
{
    bool key = c->identifying || c->use == TAB_USE_KEY;
    if ((!key && !(asked && words(c))) || c->distinct < (asked ? FEWEST_GROUPS : LEAST_GROUPS) ||
        3 * c->distinct > 2 * c->present || c->use == TAB_USE_IGNORE)
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
    size_t present = 0, blocks = group == NULL ? BINS : 2 * t->p->table->rows; /* d may be a part of them */
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
    if (group == NULL && r->time == t->p->table->cols)
        r->time = column;
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

static double left_of(const tab_arrangement *r)
{
    return r->random_score > 0 ? fmax(0, fmin(1, r->score / r->random_score)) : 1;
}

bool tab_known_of_new(const tab_engine *e, const tab_profile *p, const tab_problem *q, const uint32_t *level,
                      double *lost, double *left)
{
    TAB_AUTO(tab_arena) *work = tab_arena_new((size_t)8 << 30);
    tab_arrangement own = { .time = p->table->cols };
    size_t rows = p->table->rows;
    trial t;
    uint32_t *group = work == NULL ? NULL : tab_arena_new_of(work, uint32_t, rows + 1);
    for (size_t i = 0; group != NULL && i < rows; i++)
        group[i] = level[i] == TAB_NULL ? (uint32_t)(rows + i) : level[i];
    if (group == NULL || !open_trial(e, p, q, work, &t) ||
        !try_column(&t, work, p->table->cols, NULL, group, false, &own))
        return false;
    *lost = own.kind == TAB_SPLIT_GROUP ? own.random_score - own.score : 0;
    *left = left_of(&own);
    return true;
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
    r->fresh_left = left_of(&own);
    return true;
}

/* A split that a caller asks for is of the rows that are asked, where some are such: their groups, or their
 * times, tell which column is meant (decision 0784). False: memory or cancelled. */
static bool as_wanted(const tab_engine *e, tab_arena *a, const tab_profile *p, const tab_problem *q,
                      const tab_asked *asked, tab_split want, tab_arrangement *r)
{
    bool fresh = want == TAB_SPLIT_GROUP && asked != NULL && asked->rows[TAB_REGIME_NEW_GROUP] > 0,
         later = want == TAB_SPLIT_TIME && asked != NULL && asked->rows[TAB_REGIME_LATER] > 0;
    TAB_AUTO(tab_arena) *work = tab_arena_new((size_t)8 << 30);
    trial t;
    if (!fresh && !later)
        return true;
    if (work == NULL || !open_trial(e, p, q, work, &t))
        return false;
    if (fresh)
        return by_new_groups(&t, a, asked, true, r);
    return try_column(&t, a, asked->series.times == 1 ? asked->series.time[0] : p->table->cols,
                      asked->series.when, NULL, true, r);
}

/* The reason of a choice by what is asked. */
static const char *why_asked(tab_arena *a, const tab_profile *p, const tab_asked *s, const tab_arrangement *r)
{
    size_t n = r->kind == TAB_SPLIT_TIME ? s->rows[TAB_REGIME_LATER] : s->rows[TAB_REGIME_NEW_GROUP];
    size_t far = s->rows[TAB_REGIME_OUT_OF_RANGE];
    if (r->kind == TAB_SPLIT_RANDOM && far > 0)
        return tab_arena_printf(
            a,
            "%zu of %zu rows to predict are like the others; %zu have numbers outside the known range, "
            "where accuracy cannot be measured",
            s->rows[TAB_REGIME_ALIKE], s->asked, far);
    if (r->kind == TAB_SPLIT_RANDOM)
        return tab_arena_printf(
            a, "%zu of %zu rows to predict are like the others: no later in time and in no new group",
            s->rows[TAB_REGIME_ALIKE], s->asked);
    if (r->kind == TAB_SPLIT_TIME)
        return tab_arena_printf(a, "%zu of %zu rows to predict come %s all others in time", n, s->asked,
                                s->turned ? "before" : "after");
    tab_str c = tab_column_address(a, p->table, r->column);
    if (s->with < p->table->cols)
        return tab_arena_printf(
            a, "%zu of %zu rows to predict have a pair of %.*s and %.*s that no other row has", n, s->asked,
            (int)(c.n < 64 ? c.n : 64), c.p, TAB_STR(p->col[s->with].column->name));
    return tab_arena_printf(
        a, "%zu of %zu rows to predict belong to groups of %.*s that no other row belongs to", n, s->asked,
        (int)(c.n < 64 ? c.n : 64), c.p);
}

/* The reason, for people. */
static const char *why(tab_arena *a, const tab_profile *p, tab_split want, const tab_arrangement *r)
{
    if (want == TAB_SPLIT_RANDOM)
        return "asked for";
    if (r->kind == TAB_SPLIT_RANDOM)
        return r->measured
                   ? tab_arena_printf(
                         a,
                         "a small model removes %.0f%% of the uncertainty for rows split by time or key "
                         "and %.0f%% for rows split at random; the difference is not significant",
                         100 * fmax(0, r->score), 100 * fmax(0, r->random_score))
                   : "no time column orders the rows and no column groups them";
    tab_str c = tab_column_address(a, p->table, r->column);
    const char *given = want == TAB_SPLIT_AUTO ? "" : "asked for; ";
    return tab_arena_printf(
        a,
        "%sa small model removes %.0f%% of the uncertainty for rows split by %.*s and %.0f%% for rows "
        "split at random",
        given, 100 * fmax(0, r->score), (int)(c.n < 64 ? c.n : 64), c.p, 100 * fmax(0, r->random_score));
}

const double *tab_times_told(const tab_asked *s, size_t rows)
{
    bool told = s != NULL && (s->series.kind == TAB_TIME_COLUMN || s->series.kind == TAB_TIME_PARTS);
    return told && (s->series.keys > 0 || in_order(s->series.when, rows)) ? s->series.when : NULL;
}

/* Where groups are asked for and no key repeats: the column of words with most values that do, a name, say.
 * own: there is none. */
static size_t groups_asked(const tab_profile *p, size_t target, size_t own)
{
    size_t best = own;
    for (size_t c = 0; c < own; c++) {
        const tab_column_profile *q = &p->col[c];
        if (c != target && words(q) && q->use != TAB_USE_IGNORE && q->distinct >= FEWEST_GROUPS &&
            3 * q->distinct <= 2 * q->present && (best == own || q->distinct > p->col[best].distinct))
            best = c;
    }
    return best;
}

/* Whether a column of the table's own parts rows: the arrangement that is the worst, or the one asked for.
 * only: this column alone; SIZE_MAX: any. */
static bool by_evidence(const tab_engine *e, tab_arena *a, const tab_profile *p, const tab_problem *q,
                        size_t target, size_t own, tab_split want, size_t only, const tab_asked *asked,
                        tab_arrangement *ret)
{
    size_t rows = p->table->rows;
    const double *times = tab_times_told(asked, rows);
    for (size_t c = 0; c < own && want != TAB_SPLIT_RANDOM && rows >= 2 * LEAST_TIMES; c++) {
        TAB_AUTO(tab_arena) *work = tab_arena_new((size_t)8 << 30);
        bool found = times != NULL && c == asked->series.time[0];
        const double *when = c == target ? NULL : found ? times : tab_times_of(&p->col[c], rows);
        if (only != SIZE_MAX && c != only)
            continue;
        bool told = c == only;
        uint32_t *group = c == target || work == NULL ? NULL : tab_groups_of(work, &p->col[c], rows, told);
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
    bool ok = told ? as_asked(e, a, p, q, asked, ret) : as_wanted(e, a, p, q, asked, want, ret);
    bool shown = told || (want > TAB_SPLIT_RANDOM && ret->kind == want);
    if (ok && !shown)
        ok = by_evidence(e, a, p, q, target, own, want, SIZE_MAX, asked, ret);
    if (ok && want == TAB_SPLIT_GROUP && ret->kind != want)
        ok = by_evidence(e, a, p, q, target, own, want, groups_asked(p, target, own), asked, ret);
    if (!ok)
        return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : tab_no_memory(err);
    if (want > TAB_SPLIT_RANDOM && ret->kind != want)
        return tab_fail(err, TAB_VALIDATION, "options.split",
                        want == TAB_SPLIT_TIME
                            ? "no time column orders the rows"
                            : "no column with repeating keys groups the rows; `use`: `key` of a "
                              "column in options.columns names one");
    ret->reason = shown ? why_asked(a, p, asked, ret) : why(a, p, want, ret);
    if (shown && !told)
        ret->reason = tab_arena_printf(a, "asked for; %s", ret->reason);
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}
