/* See leaks.h and decision 0320. Two rules, both on at most SCAN rows that have a target:
 *
 *   computed   a linear rule of a few columns, or of their logarithms, leaves one part in 10,000 of the
 *              target's variance (identities.c)
 *   alone      one column takes nearly all of the loss off, cross-fitted, and all the others together stay
 *              far behind it
 *
 * "Far behind" is a ratio of what is left of the loss and a paired test over the rows: with k columns a z of
 * sqrt(2 log(k / ALPHA)) is reached by chance in at most ALPHA of the tables, for a normal tail at z is below
 * exp(-z^2 / 2) (Chernoff) and k of them are below their sum. Several columns may each give the target away,
 * so that none would stand alone: those whose loss is next to nothing are compared together with the rest. */
#include "services/inference/engine/predict/explain/leaks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/features/fixed_by.h"
#include "services/inference/engine/message.h"
#include "services/inference/engine/predict/choose/contenders.h"
#include "services/inference/engine/predict/choose/identities.h"
#include "services/inference/engine/predict/fitted_parts.h"

/* LEAST_ROWS: fewer rows say nothing. MOST_TRIED: columns that are fitted alone. MOST_CLASSES: of a target
 * that is looked at. By hand, not measured. */
enum { SCAN = 1200, LEAST_ROWS = 40, MOST_TRIED = 8, MOST_CLASSES = 100 };
/* SCREEN: what a column's bins must tell to be fitted alone. CLASSES and NUMBERS: the share of the loss that
 * a column alone takes off. BEHIND: how often the loss of the rest is that of the column. Chosen on
 * tests/bench/targets/run --leaks. */
static const double SCREEN = 0.5, CLASSES = 0.7, NUMBERS = 0.96, BEHIND = 5, ALPHA = 0.01, FAR = 5;

static const tab_recipe ALONE = {
    .learner = { &tab_learn_boost_quick, &tab_learn_linear }, .n = 2, .folds = 4, .work = 1e12
};

typedef struct {
    const tab_engine *e;
    const tab_fitted *f;
    tab_arena *a;
    size_t rows, n; /* looked at; of them with a target */
    float *y;       /* (rows) cut at FAR standard deviations: one far value decides nothing */
    double *prior;  /* (rows) loss of the base rate; NaN without a target */
    double loss;    /* its mean */
} look;

/* A column and what it tells alone. */
typedef struct {
    size_t column;
    double told;  /* by its bins */
    double left;  /* of the loss, alone: 0 to 1 */
    double *loss; /* (rows) */
} suspect;

static double row_loss(const look *k, const tab_stack *s, size_t i)
{
    const tab_problem *p = &k->f->problem;
    if (p->classification)
        return p->label[i] == TAB_NULL ? (double)NAN : -(double)s->oof[i * s->outputs + p->label[i]];
    double d = (double)(k->y[i] - s->oof[i]);
    return d * d;
}

/* Fits the features of the columns that `with` names (or of all others) and gives each row's loss. */
static bool losses(const look *k, const bool *with, bool others, double *loss, double *ret_mean)
{
    const tab_problem *p = &k->f->problem;
    tab_engine e = *k->e;
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_encoder enc = *p->enc;
    tab_data data = *p->data;
    tab_feature *f = a == NULL ? NULL : tab_arena_new_of(a, tab_feature, enc.n + 1);
    if (f == NULL)
        return false;
    data.x = tab_arena_new_of(a, float *, enc.n + 1);
    data.code = tab_arena_new_of(a, uint32_t *, enc.n + 1);
    data.bin = tab_arena_new_of(a, uint8_t *, enc.n + 1);
    if (tab_arena_full(a))
        return false;
    enc.n = 0;
    for (size_t i = 0; i < p->enc->n; i++) {
        if (with[p->enc->f[i].source] == others)
            continue;
        f[enc.n] = p->enc->f[i];
        data.x[enc.n] = p->data->x[i];
        data.code[enc.n] = p->data->code[i];
        data.bin[enc.n++] = p->data->bin[i];
    }
    enc.f = f;
    data.n = enc.n;
    data.rows = k->rows;
    tab_problem q = *p;
    q.enc = &enc;
    q.data = &data;
    q.y = k->y;
    e.arena = a;
    e.progress = NULL;
    tab_stack *s = enc.n == 0 ? NULL : tab_stack_fit(&e, a, &q, &ALONE);
    if (s == NULL && enc.n > 0)
        return false;
    *ret_mean = 0;
    for (size_t i = 0; i < k->rows; i++) {
        loss[i] = isnan(k->prior[i]) ? (double)NAN : s == NULL ? k->prior[i] : row_loss(k, s, i);
        *ret_mean += isnan(loss[i]) ? 0 : loss[i] / (double)k->n;
    }
    return true;
}

/* The base rate's loss of each row. */
static bool read_prior(look *k)
{
    const tab_problem *p = &k->f->problem;
    double *share = tab_arena_new_of(k->a, double, p->outputs + 1), mean = 0;
    k->prior = tab_arena_new_of(k->a, double, k->rows + 1);
    k->y = tab_arena_new_of(k->a, float, k->rows + 1);
    if (share == NULL || k->prior == NULL || k->y == NULL)
        return false;
    for (size_t i = 0; i < k->rows; i++) {
        bool there = p->classification ? p->label[i] != TAB_NULL : !isnan(p->y[i]);
        double y = (double)p->y[i];
        k->y[i] = (float)(y > FAR ? FAR : y < -FAR ? -FAR : y);
        k->n += there;
        if (there && p->classification)
            share[p->label[i]]++;
        mean += there && !p->classification ? (double)k->y[i] : 0;
    }
    mean /= k->n > 0 ? (double)k->n : 1;
    for (size_t i = 0; i < k->rows; i++) {
        double d = (double)k->y[i] - mean;
        k->prior[i] = !p->classification        ? d * d
                      : p->label[i] == TAB_NULL ? (double)NAN
                                                : log((double)k->n / share[p->label[i]]);
        k->loss += isnan(k->prior[i]) ? 0 : k->prior[i] / (double)k->n;
    }
    return true;
}

/* For qsort: what tells most first, then in the table's order. */
static int by_told(const void *a, const void *b)
{
    const suspect *x = a, *y = b;
    if (x->told != y->told)
        return x->told > y->told ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

/* Whether the column says when each row was: a meter's reading follows from its day, which gives nothing
 * away. A moment that some rows lack is one of something that happened to the others. */
static bool orders_rows(const look *k, const tab_profile *p, size_t column)
{
    const tab_series *s = &k->f->asked.series;
    for (size_t i = 0; s->kind != TAB_TIME_NONE && i < s->times; i++)
        if (s->time[i] == column)
            return p->col[column].present == p->table->rows;
    return false;
}

/* s (cols): the columns whose bins tell much, the first MOST_TRIED of them; *ret how many. */
static bool screen(const look *k, const tab_profile *t, suspect *s, size_t *ret)
{
    const tab_problem *p = &k->f->problem;
    tab_data d = *p->data;
    d.rows = k->rows;
    for (size_t c = 0; c < k->f->cols; c++)
        s[c] = (suspect){ .column = c };
    for (size_t i = 0; i < p->enc->n; i++) {
        double told = tab_fixed_by(&d, i, p->classification ? NULL : k->y, p->label,
                                   p->classification ? p->outputs : 0);
        suspect *of = &s[p->enc->f[i].source];
        of->told = orders_rows(k, t, of->column) ? 0 : fmax(of->told, told);
    }
    qsort(s, k->f->cols, sizeof *s, by_told);
    *ret = 0;
    while (*ret < k->f->cols && *ret < MOST_TRIED && s[*ret].told > SCREEN)
        ++*ret;
    return !tab_engine_cancelled(k->e);
}

/* Whether the rows lose so much more by `rest` than by `own` that chance does not explain it. */
static bool far_behind(const look *k, const double *own, const double *rest)
{
    double mean = 0, square = 0, n = (double)k->n;
    for (size_t i = 0; i < k->rows; i++) {
        double d = isnan(own[i]) ? 0 : rest[i] - own[i];
        mean += d / n, square += d * d / n;
    }
    double var = square - mean * mean;
    return mean > 0 && mean * mean * n > 2 * log((double)k->f->cols / ALPHA) * var;
}

static tab_status failed(const tab_engine *e, tab_error *err)
{
    return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : tab_no_memory(err);
}

/* The start of a column's name; its number where it has none. */
static void name_of(const look *k, size_t column, char *who, size_t n)
{
    tab_contender_name_of(k->f->column[column].name, column, who, n);
}

/* One leak more. alone, others: shares of the loss that are taken off; NaN: not measured. False: the arena is
 * full. */
static bool add(const look *k, Tabella__Prediction *m, const char *kind, size_t column, double alone,
                double others, const char *reason)
{
    Tabella__Leak *l = tab_message(k->e->arena, Tabella__Leak, TABELLA__LEAK__INIT);
    Tabella__ColumnRef *ref = tab_message(k->e->arena, Tabella__ColumnRef, TABELLA__COLUMN_REF__INIT);
    if (l == NULL || ref == NULL || reason == NULL)
        return false;
    tab_str address = tab_arena_copy(k->e->arena, k->f->column[column].address);
    ref->table = k->f->table;
    ref->column = (uint32_t)column;
    ref->address = (ProtobufCBinaryData){ address.n, (uint8_t *)tab_text(address.p) };
    l->column = ref;
    l->kind = tab_text(kind);
    l->has_share = !isnan(alone);
    l->alone = isnan(alone) ? 0 : alone;
    l->others = isnan(others) ? 0 : others;
    l->reason = tab_text(reason);
    m->leaks[m->n_leaks++] = l;
    return true;
}

/* The columns that were computed from the targets of several rows, which are left out (group_means.h). */
static bool add_means(const look *k, Tabella__Prediction *m, bool *named)
{
    for (size_t c = 0; c < k->f->cols && k->f->computed != NULL && m->n_leaks < MOST_TRIED; c++) {
        char who[96];
        if (!k->f->computed[c])
            continue;
        name_of(k, c, who, sizeof who);
        named[c] = true;
        if (!add(k, m, "computed", c, (double)NAN, (double)NAN,
                 tab_arena_printf(
                     k->e->arena,
                     "`%s` gives the target away: it follows the targets of its group's rows more "
                     "closely than chance allows, as if it were computed from them; it was left out",
                     who)))
            return false;
    }
    return true;
}

/* The columns that the target is computed from. */
static bool add_computed(const look *k, const tab_profile *p, Tabella__Prediction *m, bool *named)
{
    size_t part[TAB_IDENTITY_PARTS], n = 0; /* no more than MOST_TRIED */
    bool product = false;
    if (k->f->task != TAB_TASK_REGRESSION)
        return true;
    if (!tab_identity_of(k->a, p, k->f->target, part, &n, &product))
        return false;
    char all[400] = "", who[96];
    for (size_t i = 0; i < n; i++) {
        name_of(k, part[i], who, sizeof who);
        size_t at = strlen(all);
        snprintf(all + at, sizeof all - at, "%s`%s`", i == 0 ? "" : i + 1 == n ? " and " : ", ", who);
    }
    for (size_t i = 0; i < n && m->n_leaks < MOST_TRIED; i++) {
        const char *how = n == 1    ? product ? "a power of it, in other units" : "it in other units"
                          : product ? "a product or ratio of"
                                    : "a sum or difference of";
        name_of(k, part[i], who, sizeof who);
        named[part[i]] = true;
        if (!add(k, m, n == 1 ? "copy" : "computed", part[i], (double)NAN, (double)NAN,
                 n == 1
                     ? tab_arena_printf(k->e->arena, "`%s` gives the target away: the target is %s", who, how)
                     : tab_arena_printf(k->e->arena, "`%s` gives the target away: the target is %s %s", who,
                                        how, all)))
            return false;
    }
    return true;
}

/* The columns that tell the target alone, and the rest does not. */
static bool add_alone(const look *k, suspect *s, size_t tried, Tabella__Prediction *m, bool *named)
{
    bool *with = tab_arena_new_of(k->a, bool, k->f->cols + 1), any = false;
    double *rest = tab_arena_new_of(k->a, double, k->rows + 1), left = 1, mean;
    double most = 1 - (k->f->problem.classification ? CLASSES : NUMBERS);
    if (with == NULL || rest == NULL)
        return false;
    for (size_t i = 0; i < tried; i++) {
        s[i].loss = tab_arena_new_of(k->a, double, k->rows + 1);
        memset(with, 0, k->f->cols * sizeof *with);
        with[s[i].column] = true;
        if (s[i].loss == NULL || !losses(k, with, false, s[i].loss, &mean))
            return false;
        s[i].left = mean / k->loss;
        any = any || s[i].left < most;
    }
    if (!any)
        return true;
    for (size_t c = 0; c < k->f->cols; c++)
        with[c] = named[c];
    for (size_t i = 0; i < tried; i++)
        with[s[i].column] = with[s[i].column] || s[i].left < most;
    if (!losses(k, with, true, rest, &mean))
        return false;
    left = mean / k->loss;
    for (size_t i = 0; i < tried && m->n_leaks < MOST_TRIED; i++) {
        char who[96];
        if (!(s[i].left < most) || named[s[i].column] || left < BEHIND * s[i].left ||
            !far_behind(k, s[i].loss, rest))
            continue;
        double alone = 1 - s[i].left, others = fmax(0, 1 - left);
        name_of(k, s[i].column, who, sizeof who);
        if (!add(k, m, "alone", s[i].column, alone, others,
                 tab_arena_printf(
                     k->e->arena,
                     "`%s` gives the target away: alone it explains %.0f%% of it, all others together "
                     "%.0f%%; check whether it is known before the target is",
                     who, 100 * alone, 100 * others)))
            return false;
    }
    return true;
}

tab_status tab_leaks(const tab_engine *e, const tab_fitted *f, const tab_profile *p, Tabella__Prediction *m,
                     tab_error *err)
{
    const tab_problem *q = &f->problem;
    if (f->task == TAB_TASK_ANOMALY || q->data == NULL || (q->classification && q->outputs > MOST_CLASSES))
        return TAB_OK;
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    look k = { .e = e, .f = f, .a = a, .rows = q->data->rows < SCAN ? q->data->rows : SCAN };
    m->leaks = tab_arena_new_of(e->arena, Tabella__Leak *, MOST_TRIED + 1);
    if (a == NULL || m->leaks == NULL || !read_prior(&k))
        return failed(e, err);
    if (k.n < LEAST_ROWS || !(k.loss > 0))
        return TAB_OK;
    suspect *s = tab_arena_new_of(a, suspect, f->cols + 1);
    bool *named = tab_arena_new_of(a, bool, f->cols + 1);
    size_t tried = 0;
    if (s == NULL || named == NULL || !add_means(&k, m, named) || !add_computed(&k, p, m, named) ||
        !screen(&k, p, s, &tried) || (tried > 0 && !add_alone(&k, s, tried, m, named)))
        return failed(e, err);
    return TAB_OK;
}
