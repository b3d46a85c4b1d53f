/* See propose.h: candidates, their scores by fold, and which are taken. */
#include "services/inference/engine/learn/made/propose.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/learn/screen.h"

/* NUMBERS, CATEGORIES: most that are paired, those with most gain. GROUPS: of values, besides one of missing
 * cells. CELLS: most pairs of groups of a cross, and FEW: rows below which one is put to the others. */
enum { NUMBERS = 20, CATEGORIES = 8, LEAST_EDGES = 4, CELLS = 4096, GROUPS = 16, FEW = 10, CUTS = 512 };
enum { MOST_LEVELS = 1000, FEW_VALUES = 50, CROSSES = 4 };
static const double FALSE_SHARE = 0.05, ALIKE = 0.98, UNLIKE = 20;

typedef struct {
    tab_made_recipe recipe;
    bool single;            /* no candidate: what feature a says alone */
    float z[TAB_FOLDS + 1]; /* without the fold's rows; last: with all */
    uint8_t *group;         /* (n) of its values; NULL of a cross */
} candidate;

typedef struct {
    const tab_engine *e;
    const tab_residuals *q;
    candidate *c;
    size_t n, room, singles;
    uint8_t *group; /* (n, rows) */
    double var[TAB_RESIDUALS][TAB_FOLDS + 1];
    atomic_bool failed;
} search;

bool tab_propose_apt(const tab_problem *p)
{
    return p->enc->n >= 2 && p->enc->n <= TAB_SCREEN_KEPT;
}

/* ---- candidates ------------------------------------------------------------------------------ */

static bool is_number(const tab_feature *f)
{
    return f->kind == TAB_FEATURE_NUMBER && f->edges >= LEAST_EDGES &&
           (f->derive == TAB_DERIVE_VALUE || f->derive == TAB_DERIVE_LEVEL);
}

/* A category, or a number of few values. */
static bool is_group(const tab_feature *f)
{
    if (f->kind == TAB_FEATURE_CODE)
        return f->levels >= 2 && f->levels <= MOST_LEVELS;
    return f->derive == TAB_DERIVE_VALUE && f->edges >= 1 && f->edges < FEW_VALUES;
}

typedef struct {
    float gain;
    uint32_t feature;
} ranked;

static int by_gain(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->gain != y->gain)
        return x->gain > y->gain ? -1 : 1;
    return (x->feature > y->feature) - (x->feature < y->feature);
}

static int by_feature(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return (x->feature > y->feature) - (x->feature < y->feature);
}

/* Features that are apt, those with most gain, in their order. */
static size_t pick(const tab_residuals *q, bool (*apt)(const tab_feature *), size_t most, ranked *r)
{
    size_t n = 0;
    for (uint32_t f = 0; f < q->p->enc->n; f++)
        if (apt(&q->p->enc->f[f]))
            r[n++] = (ranked){ q->gain[f], f };
    qsort(r, n, sizeof *r, by_gain);
    n = n < most ? n : most;
    qsort(r, n, sizeof *r, by_feature);
    return n;
}

static void add(search *s, bool single, tab_made_kind kind, uint32_t a, uint32_t b, uint32_t target)
{
    if (s->n < s->room)
        s->c[s->n++] = (candidate){ .recipe = { kind, a, b, target }, .single = single };
}

/* Whether two numbers may be of one unit: neither would drown in the other. Times are only of times'. */
static bool like_units(const tab_feature *a, const tab_feature *b)
{
    double share = a->scale * (double)a->sd / (b->scale * (double)b->sd);
    return a->time == b->time && share < UNLIKE && share > 1 / UNLIKE;
}

static void add_pairs(search *s, const ranked *r, size_t n)
{
    const tab_feature *f = s->q->p->enc->f;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            uint32_t a = r[i].feature, b = r[j].feature;
            if (f[a].source == f[b].source)
                continue;
            if (like_units(&f[a], &f[b])) {
                add(s, false, TAB_MADE_DIFFERENCE, a, b, 0);
                if (!f[a].time)
                    add(s, false, TAB_MADE_SUM, a, b, 0);
            }
            if (f[a].time || f[b].time)
                continue;
            add(s, false, TAB_MADE_RATIO, a, b, 0);
            add(s, false, TAB_MADE_RATIO, b, a, 0);
            add(s, false, TAB_MADE_PRODUCT, a, b, 0);
        }
}

static void add_groups(search *s, const ranked *r, size_t n, const ranked *g, size_t groups)
{
    const tab_feature *f = s->q->p->enc->f;
    for (size_t i = 0; i < groups; i++) {
        uint32_t b = g[i].feature;
        for (size_t j = 0; j < n; j++)
            if (f[r[j].feature].source != f[b].source) {
                add(s, false, TAB_MADE_BESIDE, r[j].feature, b, 0);
                if (f[b].kind == TAB_FEATURE_CODE)
                    add(s, false, TAB_MADE_GROUP, r[j].feature, b, 0);
            }
        for (size_t j = i + 1; j < groups; j++) {
            uint32_t a = g[j].feature;
            if (f[a].source != f[b].source && tab_made_groups(&f[a]) * tab_made_groups(&f[b]) <= CELLS)
                add(s, false, TAB_MADE_CROSS, b, a, 1);
        }
    }
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* The candidate's value in row i of those with residuals. */
static double value_of(const search *s, const candidate *c, const tab_made *m, size_t i)
{
    const tab_problem *p = s->q->p;
    if (c->single)
        return tab_made_number(&p->enc->f[c->recipe.a], p->data, c->recipe.a, s->q->row[i]);
    return tab_made_value(m, p->enc->f, p->data, s->q->row[i]);
}

/* Values to groups of about as many rows each, by quantiles of some of them; missing ones are the last. */
static void group_values(const double *value, size_t n, uint8_t *group)
{
    double some[CUTS], cut[GROUPS - 1];
    size_t m = 0, step = n / CUTS + 1;
    for (size_t i = 0; i < n; i += step)
        if (!isnan(value[i]))
            some[m++] = value[i];
    qsort(some, m, sizeof *some, tab_ascending_double);
    for (size_t k = 0; k + 1 < GROUPS; k++)
        cut[k] = m > 0 ? some[(k + 1) * m / GROUPS] : (double)INFINITY;
    for (size_t i = 0; i < n; i++) {
        uint8_t g = 0;
        for (size_t k = 0; k + 1 < GROUPS; k++)
            g += value[i] >= cut[k];
        group[i] = isnan(value[i]) ? GROUPS : g;
    }
}

/* A chi-square of k degrees as a normal score (Wilson & Hilferty 1931). */
static double normal_score(double x, double k)
{
    double v = 2 / (9 * k);
    return k >= 1 ? (cbrt(x / k) - (1 - v)) / sqrt(v) : (double)-INFINITY;
}

/* One candidate's sums by group and fold: cell (groups, folds). */
typedef struct {
    double sum;
    uint32_t n;
} cell;

/* The score without the rows of fold `but`; var: of the residuals. */
static double score(const search *s, const cell *c, size_t groups, size_t but, double var)
{
    size_t folds = s->q->folds, used = 0;
    double between = 0, sum = 0, n = 0, few_sum = 0, few = 0;
    for (size_t g = 0; g < groups; g++) {
        double own = 0, rows = 0;
        for (size_t f = 0; f < folds; f++)
            if (f != but)
                own += c[g * folds + f].sum, rows += c[g * folds + f].n;
        sum += own, n += rows;
        if (rows < FEW)
            few_sum += own, few += rows;
        else
            between += own * own / rows, used++;
    }
    if (few >= FEW)
        between += few_sum * few_sum / few, used++;
    else
        sum -= few_sum, n -= few;
    return n > 0 && var > 0 ? normal_score((between - sum * sum / n) / var, (double)used - 1)
                            : (double)-INFINITY;
}

/* The groups of a candidate's values, of `groups` in all. False: memory. */
static bool group_rows(search *s, candidate *c, uint16_t *group, size_t *groups)
{
    const tab_residuals *q = s->q;
    const tab_feature *f = q->p->enc->f;
    uint32_t a = c->recipe.a, b = c->recipe.b;
    bool pairs = !c->single && c->recipe.kind == TAB_MADE_CROSS, code = f[a].kind == TAB_FEATURE_CODE;
    if (pairs || (c->single && code)) {
        size_t others = pairs ? tab_made_groups(&f[b]) : 1;
        *groups = tab_made_groups(&f[a]) * others;
        for (size_t i = 0; i < q->n; i++)
            group[i] = (uint16_t)(tab_made_group(&f[a], q->p->data, a, q->row[i]) * others +
                                  (pairs ? tab_made_group(&f[b], q->p->data, b, q->row[i]) : 0));
        return true;
    }
    bool ok = false;
    double *some = malloc((q->n + 1) * sizeof *some);
    tab_arena *a0 = tab_arena_new((size_t)1 << 26);
    tab_made m = { .recipe = c->recipe };
    if (some != NULL && a0 != NULL)
        ok = c->single || tab_made_learn(a0, q->p, q->row, q->n, &c->recipe, &m, NULL);
    for (size_t i = 0; ok && i < q->n; i++)
        some[i] = value_of(s, c, &m, i);
    if (ok)
        group_values(some, q->n, c->group);
    for (size_t i = 0; ok && i < q->n; i++)
        group[i] = c->group[i];
    *groups = GROUPS + 1;
    free(some);
    tab_arena_free(a0);
    return ok;
}

static void score_one(void *ctx, size_t i)
{
    search *s = ctx;
    const tab_residuals *q = s->q;
    candidate *c = &s->c[i];
    size_t groups = 0;
    if (tab_engine_cancelled(s->e))
        return;
    c->group = s->group + i * q->n;
    uint16_t *group = malloc((q->n + 1) * sizeof *group);
    cell *sums = NULL;
    bool ok = group != NULL && group_rows(s, c, group, &groups) &&
              (sums = malloc((groups * q->folds + 1) * sizeof *sums)) != NULL;
    for (size_t f = 0; f <= q->folds; f++)
        c->z[f] = -INFINITY;
    for (size_t k = 0; ok && k < q->of; k++) {
        memset(sums, 0, groups * q->folds * sizeof *sums);
        for (size_t r = 0; r < q->n; r++) {
            cell *to = &sums[group[r] * q->folds + q->fold[r]];
            to->sum += (double)q->left[k][r];
            to->n++;
        }
        for (size_t f = 0; f <= q->folds; f++) {
            float z = (float)score(s, sums, groups, f, s->var[k][f]);
            if (z > c->z[f]) {
                c->z[f] = z;
                if (f == q->folds && !c->single && c->recipe.kind == TAB_MADE_CROSS && q->of > 1)
                    c->recipe.target = (uint32_t)k;
            }
        }
    }
    if (!ok)
        atomic_store(&s->failed, true);
    free(group), free(sums);
}

/* ---- which are taken ------------------------------------------------------------------------- */

typedef struct {
    float z;
    uint32_t at;
} scored;

static int by_score(const void *a, const void *b)
{
    const scored *x = a, *y = b;
    if (x->z != y->z)
        return x->z > y->z ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* What a feature says alone. */
static float alone(const search *s, uint32_t feature, size_t fold)
{
    return feature < s->singles ? s->c[feature].z[fold] : -INFINITY;
}

/* Whether two candidates order the rows alike, in either direction. */
static bool order_alike(const candidate *x, const candidate *y, size_t n)
{
    double sx = 0, sy = 0, xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < n; i++) {
        double a = x->group[i], b = y->group[i];
        sx += a, sy += b, xx += a * a, yy += b * b, xy += a * b;
    }
    double vx = xx - sx * sx / (double)n, vy = yy - sy * sy / (double)n;
    return fabs(xy - sx * sy / (double)n) > ALIKE * sqrt(vx * vy);
}

/* The list of one fold. s->c holds the features alone, then the candidates. */
static void take(const search *s, size_t fold, scored *t, tab_made_list *list)
{
    size_t n = 0, all = s->n - s->singles, kept[TAB_MADE_MOST], crosses = 0, passed = 0;
    for (size_t i = s->singles; i < s->n; i++) {
        const candidate *c = &s->c[i];
        float least = fmaxf(alone(s, c->recipe.a, fold), alone(s, c->recipe.b, fold));
        if (c->z[fold] > least)
            t[n++] = (scored){ c->z[fold], (uint32_t)i };
    }
    qsort(t, n, sizeof *t, by_score);
    for (size_t i = 0; i < n; i++) /* of several classes each had its chance */
        if (erfc((double)t[i].z / sqrt(2)) / 2 * (double)(all * s->q->of) <= FALSE_SHARE * (double)(i + 1))
            passed = i + 1;
    list->n = 0;
    for (size_t i = 0; i < passed && list->n < TAB_MADE_MOST; i++) {
        const candidate *c = &s->c[t[i].at];
        bool cross = c->recipe.kind == TAB_MADE_CROSS, twin = cross && crosses >= CROSSES;
        for (size_t k = 0; k < list->n && !twin && !cross; k++)
            twin = list->recipe[k].kind != TAB_MADE_CROSS && order_alike(c, &s->c[kept[k]], s->q->n);
        if (twin)
            continue;
        crosses += cross;
        kept[list->n] = t[i].at;
        list->recipe[list->n++] = c->recipe;
    }
}

/* Of the residuals without each fold, and of all. */
static void variances(search *s)
{
    const tab_residuals *q = s->q;
    for (size_t k = 0; k < q->of; k++)
        for (size_t f = 0; f <= q->folds; f++) {
            double n = 0, sum = 0, square = 0;
            for (size_t i = 0; i < q->n; i++)
                if (q->fold[i] != f)
                    n++, sum += (double)q->left[k][i],
                        square += (double)q->left[k][i] * (double)q->left[k][i];
            s->var[k][f] = n > 1 ? (square - sum * sum / n) / (n - 1) : 0;
        }
}

bool tab_propose(const tab_engine *e, const tab_residuals *q, tab_made_list *list)
{
    size_t features = q->p->enc->n;
    search s = { .e = e, .q = q, .singles = features };
    s.room = features + NUMBERS * NUMBERS * 5 / 2 + 2 * NUMBERS * CATEGORIES + CATEGORIES * CATEGORIES;
    s.c = calloc(s.room, sizeof *s.c);
    ranked *number = calloc(2 * features + 1, sizeof *number), *category = number + features;
    bool ok = s.c != NULL && number != NULL;
    if (ok) {
        size_t numbers = pick(q, is_number, NUMBERS, number);
        size_t categories = pick(q, is_group, CATEGORIES, category);
        for (uint32_t f = 0; f < features; f++)
            add(&s, true, TAB_MADE_DIFFERENCE, f, f, 0);
        add_pairs(&s, number, numbers);
        add_groups(&s, number, numbers, category, categories);
        s.group = malloc(s.n * q->n + 1);
        ok = s.group != NULL;
    }
    scored *t = malloc((s.n + 1) * sizeof *t);
    ok = ok && t != NULL;
    atomic_init(&s.failed, false);
    if (ok && s.n > s.singles) {
        variances(&s);
        tab_engine_for(e, s.n, score_one, &s);
        ok = !atomic_load(&s.failed) && !tab_engine_cancelled(e);
    }
    for (size_t f = 0; f <= q->folds; f++)
        list[f].n = 0;
    for (size_t f = 0; ok && s.n > s.singles && f <= q->folds; f++)
        take(&s, f, t, &list[f]);
    free(s.c), free(s.group), free(number), free(t);
    return ok;
}
