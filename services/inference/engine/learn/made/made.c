/* See made.h: the values of made columns, for rows that are fitted and for new ones. */
#include "services/inference/engine/learn/made/made.h"

#include <math.h>
#include <stdlib.h>

static const double PRIOR = 4; /* rows' worth of the overall mean in a group's, as in levels.c */

size_t tab_made_groups(const tab_feature *f)
{
    return f->kind == TAB_FEATURE_CODE ? f->levels + 2 : f->bins + 1;
}

/* Levels of a category that the encoder does not know are one group, missing cells another. */
size_t tab_made_group(const tab_feature *f, const tab_data *d, uint32_t feature, uint32_t row)
{
    if (f->kind == TAB_FEATURE_CODE) {
        uint32_t code = d->code[feature][row];
        return code == TAB_NULL ? f->levels + 1 : code;
    }
    uint8_t bin = d->bin[feature][row];
    return bin == TAB_BIN_MISSING ? f->bins : bin;
}

double tab_made_number(const tab_feature *f, const tab_data *d, uint32_t feature, uint32_t row)
{
    return f->shift + f->scale * (double)d->x[feature][row];
}

static double ratio(double a, double b)
{
    return b < 0 || b > 0 ? a / b : (double)NAN;
}

double tab_made_value(const tab_made *m, const tab_feature *f, const tab_data *d, uint32_t row)
{
    uint32_t a = m->recipe.a, b = m->recipe.b;
    switch (m->recipe.kind) {
    case TAB_MADE_DIFFERENCE:
        return tab_made_number(&f[a], d, a, row) - tab_made_number(&f[b], d, b, row);
    case TAB_MADE_SUM:
        return tab_made_number(&f[a], d, a, row) + tab_made_number(&f[b], d, b, row);
    case TAB_MADE_RATIO:
        return ratio(tab_made_number(&f[a], d, a, row), tab_made_number(&f[b], d, b, row));
    case TAB_MADE_PRODUCT:
        return tab_made_number(&f[a], d, a, row) * tab_made_number(&f[b], d, b, row);
    case TAB_MADE_GROUP:
        return (double)m->mean[tab_made_group(&f[b], d, b, row)];
    case TAB_MADE_BESIDE:
        return tab_made_number(&f[a], d, a, row) - (double)m->mean[tab_made_group(&f[b], d, b, row)];
    case TAB_MADE_CROSS:
        break;
    }
    return (double)
        m->mean[tab_made_group(&f[a], d, a, row) * tab_made_groups(&f[b]) + tab_made_group(&f[b], d, b, row)];
}

/* What is averaged: by group the number, by pair the target. NaN: the row has none. */
static double read(const tab_problem *p, const tab_made_recipe *r, uint32_t row)
{
    if (r->kind != TAB_MADE_CROSS)
        return tab_made_number(&p->enc->f[r->a], p->data, r->a, row);
    return p->classification ? p->label[row] == r->target : (double)p->y[row];
}

static size_t cell(const tab_problem *p, const tab_made_recipe *r, uint32_t row)
{
    const tab_feature *f = p->enc->f;
    size_t b = tab_made_group(&f[r->b], p->data, r->b, row);
    return r->kind != TAB_MADE_CROSS
               ? b
               : tab_made_group(&f[r->a], p->data, r->a, row) * tab_made_groups(&f[r->b]) + b;
}

static double blend(double sum, double count, double overall)
{
    return (sum + PRIOR * overall) / (count + PRIOR);
}

/* m->mean from the context. CROSS: value of its rows, each by the rows before it. False: memory. */
static bool average(tab_made *m, const tab_problem *p, const uint32_t *context, size_t n, double *value)
{
    const tab_made_recipe *r = &m->recipe;
    double *sum = calloc(m->cells, sizeof *sum), *count = calloc(m->cells, sizeof *count), all = 0, rows = 0;
    bool ok = sum != NULL && count != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        double v = read(p, r, context[i]);
        all += isnan(v) ? 0 : v;
        rows += !isnan(v);
    }
    double overall = rows > 0 ? all / rows : 0;
    for (size_t at = 0, i = 0; ok && at < n; at = i) { /* copies of a row do not read each other */
        for (i = at; i < n && p->data->hash[context[i]] == p->data->hash[context[at]]; i++) {
            size_t c = cell(p, r, context[i]);
            if (r->kind == TAB_MADE_CROSS)
                value[context[i]] = blend(sum[c], count[c], overall);
        }
        for (size_t k = at; k < i; k++) {
            double v = read(p, r, context[k]);
            size_t c = cell(p, r, context[k]);
            sum[c] += isnan(v) ? 0 : v;
            count[c] += !isnan(v);
        }
    }
    for (size_t c = 0; ok && c < m->cells; c++)
        m->mean[c] = (float)blend(sum[c], count[c], overall);
    free(sum), free(count);
    return ok;
}

bool tab_made_learn(tab_arena *a, const tab_problem *p, const uint32_t *context, size_t n,
                    const tab_made_recipe *recipe, tab_made *ret, double *value)
{
    *ret = (tab_made){ .recipe = *recipe };
    const tab_feature *f = p->enc->f;
    if (recipe->kind < TAB_MADE_GROUP)
        return true;
    ret->cells = tab_made_groups(&f[recipe->b]);
    if (recipe->kind == TAB_MADE_CROSS)
        ret->cells *= tab_made_groups(&f[recipe->a]);
    ret->mean = tab_arena_new_of(a, float, ret->cells);
    return ret->mean != NULL && average(ret, p, context, n, value);
}

bool tab_made_fit(tab_arena *a, const tab_problem *p, const uint32_t *context, size_t n,
                  const tab_made_recipe *recipe, tab_made *ret, double *value)
{
    if (!tab_made_learn(a, p, context, n, recipe, ret, value))
        return false;
    for (uint32_t row = 0, at = 0; row < p->data->rows; row++) {
        bool own = at < n && context[at] == row;
        at += own;
        if (!own || recipe->kind != TAB_MADE_CROSS)
            value[row] = tab_made_value(ret, p->enc->f, p->data, row);
    }
    return true;
}

void tab_pack_made(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_made *m = each;
    TAB_PACK(p, m->mean, m->cells);
}

const char *tab_made_words(tab_arena *a, tab_made_kind kind, tab_str one, tab_str other)
{
    static const char *const between[] = {
        [TAB_MADE_DIFFERENCE] = "minus",         [TAB_MADE_SUM] = "plus",
        [TAB_MADE_RATIO] = "divided by",         [TAB_MADE_PRODUCT] = "times",
        [TAB_MADE_GROUP] = "in the mean of its", [TAB_MADE_BESIDE] = "relative to the mean of its",
        [TAB_MADE_CROSS] = "together with",
    };
    const char *words =
        tab_arena_printf(a, "%.*s %s %.*s", (int)one.n, one.p, between[kind], (int)other.n, other.p);
    return words != NULL ? words : "";
}
