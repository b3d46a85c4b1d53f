/* The in-context transformer as a learner (decision 0080): to fit is to read the context once, to
 * predict is one forward pass. Its members see the columns under other codes and the classes in other slots,
 * and their probabilities are averaged. Codes and slots are drawn from the columns' contents and the seed, so
 * that the order of columns and rows cannot change an answer.
 *
 *   a numeric target       the members' means of its distribution are averaged
 *   a target's scale       half the distance between the quartiles of that distribution (problem->of)
 *   more than 10 classes   each member maps the classes to 10 symbols, evenly, so that any two classes stand
 *                          apart in at least two members; a class scores the sum of log p(its symbol)
 *   more than 100 columns  each member reads the 50 with most gain in the boosted trees and 50 at random
 *   more than 64 levels    the 63 most frequent and "other"
 *   more than 512 rows     each member reads a sample of its own, rare classes kept (pfn/sample.h); what
 *                          that does to the classes' shares is taken back from its log-probabilities
 *
 * Its own answers about context rows would be answers it has read: the stack asks about held rows only. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/learner.h"
#include "services/inference/engine/learn/pfn/net.h"
#include "services/inference/engine/learn/pfn/sample.h"
#include "services/inference/engine/learn/stack/opinion_pool.h"

/* MEMBERS and CONTEXT: decision 0160. LEVELS: as the prior that it is trained on makes them. COLUMNS and
 * MOST_CLASSES bound the cost of wide tables and of codes, FEWEST (context rows) keeps the network from
 * tables too small to tell it anything; no range of these three was tried. */
enum {
    MEMBERS = 8,
    COLUMNS = 100,
    LEVELS = 64,
    FEWEST = 20,
    MOST_CLASSES = 100,
    CONTEXT = 512, /* what the weights have been trained on; decision 0160 */
    CODED = 4      /* fewest members where classes are told apart by codes */
};
static const double FLOOR = 1e-5; /* of a class that the context does not hold */

/* What it is cut down to where the budget is short: fewer members first, then smaller contexts;
 * decision 0200. */
static const struct {
    size_t members, context;
} forms[] = { { MEMBERS, CONTEXT }, { 4, CONTEXT },     { 2, CONTEXT },
              { 1, CONTEXT },       { 1, CONTEXT / 2 }, { 1, CONTEXT / 4 } };

/* Members of a form; not below CODED where classes are told apart by codes (decision 0200). */
static size_t members_of(size_t form, const tab_problem *p)
{
    size_t n = forms[form].members;
    return p->classification && p->outputs > TAB_PFN_SLOTS && n < CODED ? CODED : n;
}

/* One member of the ensemble: its context as the network read it, and how it reads columns and classes. */
typedef struct {
    tab_pfn_context *context;
    size_t columns;
    uint32_t *feature; /* (columns) */
    uint8_t **level;   /* (columns) code -> shuffled code (LEVELS); NULL for numbers */
    uint8_t *cat;      /* (columns) */
    uint8_t *slot;     /* (classes); NULL where the target is numeric */
    bool holds[TAB_PFN_SLOTS];
    float shift[TAB_PFN_SLOTS]; /* log(share of a slot's rows / its share of the sample) */
} member;

/* The fitted form. */
typedef struct {
    size_t classes, members;
    bool scale; /* it answers sqrt of the target's scale */
    member member[MEMBERS];
} model;

/* For the budget: reading the contexts, and each row about once. 0: not apt for this problem. */
static double work_as(const tab_problem *p, size_t n, size_t form)
{
    const tab_pfn *w = tab_pfn_default(NULL);
    if (w == NULL || n < FEWEST || p->enc->n > 500)
        return 0;
    if (p->classification ? p->outputs < 2 || p->outputs > MOST_CLASSES : !w->numeric)
        return 0;
    /* columns and rows that a member reads, and rows that will ask it */
    size_t m = p->enc->n < COLUMNS ? p->enc->n : COLUMNS;
    n = n < forms[form].context ? n : forms[form].context;
    double held = (double)p->data->rows / 4; /* each row once out of fold, and some more */
    return (double)members_of(form, p) * (tab_pfn_encode_work(w, n, m) + held * tab_pfn_query_work(w, n, m));
}

/* The full form. */
static double work(const tab_problem *p, size_t n)
{
    return work_as(p, n, 0);
}

/* The next form that is cheaper, and its work. */
static const char *cheaper(const tab_problem *p, size_t n, size_t form, tab_arena *a, double *work)
{
    if (form >= sizeof forms / sizeof *forms)
        return NULL;
    *work = work_as(p, n, form);
    return tab_arena_printf(a, "%zu of %d members, %zu rows each", members_of(form, p), MEMBERS,
                            n < forms[form].context ? n : forms[form].context);
}

/* A permutation of 0..n-1 by sorting hashes: the same for any order of drawing. */
typedef struct {
    uint64_t key;
    uint32_t i;
} keyed;

/* For qsort. */
static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : (x->i > y->i) - (x->i < y->i);
}

/* A random permutation of 0..n-1. */
static void permute(keyed *k, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        k[i] = (keyed){ tab_mix2(seed, i), (uint32_t)i };
    qsort(k, n, sizeof *k, by_key);
}

/* slot (members, classes): random codes over the 10 symbols; of some draws the one whose closest pair of
 * classes stands apart in most members. */
static void draw_slots(uint8_t *slot, size_t members, size_t classes, uint64_t seed)
{
    keyed order[MOST_CLASSES];
    size_t best = 0;
    uint8_t trial[MEMBERS * MOST_CLASSES];
    for (uint64_t round = 0; round < 64 && (round == 0 || best < 2); round++) {
        /* more classes than slots: each slot stands for as many classes as any other; else each class has one
         * of its own */
        for (size_t r = 0; r < members; r++) {
            permute(order, classes > TAB_PFN_SLOTS ? classes : TAB_PFN_SLOTS, tab_mix2(seed + round, r));
            for (size_t c = 0; c < classes; c++)
                if (classes > TAB_PFN_SLOTS)
                    trial[r * classes + order[c].i] = (uint8_t)(c % TAB_PFN_SLOTS);
                else
                    trial[r * classes + c] = (uint8_t)order[c].i;
        }
        /* in how many members the closest pair of classes stands apart */
        size_t closest = members;
        for (size_t a = 0; a < classes; a++)
            for (size_t b = 0; b < a; b++) {
                size_t apart = 0;
                for (size_t r = 0; r < members; r++)
                    apart += trial[r * classes + a] != trial[r * classes + b];
                closest = apart < closest ? apart : closest;
            }
        if (round == 0 || closest > best) {
            best = closest;
            memcpy(slot, trial, members * classes);
        }
    }
}

/* Whether a feature has two values in the context. */
static bool varies(const tab_problem *p, const tab_fit_task *t, uint32_t f)
{
    const float *x = p->data->x[f];
    const uint32_t *code = p->data->code[f];
    /* the first present value, and whether another one differs */
    bool seen = false;
    float first = 0;
    uint32_t first_code = 0;
    for (size_t i = 0; i < t->n; i++) {
        uint32_t row = t->context[i];
        if (x != NULL ? isnan(x[row]) : code[row] == TAB_NULL)
            continue;
        if (seen && (x != NULL ? x[row] != first : code[row] != first_code))
            return true;
        first = x != NULL ? x[row] : 0;
        first_code = x != NULL ? 0 : code[row];
        seen = true;
    }
    return false;
}

/* The features that vary in the context; of more than COLUMNS, half by gain and half by chance. */
static size_t choose(const tab_problem *p, const tab_fit_task *t, uint64_t seed, uint32_t *out)
{
    size_t n = 0;
    for (uint32_t f = 0; f < p->enc->n; f++)
        if (varies(p, t, f))
            out[n++] = f;
    if (n <= COLUMNS)
        return n;
    keyed *k = malloc(n * sizeof *k);
    if (k == NULL)
        return 0;
    for (size_t i = 0; i < n; i++) { /* falling gain; ties, and no gains at all, by chance */
        float gain = t->importance != NULL ? t->importance[out[i]] : 0;
        uint64_t rank = (uint64_t)((1.0 - fmin(1.0, fmax(0.0, (double)gain))) * 0x1p30);
        k[i] = (keyed){ rank << 32 | tab_mix2(seed, p->enc->f[out[i]].hash) >> 32, out[i] };
    }
    /* the better half stays; the rest is put in a random order, of which the first ones follow */
    qsort(k, n, sizeof *k, by_key);
    for (size_t i = COLUMNS / 2; i < n; i++)
        k[i].key = tab_mix2(seed + 1, p->enc->f[k[i].i].hash);
    qsort(k + COLUMNS / 2, n - COLUMNS / 2, sizeof *k, by_key);
    for (size_t i = 0; i < COLUMNS; i++)
        out[i] = k[i].i;
    free(k);
    return COLUMNS;
}

/* x (columns, n): what a member reads of rows row[0..n). */
static void read_rows(const member *m, const tab_data *d, const uint32_t *row, size_t n, float *x)
{
    for (size_t j = 0; j < m->columns; j++, x += n) {
        const float *v = d->x[m->feature[j]];
        const uint32_t *code = d->code[m->feature[j]];
        for (size_t i = 0; i < n; i++) {
            if (v != NULL)
                x[i] = v[row[i]];
            else if (code[row[i]] == TAB_NULL)
                x[i] = NAN;
            else
                x[i] = m->level[j][code[row[i]] < LEVELS ? code[row[i]] : LEVELS - 1];
        }
    }
}

/* The slots' shares of all rows against those of the sample: a mixture of classes drawn otherwise than it
 * is moves the log-odds by just that (Saerens, Latinne & Decaestecker, Neural Computation 2002). */
static void find_shift(const tab_problem *p, const tab_fit_task *t, const tab_fit_task *own,
                       const uint8_t *slot, float *shift)
{
    double all[TAB_PFN_SLOTS] = { 0 }, some[TAB_PFN_SLOTS] = { 0 };
    for (size_t i = 0; i < t->n; i++)
        all[slot[p->label[t->context[i]]]]++;
    for (size_t i = 0; i < own->n; i++)
        some[slot[p->label[own->context[i]]]]++;
    for (size_t c = 0; c < TAB_PFN_SLOTS; c++)
        shift[c] = some[c] > 0 ? (float)log(all[c] / (double)t->n / (some[c] / (double)own->n)) : 0;
}

/* code (columns, TAB_PFN_CODE): what tells the member's columns apart, by the columns' contents. The levels
 * of categories get shuffled codes, so that their order says nothing over the members. False: the arena is
 * full. */
static bool code_columns(const tab_problem *p, tab_arena *a, uint64_t seed, member *m, float *code)
{
    for (size_t j = 0; j < m->columns; j++) {
        const tab_feature *f = &p->enc->f[m->feature[j]];
        for (size_t k = 0; k < TAB_PFN_CODE; k++) /* uniform, variance 1 */
            code[j * TAB_PFN_CODE + k] =
                (float)((2 * tab_unit(tab_mix2(seed + 17 + k, f->hash)) - 1) * 1.7320508075688772);
        if (f->kind != TAB_FEATURE_CODE)
            continue;
        keyed order[LEVELS];
        m->cat[j] = 1;
        m->level[j] = tab_arena_new_of(a, uint8_t, LEVELS);
        if (m->level[j] == NULL)
            return false;
        /* only codes that exist change places, so that a level which comes later stays apart from all */
        size_t used = f->levels < LEVELS ? f->levels : LEVELS;
        permute(order, used, tab_mix2(seed + 99, f->hash));
        for (size_t k = 0; k < LEVELS; k++)
            m->level[j][k] = k < used ? (uint8_t)order[k].i : (uint8_t)k;
    }
    return true;
}

/* Reads the context into one member. t->context is the member's own. */
static bool read_context(const tab_problem *p, const tab_fit_task *t, const uint8_t *slot, uint64_t seed,
                         member *m)
{
    const tab_pfn *w = tab_pfn_default(NULL);
    size_t n = t->n, classes = p->outputs;
    /* which columns it reads, and the slots of its classes */
    m->feature = tab_arena_new_of(t->arena, uint32_t, p->enc->n + 1);
    m->slot = slot != NULL ? tab_arena_new_of(t->arena, uint8_t, classes) : NULL;
    if (m->feature == NULL || tab_arena_full(t->arena))
        return false;
    if (slot != NULL)
        memcpy(m->slot, slot, classes);
    m->columns = choose(p, t, seed, m->feature);
    m->level = tab_arena_new_of(t->arena, uint8_t *, m->columns + 1);
    m->cat = tab_arena_new_of(t->arena, uint8_t, m->columns + 1);
    if (m->columns == 0 || tab_arena_full(t->arena))
        return false;
    /* what the network is given: cells, columns' codes, targets */
    float *x = malloc(m->columns * n * sizeof *x), *code = malloc(m->columns * TAB_PFN_CODE * sizeof *code);
    uint8_t *y = malloc(n);
    float *target = malloc(n * sizeof *target);
    bool ok = x != NULL && code != NULL && y != NULL && target != NULL;
    ok = ok && code_columns(p, t->arena, seed, m, code);
    if (ok) {
        read_rows(m, p->data, t->context, n, x);
        for (size_t i = 0; i < n; i++) {
            if (slot == NULL) {
                target[i] = (p->of != NULL ? p->of : p->y)[t->context[i]];
                continue;
            }
            y[i] = slot[p->label[t->context[i]]];
            m->holds[y[i]] = true;
        }
        tab_pfn_table known = { n, m->columns, x, m->cat };
        m->context = slot != NULL ? tab_pfn_encode(w, t->arena, &known, y, code, t->cancel)
                                  : tab_pfn_encode_numeric(w, t->arena, &known, target, code, t->cancel);
    }
    free(target);
    free(x);
    free(code);
    free(y);
    return ok && m->context != NULL;
}

/* One member: its sample of the rows, its codes and its context. */
static bool fit_member(const tab_problem *p, const tab_fit_task *t, const uint8_t *slot, uint64_t seed,
                       member *m)
{
    /* small contexts are read whole */
    tab_fit_task own = *t;
    size_t most = forms[t->config].context;
    if (t->n <= most)
        return read_context(p, t, slot, seed, m);
    uint32_t *row = malloc(t->n * sizeof *row);
    if (row == NULL)
        return false;
    memcpy(row, t->context, t->n * sizeof *row);
    own.context = row;
    own.n = tab_pfn_sample(p->data, slot != NULL ? p->label : NULL, slot != NULL ? p->outputs : 1, most,
                           tab_mix2(seed, 33), row, t->n);
    bool ok = own.n > 0 && read_context(p, &own, slot, seed, m);
    if (ok && slot != NULL)
        find_shift(p, t, &own, slot, m->shift);
    free(row);
    return ok;
}

/* NULL: no weights, too few rows, cancelled or out of memory. */
static void *fit(const tab_problem *p, const tab_fit_task *t, double *curve)
{
    (void)curve;
    if (tab_pfn_default(NULL) == NULL || t->n < 2)
        return NULL;
    model *m = tab_arena_new_of(t->arena, model, 1);
    if (m == NULL)
        return NULL;
    m->classes = p->outputs;
    m->members = members_of(t->config, p);
    m->scale = p->of != NULL;
    uint8_t slot[MEMBERS * MOST_CLASSES];
    if (p->classification)
        draw_slots(slot, m->members, m->classes, p->seed + 80);
    for (size_t r = 0; r < m->members; r++)
        if (!fit_member(p, t, p->classification ? slot + r * m->classes : NULL, tab_mix2(p->seed + 81, r),
                        &m->member[r]))
            return NULL;
    return m;
}

/* Adds a member's answers logp (n, slots) to o (n, classes): its part of `members` of the probabilities,
 * or for more classes than slots log p. logp is scratch afterwards. */
static void add_classes(const member *b, size_t members, size_t classes, size_t n, float *logp, float *o)
{
    /* only members that read a sample have a shift */
    bool shifted = false;
    for (size_t c = 0; c < TAB_PFN_SLOTS; c++)
        shifted |= b->shift[c] != 0;
    for (size_t i = 0; i < n; i++, logp += TAB_PFN_SLOTS) {
        for (size_t c = 0; shifted && c < TAB_PFN_SLOTS; c++)
            logp[c] += b->shift[c]; /* slots that are not held stand at -INFINITY */
        if (shifted)
            tab_log_softmax(logp, TAB_PFN_SLOTS, 1);
        for (size_t c = 0; c < classes; c++, o++) {
            double own = b->holds[b->slot[c]] ? exp((double)logp[b->slot[c]]) + FLOOR : FLOOR;
            *o += classes > TAB_PFN_SLOTS ? (float)log(own) : (float)(own / (double)members);
        }
    }
}

/* Of a normal target, sqrt of half the distance between the quartiles is what sqrt |residual| is in the
 * mean: .82 sqrt sigma both. */
static float root_of_scale(const float *quantile)
{
    return sqrtf(fmaxf(0, quantile[14] - quantile[4]) / 2); /* of .05, .1 ... */
}

/* In blocks of rows; a query's answer does not depend on the others in its block. */
static void predict(const void *fitted, const tab_encoder *enc, const tab_data *q, const uint32_t *row,
                    size_t n, float *out)
{
    enum { BLOCK = 1024 };
    (void)enc;
    const model *m = fitted;
    size_t k = m->classes, most = 1;
    bool classes = m->member[0].slot != NULL;
    for (size_t r = 0; r < m->members; r++)
        most = m->member[r].columns > most ? m->member[r].columns : most;
    float *x = malloc(most * BLOCK * sizeof *x), *own = malloc(BLOCK * TAB_PFN_SLOTS * sizeof *own),
          *quantile = m->scale ? malloc(BLOCK * TAB_PFN_LEVELS * sizeof *quantile) : NULL;
    memset(out, 0, n * k * sizeof *out); /* without memory: every class alike, or the mean */
    for (size_t at = 0; x != NULL && own != NULL && (quantile != NULL || !m->scale) && at < n; at += BLOCK) {
        /* a block of queries is put to every member */
        size_t use = n - at < BLOCK ? n - at : BLOCK;
        float *o = out + at * k;
        for (size_t r = 0; r < m->members; r++) {
            const member *b = &m->member[r];
            read_rows(b, q, row + at, use, x);
            tab_pfn_table asked = { use, b->columns, x, b->cat };
            if (classes && tab_pfn_query(b->context, &asked, own))
                add_classes(b, m->members, k, use, own, o);
            else if (!classes && tab_pfn_query_numeric(b->context, &asked, own, quantile))
                for (size_t i = 0; i < use; i++)
                    o[i] += (quantile != NULL ? root_of_scale(quantile + i * TAB_PFN_LEVELS) : own[i]) /
                            (float)m->members;
        }
        for (size_t i = 0; i < use * k && classes && k <= TAB_PFN_SLOTS; i++)
            o[i] = o[i] > 0 ? logf(o[i]) : 0;
    }
    free(x);
    free(own);
    free(quantile);
}

/* A category's shuffled codes; NULL for numbers. */
static void pack_level(tab_pack *p, void *each, const void *context)
{
    (void)context;
    uint8_t **level = each;
    TAB_PACK(p, *level, LEVELS);
}

static void pack_member(tab_pack *p, member *m, const model *of)
{
    tab_pack_context(p, &m->context);
    TAB_PACK(p, m->feature, m->columns);
    TAB_PACK_EACH(p, m->level, m->columns, pack_level, NULL);
    TAB_PACK(p, m->cat, m->columns);
    TAB_PACK(p, m->slot, of->classes);
}

static void pack(tab_pack *p, void *each, const void *context)
{
    (void)context;
    model *m = each;
    size_t members = tab_pack_count(p, m->members, MEMBERS);
    for (size_t r = 0; r < members; r++)
        pack_member(p, &m->member[r], m);
}

static void pfn_pack(tab_pack *p, void **fitted)
{
    tab_pack_each(p, fitted, 1, sizeof(model), pack, NULL);
}

const tab_learner tab_learn_pfn = { .name = "pfn",
                                    .weighs = true,
                                    .configs = 1,
                                    .whole = true,
                                    .work = work,
                                    .share = 0.4,
                                    .cheaper = cheaper,
                                    .fit = fit,
                                    .predict = predict,
                                    .pack = pfn_pack };
