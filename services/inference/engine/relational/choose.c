/* What linked tables say is chosen in two steps, by at most SAMPLE rows. A candidate must tell of what a
 * cross-fitted model of the table's own columns left open, beyond what chance lets any of them all tell
 * (screen.h, decision 0393): where they are noise none comes in, and the score of the rows that chose stays
 * true. Then models with the first few of those, ranked by a model of them all, are held against the one of
 * the own columns, row by row (decision 0283). */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/fixed_by.h"
#include "services/inference/engine/learn/stack/stack.h"
#include "services/inference/engine/relational/parts.h"
#include "services/inference/engine/relational/screen.h"

enum {
    FOLDS = 5,
    SAMPLE = 4000,
    LEAST_ROWS = 40,
    MOST_CLASSES = 50,
    MOST_CHOSEN = 32,
    SCREENED = 8,
    STEPS = 3
};
static const double TWIN = 0.985; /* a candidate that fixes the target is a copy of it: decision 0298 */
static const double SURE = 2;     /* standard errors that the gain must lie above nothing */
/* Of two trials with nearly the same gain the one with more columns is taken: all of them tell something, and
 * the stack reads finer than the trial does. */
static const double NEARLY = 0.95;

static const tab_recipe QUICK = {
    .learner = { &tab_learn_boost_quick }, .n = 1, .folds = FOLDS, .work = 1e12
};

/* The sampled rows with all candidates as columns behind the table's own. */
typedef struct {
    const tab_engine *e;
    tab_arena *a;
    tab_profile p;
    size_t rows, own, made;
    bool *explains; /* (own) */
    bool classification;
    size_t classes;
    uint32_t *label; /* (rows) */
    float *y;        /* (rows) */
    double *told;    /* (made) importance; below 0 for what is no candidate */
    bool *copy;      /* (made) left out, since it alone fixes the target */
    bool *computed;  /* (made) left out, since it was computed from the targets */
    uint64_t **unit; /* (ways)(rows) the row that a way's values come from, by its key; 0: none */
} sample;

/* ---- the sample ------------------------------------------------------------------------------ */

static bool present(const tab_column_profile *c, size_t row)
{
    return c->code != NULL ? c->code[row] != TAB_NULL : c->number != NULL && !isnan(c->number[row]);
}

/* Rows with a target: all, or those whose own cells have the least hashes. */
static uint32_t *pick(const tab_engine *e, tab_arena *a, const tab_profile *p, const bool *explains,
                      const tab_column_profile *target, bool classification, size_t *n)
{
    size_t rows = p->table->rows;
    uint32_t *row = tab_arena_new_of(a, uint32_t, rows + 1);
    tab_data *data = NULL;
    if (rows > SAMPLE && tab_encode_fit(e, a, p, explains, &data) == NULL)
        return NULL;
    *n = 0;
    for (size_t i = 0; row != NULL && i < rows && *n < SAMPLE; i++) {
        uint32_t r = data == NULL ? (uint32_t)i : data->row[i];
        bool there = classification ? present(target, r) : !isnan(target->number[r]);
        if (there)
            row[(*n)++] = r;
    }
    return row;
}

/* Column c at the sampled rows; levels that are not among them go. */
static bool at_rows(tab_arena *a, const tab_column_profile *c, const uint32_t *row, size_t n,
                    tab_column_profile *ret)
{
    *ret = *c;
    double *number = c->number == NULL ? NULL : tab_arena_new_of(a, double, n + 1);
    uint32_t *code = c->code == NULL ? NULL : tab_arena_new_of(a, uint32_t, n + 1);
    uint32_t *of = c->code == NULL ? NULL : tab_arena_new_of(a, uint32_t, c->levels + 1);
    tab_str *level = c->code == NULL ? NULL : tab_arena_new_of(a, tab_str, c->levels + 1);
    size_t levels = 0;
    if (tab_arena_full(a))
        return false;
    for (size_t i = 0; number != NULL && i < n; i++)
        number[i] = c->number[row[i]];
    for (size_t i = 0; code != NULL && i < n; i++) {
        uint32_t k = c->code[row[i]];
        code[i] = TAB_NULL;
        if (k == TAB_NULL)
            continue;
        if (of[k] == 0) {
            level[levels] = c->level[k];
            of[k] = (uint32_t)++levels;
        }
        code[i] = of[k] - 1;
    }
    ret->number = number;
    ret->code = code;
    ret->level = level;
    ret->levels = levels;
    return true;
}

/* Labels by code, or by number where there are no codes. */
static bool read_classes(sample *s, const tab_column_profile *c)
{
    double *value = tab_arena_new_of(s->a, double, s->rows + 1);
    s->label = tab_arena_new_of(s->a, uint32_t, s->rows + 1);
    if (value == NULL || s->label == NULL)
        return false;
    for (size_t i = 0; i < s->rows; i++) {
        double x = c->code != NULL ? c->code[i] : c->number[i];
        uint32_t k = 0;
        while (k < s->classes && value[k] != x)
            k++;
        if (k == s->classes)
            value[s->classes++] = x;
        s->label[i] = k;
        if (s->classes > MOST_CLASSES)
            break;
    }
    return true;
}

/* y: standardised, cut at five standard deviations. */
static bool read_numbers(sample *s, const double *v)
{
    double most = 0, sum = 0, square = 0, n = (double)s->rows;
    s->y = tab_arena_new_of(s->a, float, s->rows + 1);
    for (size_t i = 0; i < s->rows; i++)
        most = fmax(most, fabs(v[i]));
    most = most > 0 ? most : 1;
    for (size_t i = 0; i < s->rows; i++)
        sum += v[i] / most / n;
    for (size_t i = 0; i < s->rows; i++)
        square += (v[i] / most - sum) * (v[i] / most - sum) / n;
    double sd = square > 1e-24 ? sqrt(square) : 1;
    for (size_t i = 0; s->y != NULL && i < s->rows; i++)
        s->y[i] = (float)fmax(-5, fmin(5, (v[i] / most - sum) / sd));
    return s->y != NULL;
}

/* ---- models ---------------------------------------------------------------------------------- */

/* All columns encoded once, so that every trial has the same folds; and the target in their order. */
typedef struct {
    const tab_encoder *enc;
    const tab_data *data;
    uint32_t *label;
    float *y;
    const bool *hidden; /* (own) columns that are not looked at; NULL: none */
} encoded;

static bool encode(const sample *s, encoded *ret)
{
    tab_engine e = *s->e;
    tab_data *data = NULL;
    bool *use = tab_arena_new_of(s->a, bool, s->own + s->made + 1);
    e.arena = s->a;
    if (use == NULL)
        return false;
    memset(use, true, s->own + s->made);
    memcpy(use, s->explains, s->own * sizeof *use);
    *ret = (encoded){ .enc = tab_encode_fit(&e, s->a, &s->p, use, &data),
                      .label = tab_arena_new_of(s->a, uint32_t, s->rows + 1),
                      .y = tab_arena_new_of(s->a, float, s->rows + 1) };
    ret->data = data;
    if (ret->enc == NULL || tab_arena_full(s->a))
        return false;
    for (size_t i = 0; i < s->rows; i++) {
        ret->label[i] = s->classification ? s->label[data->row[i]] : TAB_NULL;
        ret->y[i] = s->classification ? (float)NAN : s->y[data->row[i]];
    }
    return true;
}

/* A candidate that alone fixes the target is none. */
static void leave_copies(const sample *s, const encoded *n)
{
    for (size_t f = 0; f < n->enc->n; f++) {
        size_t c = n->enc->f[f].source;
        if (c >= s->own &&
            tab_fixed_by(n->data, f, s->classification ? NULL : n->y, n->label, s->classes) > TWIN)
            s->told[c - s->own] = -1, s->copy[c - s->own] = true;
    }
}

/* The features of the table's own columns and of those made ones that are taken. */
static bool view(const sample *s, const encoded *n, const bool *taken, tab_arena *a, tab_encoder *enc,
                 tab_data *data)
{
    tab_feature *f = tab_arena_new_of(a, tab_feature, n->enc->n + 1);
    float **x = tab_arena_new_of(a, float *, n->enc->n + 1);
    uint32_t **code = tab_arena_new_of(a, uint32_t *, n->enc->n + 1);
    uint8_t **bin = tab_arena_new_of(a, uint8_t *, n->enc->n + 1);
    if (tab_arena_full(a))
        return false;
    *enc = *n->enc;
    *data = *n->data;
    enc->n = 0;
    for (size_t k = 0; k < n->enc->n; k++) {
        size_t c = n->enc->f[k].source;
        if (c >= s->own ? !taken[c - s->own] : n->hidden != NULL && n->hidden[c])
            continue;
        f[enc->n] = n->enc->f[k];
        x[enc->n] = n->data->x[k];
        code[enc->n] = n->data->code[k];
        bin[enc->n++] = n->data->bin[k];
    }
    enc->f = f;
    data->n = enc->n;
    data->x = x;
    data->code = code;
    data->bin = bin;
    return true;
}

/* Adds the shares of the trees' gain, over the folds. */
static void rank(const sample *s, const tab_encoder *all, const tab_stack *stack)
{
    for (size_t k = 0; k < stack->folds && stack->members > 0; k++) {
        const tab_member *b = &stack->member[0];
        const tab_encoder *enc = stack->levels[k] != NULL ? &stack->levels[k]->enc : all;
        const float *share = b->model[k] == NULL ? NULL : b->learner->importance(b->model[k]);
        for (size_t f = 0; share != NULL && f < enc->n; f++)
            if (enc->f[f].source >= s->own && s->told[enc->f[f].source - s->own] >= 0)
                s->told[enc->f[f].source - s->own] += (double)share[f];
    }
}

/* The classes whose rows are looked at: two are each other's mirror, of many the first SCREENED. */
static size_t screened(const sample *s)
{
    return !s->classification || s->classes <= 2 ? 1 : s->classes < SCREENED ? s->classes : SCREENED;
}

/* left (screened, rows): what the stack leaves open. */
static void leave(const sample *s, const encoded *n, const tab_stack *stack, float *left)
{
    for (size_t k = 0; k < screened(s); k++)
        for (size_t i = 0; i < s->rows; i++) {
            const float *o = stack->oof + i * stack->outputs;
            left[k * s->rows + i] =
                s->classification ? (float)(n->label[i] == k) - expf(o[k]) : n->y[i] - o[0];
        }
}

/* The loss of each row with the table's own columns and those of `made` that are taken, and what is left open
 * (NULL: not asked). */
static bool trial(const sample *s, const encoded *n, const bool *taken, bool ranks, double *loss, float *left)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    tab_encoder enc;
    tab_data data;
    tab_engine e = *s->e;
    e.arena = a;
    e.progress = NULL;
    if (a == NULL || !view(s, n, taken, a, &enc, &data))
        return false;
    tab_problem q = { .enc = &enc,
                      .data = &data,
                      .label = n->label,
                      .y = n->y,
                      .seed = s->e->seed,
                      .classification = s->classification,
                      .outputs = s->classification ? s->classes : 1 };
    const tab_stack *stack = tab_stack_fit(&e, a, &q, &QUICK);
    if (stack == NULL)
        return false;
    for (size_t i = 0; i < s->rows; i++) {
        const float *o = stack->oof + i * stack->outputs;
        double d = s->classification ? 0 : (double)(n->y[i] - o[0]);
        loss[i] = s->classification ? -(double)o[n->label[i]] : d * d;
    }
    if (ranks)
        rank(s, &enc, stack);
    if (left != NULL)
        leave(s, n, stack, left);
    return true;
}

/* ---- beyond chance --------------------------------------------------------------------------- */

/* The features that are asked of what is left. False: the arena is full. */
static bool ask(const sample *s, const tab_links *l, const encoded *n, tab_links_left *q)
{
    size_t *feature = tab_arena_new_of(s->a, size_t, n->enc->n + 1);
    size_t *of = tab_arena_new_of(s->a, size_t, n->enc->n + 1);
    uint64_t **unit = tab_arena_new_of(s->a, uint64_t *, l->ways + 1);
    if (tab_arena_full(s->a))
        return false;
    *q = (tab_links_left){ .data = n->data,
                           .enc = n->enc,
                           .feature = feature,
                           .unit_of = of,
                           .units = l->ways,
                           .unit = unit,
                           .outputs = screened(s) };
    for (size_t w = 0; w < l->ways; w++) {
        if ((unit[w] = tab_arena_new_of(s->a, uint64_t, s->rows + 1)) == NULL)
            return false;
        for (size_t i = 0; i < s->rows; i++) {
            uint64_t u = s->unit[w][n->data->row[i]];
            unit[w][i] = u != 0 ? u : n->data->hash[i];
        }
    }
    for (size_t f = 0; f < n->enc->n; f++) {
        size_t c = n->enc->f[f].source;
        if (c < s->own || s->told[c - s->own] < 0)
            continue;
        feature[q->features] = f;
        of[q->features++] = (size_t)(l->feature[c - s->own].way - l->way);
    }
    return true;
}

/* beyond (made): the candidates that tell of what the table's own columns leave open, and then of what those
 * leave open together with the ones found so far. A key of another table tells its rows apart and would stand
 * for whatever they say, so that it is not among the own columns here. *any: there is one. */
static bool screen(const sample *s, const tab_links *l, const encoded *n, bool *beyond, bool *any)
{
    float *left = tab_arena_new_of(s->a, float, screened(s) * s->rows + 1);
    double *loss = tab_arena_new_of(s->a, double, s->rows + 1);
    bool *hidden = tab_arena_new_of(s->a, bool, s->own + 1),
         *found = tab_arena_new_of(s->a, bool, n->enc->n + 1);
    encoded bare = *n;
    tab_links_left q;
    if (tab_arena_full(s->a) || !ask(s, l, n, &q))
        return false;
    for (size_t w = 0; w < l->ways; w++)
        if (l->way[w].hop[0].from->columns == 1)
            hidden[l->way[w].hop[0].from->column[0]] = true;
    bare.hidden = hidden;
    q.left = left;
    bool more = true;
    for (size_t step = 0; more && step < STEPS; step++) {
        if (!trial(s, &bare, beyond, false, loss, left) || !tab_links_screen(s->e, s->a, &q, found))
            return false;
        more = false;
        for (size_t k = 0; k < q.features; k++) {
            bool *of = &beyond[n->enc->f[q.feature[k]].source - s->own];
            more = more || (found[k] && !*of);
            *of = *of || found[k];
        }
        *any = *any || more;
    }
    return true;
}

/* ---- the choice ------------------------------------------------------------------------------ */

typedef struct {
    double told;
    uint32_t k;
} ranked;

static int by_told(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->told != y->told)
        return x->told > y->told ? -1 : 1;
    return (x->k > y->k) - (x->k < y->k);
}

/* The mean gain of `loss` over `own` in standard errors; *gain: itself. */
static double sure(const double *own, const double *loss, size_t n, double *gain)
{
    double sum = 0, square = 0;
    for (size_t i = 0; i < n; i++)
        sum += (own[i] - loss[i]) / (double)n;
    for (size_t i = 0; i < n; i++)
        square += (own[i] - loss[i] - sum) * (own[i] - loss[i] - sum);
    *gain = sum;
    double error = sqrt(square / ((double)n - 1) / (double)n);
    return error > 0 ? sum / error : 0;
}

/* taken (made): the best of the ranked ones, doubling their number, or none. False: out of memory. */
static bool best_of(const sample *s, const tab_links *l, bool *taken)
{
    double *own = tab_arena_new_of(s->a, double, s->rows + 1),
           *loss = tab_arena_new_of(s->a, double, s->rows + 1);
    bool *some = tab_arena_new_of(s->a, bool, s->made + 1),
         *beyond = tab_arena_new_of(s->a, bool, s->made + 1);
    ranked *order = tab_arena_new_of(s->a, ranked, s->made + 1);
    bool any = false;
    encoded all;
    if (tab_arena_full(s->a) || !encode(s, &all))
        return false;
    leave_copies(s, &all);
    if (!screen(s, l, &all, beyond, &any))
        return false;
    if (!any)
        return true;
    if (!trial(s, &all, some, false, own, NULL) || !trial(s, &all, beyond, true, loss, NULL))
        return false;
    size_t n = 0, kept = 0;
    for (size_t k = 0; k < s->made; k++) {
        if (beyond[k] && s->told[k] > 0)
            order[n++] = (ranked){ s->told[k], (uint32_t)k };
    }
    qsort(order, n, sizeof *order, by_told);
    double most = 0;
    for (size_t many = 1, at = 0; at < n && many <= MOST_CHOSEN; many *= 2) {
        double gain = 0;
        while (at < n && at < many)
            some[order[at++].k] = true;
        if (!trial(s, &all, some, false, loss, NULL))
            return false;
        if (sure(own, loss, s->rows, &gain) > SURE && gain > NEARLY * most) {
            most = fmax(most, gain);
            kept = at;
        }
    }
    for (size_t i = 0; i < kept; i++)
        taken[order[i].k] = true;
    return true;
}

/* Of which row of another table each row's values on a way come. */
static bool read_units(sample *s, const tab_links *l, const tab_subjects *subjects)
{
    s->unit = tab_arena_new_of(s->a, uint64_t *, l->ways + 1);
    for (size_t w = 0; s->unit != NULL && w < l->ways; w++) {
        const tab_way *way = &l->way[w];
        const uint64_t *key = subjects->key[tab_way_start(l, way)];
        s->unit[w] = tab_arena_new_of(s->a, uint64_t, s->rows + 1);
        for (size_t i = 0; s->unit[w] != NULL && i < s->rows; i++) {
            uint32_t row = way->ups > 0 ? tab_way_row(way, key[i]) : TAB_NULL;
            s->unit[w][i] = way->ups == 0     ? key[i]
                            : row == TAB_NULL ? 0
                                              : way->hop[way->ups - 1].to->hash[row];
        }
    }
    return !tab_arena_full(s->a);
}

/* Fills s but for its losses. *ok: there is enough to choose by. */
static tab_status sample_new(const tab_engine *e, tab_arena *a, const tab_links *l, const tab_profile *p,
                             const uint32_t *row, size_t target, sample *s, bool *ok, tab_error *err)
{
    size_t own = p->table->cols, made = l->features, n = 0;
    tab_engine work = *e;
    tab_subjects subjects;
    tab_link_values v;
    *ok = false;
    work.arena = s->a = a;
    s->own = own;
    s->made = made;
    s->explains = tab_arena_new_of(a, bool, own + 1);
    s->told = tab_arena_new_of(a, double, made + 1);
    s->copy = tab_arena_new_of(a, bool, made + 1);
    s->computed = tab_arena_new_of(a, bool, made + 1);
    s->p.col = tab_arena_new_of(a, tab_column_profile, own + made);
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    const tab_link_feature **f = tab_arena_new_of(a, const tab_link_feature *, made);
    if (tab_arena_full(a))
        return tab_no_memory(err);
    for (size_t c = 0; c < own; c++)
        s->explains[c] = c != target && tab_explains(&p->col[c]);
    uint32_t *picked = pick(&work, a, p, s->explains, &p->col[target], s->classification, &n);
    s->rows = n;
    if (picked == NULL)
        return tab_no_memory(err);
    if (n < LEAST_ROWS)
        return TAB_OK;
    for (size_t c = 0; c < own; c++)
        if (!at_rows(a, &p->col[c], picked, n, &s->p.col[c]))
            return tab_no_memory(err);
    if (s->classification ? !read_classes(s, &s->p.col[target]) : !read_numbers(s, s->p.col[target].number))
        return tab_no_memory(err);
    if (!tab_link_made_of_target(l, p, row, target, s->computed))
        return tab_no_memory(err);
    for (size_t k = 0; k < made; k++)
        s->told[k] = s->computed[k] ? -1 : 0;
    *ok = !s->classification || (s->classes > 1 && s->classes <= MOST_CLASSES);
    for (size_t i = 0; row != NULL && i < n; i++)
        picked[i] = row[picked[i]];
    for (size_t k = 0; k < made; k++)
        f[k] = &l->feature[k];
    if (!tab_subjects_pinned(a, l, picked, n, &subjects) || !read_units(s, l, &subjects))
        return tab_no_memory(err);
    TAB_TRY(tab_link_fill(&work, l, f, made, &subjects, &v, err));
    if (!tab_link_profiles(a, l, f, made, &v, n, own, s->p.col + own))
        return tab_no_memory(err);
    *t = (tab_table){ .id = p->table->id, .rows = n, .cols = own + made };
    s->p.table = t;
    return TAB_OK;
}

/* The first copy of each column that copies are made of. */
static void name_copies(const sample *s, const tab_links *l, tab_link_copies *ret)
{
    const tab_link_feature *last = NULL;
    *ret = (tab_link_copies){ 0 };
    for (size_t k = 0; k < s->made && ret->n < TAB_LINK_COPIES; k++) {
        const tab_link_feature *f = &l->feature[k];
        if (!(s->copy[k] || s->computed[k]) ||
            (last != NULL && last->table == f->table && last->column == f->column))
            continue;
        ret->computed[ret->n] = s->computed[k];
        ret->name[ret->n++] = tab_str_of(f->name);
        last = f;
    }
}

tab_status tab_links_choose(const tab_engine *e, const tab_links *l, const tab_profile *p,
                            const uint32_t *row, size_t target, tab_task task, tab_link_set **ret,
                            tab_link_copies *ret_copies, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)8 << 30);
    sample s = { .e = e, .classification = task == TAB_TASK_CLASSIFICATION };
    bool ok = false;
    *ret = NULL;
    if (ret_copies != NULL)
        ret_copies->n = 0;
    if (l->features == 0)
        return TAB_OK;
    if (a == NULL)
        return tab_no_memory(err);
    TAB_TRY(sample_new(e, a, l, p, row, target, &s, &ok, err));
    bool *taken = tab_arena_new_of(a, bool, s.made + 1);
    if (!ok)
        return TAB_OK;
    if (taken == NULL || !best_of(&s, l, taken))
        return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : tab_no_memory(err);
    if (ret_copies != NULL)
        name_copies(&s, l, ret_copies);
    tab_link_set *set = tab_arena_new_of(e->arena, tab_link_set, 1);
    if (set == NULL || (set->feature = tab_arena_new_of(e->arena, const tab_link_feature *, s.made)) == NULL)
        return tab_no_memory(err);
    for (size_t k = 0; k < s.made; k++)
        if (taken[k])
            set->feature[set->n++] = &l->feature[k];
    *ret = set->n > 0 ? set : NULL;
    return TAB_OK;
}
