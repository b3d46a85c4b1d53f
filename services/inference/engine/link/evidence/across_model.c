/* See across_model.h. The model is a file of numbers that the linker takes in as it is (tools/train/pairs
 * writes it), read as a tab_across_model. */
#include "services/inference/engine/link/evidence/across_model.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/link/evidence/chance.h"
#include "services/inference/engine/link/evidence/contradictions.h"
#include "services/inference/engine/link/evidence/twin_model.h"

enum { CHUNKS = 64 };

/* The model's bytes, by their first and last address. */
__asm__(".section .rodata\n.balign 16\n.global tab_blob_across\n.hidden tab_blob_across\ntab_blob_across:\n"
        ".incbin \"services/inference/engine/link/across.model\"\n.global tab_blob_across_end\n"
        ".hidden tab_blob_across_end\ntab_blob_across_end:\n.previous\n");
extern const char tab_blob_across[] __attribute__((visibility("hidden")));
extern const char tab_blob_across_end[] __attribute__((visibility("hidden")));

/* The blob is part of the program: one that does not fit is our own mistake, and a build error in effect. */
const tab_across_model *tab_across_model_shipped(void)
{
    const void *blob = tab_blob_across;
    if ((size_t)(tab_blob_across_end - tab_blob_across) != sizeof(tab_across_model) ||
        memcmp(blob, TAB_ACROSS_MARK, sizeof TAB_ACROSS_MARK) != 0)
        abort();
    return blob;
}

typedef struct {
    const tab_engine *e;
    const tab_across_model *m;
    tab_across *x;
} answering;

/* Most pairs are plainly two entities: they are known after the first trees. */
static void answer_chunk(void *ctx, size_t chunk)
{
    enum { GLANCE = 40 };
    static const double NONE = -6;
    answering *w = ctx;
    tab_twin_pairs *s = &w->x->s;
    const tab_across_model *m = w->m;
    float f[TAB_ACROSS_FEATURES];
    for (size_t i = s->n * chunk / CHUNKS; i < s->n * (chunk + 1) / CHUNKS; i++) {
        if ((i & 255) == 0 && tab_engine_cancelled(w->e))
            return;
        tab_across_features(w->x, i, f);
        double z = tab_trees_add((double)m->start, m->tree, GLANCE, f);
        if (z > NONE)
            z = tab_trees_add(z, m->tree + GLANCE, TAB_ACROSS_TREES - GLANCE, f);
        s->p[i] = (float)(1 / (1 + exp(-z)));
    }
}

/* The probabilities of all pairs, into x->s.p. */
static tab_status model_run(const tab_engine *e, const tab_across_model *m, tab_across *x, tab_error *err)
{
    answering w = { e, m, x };
    tab_engine_for(e, CHUNKS, answer_chunk, &w);
    return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : TAB_OK;
}

/* The mean over two tables of the share of rows that have a twin. False: out of memory. */
static bool twin_share(const tab_twin_pairs *const two[2], double *ret)
{
    *ret = 0;
    for (int side = 0; side < 2; side++) {
        size_t n = 0;
        bool *has = calloc(two[side]->rows + 1, 1);
        for (size_t i = 0; has != NULL && i < two[side]->n; i++)
            if (two[side]->p[i] >= 0.5f)
                has[two[side]->a[i]] = has[two[side]->b[i]] = true;
        for (size_t r = 0; has != NULL && r < two[side]->rows; r++)
            n += has[r];
        free(has);
        if (has == NULL)
            return false;
        *ret += 0.5 * (double)n / fmax((double)two[side]->rows, 1);
    }
    return true;
}

/* What partners rows have in two tables; pairs of p >= 0.5. */
typedef struct {
    double share;        /* of the rows of both that have one */
    bool many_a, many_b; /* a tenth of those have several: rows of b, rows of a */
} partnership;

static bool count_partners(const tab_candidates *c, size_t na, size_t nb, partnership *ret)
{
    size_t some[2] = { 0 }, several[2] = { 0 };
    uint8_t *partners = calloc(na + nb + 1, 1);
    for (size_t i = 0; partners != NULL && i < c->n; i++) {
        size_t row[2] = { c->a[i], na + c->b[i] };
        for (int k = 0; k < 2 && c->p[i] >= 0.5f; k++)
            if (partners[row[k]] < 2) {
                some[k] += partners[row[k]] == 0;
                several[k] += partners[row[k]]++ == 1;
            }
    }
    ret->many_b = several[0] * 10 > some[0];
    ret->many_a = several[1] * 10 > some[1];
    ret->share = (double)(some[0] + some[1]) / fmax((double)(na + nb), 1);
    free(partners);
    return partners != NULL;
}

static const double MANY = 0.25; /* share of rows with twins from which tables are full of them */

/* Before the pairs are judged: whether the model can be asked at all. */
static bool may_stand(const tab_across_view *g)
{
    static const double TWINS = 0.15, WHOLE = 0.6;
    return g->twins >= TWINS && g->whole < WHOLE;
}

bool tab_across_stands(const tab_across_view *g)
{
    static const double SOME = 0.15, EXCESS = 0.155, MOST = 0.5, LEAST = 0.05, LEAST_MANY = 0.13;
    static const double RULES = 0.9, RULES_MANY = 0.35, RULES_MORE = 0.2;
    /* One partner a row explains the tables, and the rules find it. */
    if (!may_stand(g) || g->excess < (g->twins >= MANY ? LEAST_MANY : LEAST) ||
        g->rules >= RULES * g->model + (g->twins > RULES_MANY ? RULES_MORE : 0))
        return false;
    return g->twins >= MANY ? g->model < SOME || g->excess >= EXCESS : g->model >= MOST;
}

/* Where too little speaks for the model's answers as a whole, a pair is one entity as far as the model and
 * the twins' model agree, beyond what chance makes (chance.h). */
static tab_status judge_by_chance(const tab_engine *e, const tab_twin_pairs *const twins[2],
                                  tab_twin_pairs *s, tab_arena *a, tab_error *err)
{
    float *p = tab_arena_new_of(a, float, s->n);
    if (p == NULL)
        return tab_no_memory(err);
    memcpy(p, s->p, s->n * sizeof *p);
    TAB_TRY(tab_twin_model_run(e, tab_twin_model_shipped(), s, err));
    if (!tab_across_chance(s, twins))
        return tab_no_memory(err);
    for (size_t i = 0; i < s->n; i++)
        s->p[i] = fminf(s->p[i], p[i]);
    return TAB_OK;
}

/* The model's pairs and probabilities take the place of the rules', where tables hold duplicates: the rules'
 * assignments, which find what chance looks like by giving each row one partner, do not hold there. */
static tab_status judge(const tab_engine *e, const tab_views *v, const tab_link_table *tables,
                        const tab_twin_pairs *twins, const tab_across_model *m, tab_arena *a, tab_linkage *l,
                        tab_error *err)
{
    const tab_twin_pairs *const two[2] = { &twins[l->ta], &twins[l->tb] };
    size_t na = v->table[l->ta].rows, nb = v->table[l->tb].rows;
    tab_across_view g = { .excess = 1, .whole = l->share };
    partnership rules, model;
    tab_across x;
    if (na + nb > TAB_ACROSS_ROWS_MOST || l->keyed)
        return TAB_OK;
    if (!twin_share(two, &g.twins) || !count_partners(&l->c, na, nb, &rules))
        return tab_no_memory(err);
    if (!may_stand(&g))
        return TAB_OK;
    TAB_TRY(tab_across_new(e, v, tables, l, two, a, &x, err));
    if (x.s.n == 0)
        return TAB_OK;
    double part = (double)na / (double)(na + nb);
    g.excess = (double)x.nearer - 2 * part * (1 - part) * (1 - g.twins);
    if (!may_stand(&g))
        return TAB_OK;
    TAB_TRY(model_run(e, m, &x, err));
    tab_candidates c = { .n = x.s.n,
                         .attrs = x.s.l.attrs,
                         .a = x.s.a,
                         .b = x.s.b,
                         .agree = x.s.agree,
                         .cosine = x.s.cosine,
                         .evidence = x.s.evidence,
                         .p = x.s.p,
                         .elsewhere = tab_arena_new_of(a, float, x.s.n), /* within the evidence */
                         .kept = tab_arena_new_of(a, bool, x.s.n) };
    if (c.kept == NULL || c.elsewhere == NULL || !count_partners(&c, na, nb, &model))
        return tab_no_memory(err);
    g.rules = rules.share;
    g.model = model.share;
    if (!tab_across_stands(&g)) {
        TAB_TRY(judge_by_chance(e, two, &x.s, a, err));
        if (!count_partners(&c, na, nb, &model))
            return tab_no_memory(err);
        if (model.share <= rules.share)
            return TAB_OK;
    }
    memset(c.kept, true, c.n);
    l->c = c;
    l->many_a = model.many_a;
    l->many_b = model.many_b;
    l->learned = true;
    return TAB_OK;
}

/* LIKELY: of a pair that counts. Of rows with a partner in common, LEAST_COMMON or more, the twins' model
 * takes 0.67 to 0.84 for one entity in tables of entities, 0.005 in orders of the same customers: ONE lies
 * between. AGREE: share of the pairs that hold the name of what their rows are of. */
static const float LIKELY = 0.5f;
enum { SHORT = 20, HANDFUL = 40 };
static const double LEAST_COMMON = 10, ONE = 0.25, AGREE = 0.8;

/* What the twins' model says of rows x < y; unseen where it did not look at them. */
static float twin_p(const tab_twin_pairs *s, uint32_t x, uint32_t y, float unseen)
{
    size_t lo = 0, hi = s->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->a[mid] < x || (s->a[mid] == x && s->b[mid] < y))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < s->n && s->a[lo] == x && s->b[lo] == y ? s->p[lo] : unseen;
}

/* Rows of one table that have a partner in common in the other, and how many of them its twins' model takes
 * for one entity as well. last (rows of the other): the row before that had this partner. */
static void count_common(const tab_candidates *c, const uint32_t *mine, const uint32_t *theirs,
                         const tab_twin_pairs *s, uint32_t *last, size_t others, double *common, double *one)
{
    for (size_t i = 0; i < others; i++)
        last[i] = TAB_NULL;
    for (size_t i = 0; i < c->n; i++) {
        if (!c->kept[i] || c->p[i] < LIKELY)
            continue;
        uint32_t x = mine[i], y = last[theirs[i]];
        if (y != TAB_NULL && x != y) {
            ++*common;
            *one += (double)(x < y ? twin_p(s, x, y, 0) : twin_p(s, y, x, 0));
        }
        last[theirs[i]] = x;
    }
}

/* Whether two rows are not alike in an attribute. */
static bool contradicted(const tab_linkage *l, size_t i)
{
    enum { CONTRADICT = 6 }; /* level of values that are not alike */
    bool is = false;
    for (size_t k = 0; k < l->attrs; k++)
        is = is || l->c.agree[i * l->attrs + k].level >= CONTRADICT;
    return is;
}

/* A handful of pairs does not calibrate itself: of a short table, or where few are said, no pair is likelier
 * than the twins' model, which knows other tables, thinks it (decisions 0553, 0709). In long tables a number
 * that both rows have is enough where nothing speaks against it. */
static tab_status judge_few(const tab_engine *e, const tab_views *v, const tab_link_table *tables,
                            const tab_twin_pairs *twins, tab_arena *a, tab_linkage *l, tab_error *err)
{
    const tab_twin_pairs *const two[2] = { &twins[l->ta], &twins[l->tb] };
    size_t na = v->table[l->ta].rows, nb = v->table[l->tb].rows, said = 0, least = na < nb ? na : nb;
    tab_across x;
    for (size_t i = 0; i < l->c.n; i++)
        said += l->c.kept[i] && l->c.p[i] >= LIKELY;
    if ((least >= SHORT && said >= HANDFUL) || na + nb > TAB_ACROSS_ROWS_MOST || said == 0 || l->learned ||
        l->keyed)
        return TAB_OK;
    TAB_TRY(tab_across_new(e, v, tables, l, two, a, &x, err));
    TAB_TRY(tab_twin_model_run(e, tab_twin_model_shipped(), &x.s, err));
    for (size_t i = 0; i < l->c.n; i++)
        if (l->c.kept[i] && (least < SHORT || contradicted(l, i)))
            l->c.p[i] = fminf(l->c.p[i], twin_p(&x.s, l->c.a[i], l->c.b[i], 1));
    return TAB_OK;
}

/* Fills the columns that name what both tables' rows are of: most of the pairs agree in them, and no others
 * of these have as many values. */
static void name_things(const tab_views *v, tab_linkage *l)
{
    uint32_t most = 0;
    for (size_t k = 0; k < l->attrs; k++) {
        const tab_view *x = &v->table[l->ta].col[l->attr[k].a], *y = &v->table[l->tb].col[l->attr[k].b];
        size_t same = 0, all = 0;
        for (size_t i = 0; i < l->c.n; i++) {
            if (!l->c.kept[i] || l->c.p[i] < LIKELY)
                continue;
            uint32_t p = x->code[l->c.a[i]], q = y->code[l->c.b[i]];
            all++;
            same += p != TAB_NULL && q != TAB_NULL && x->value[p].key == y->value[q].key;
        }
        uint32_t values = x->values < y->values ? x->values : y->values;
        if ((double)same >= AGREE * (double)all && values > most) {
            most = values;
            l->thing_a = x->chief;
            l->thing_b = y->chief;
        }
    }
}

/* Two rows that are one entity with a third are one. Where the rules give rows partners in common and the
 * twins' model keeps these apart, the tables share what their rows are of, and no row (decision 0552). */
static tab_status hear_twins(const tab_views *v, const tab_twin_pairs *twins, tab_arena *a, tab_linkage *l,
                             tab_error *err)
{
    size_t na = v->table[l->ta].rows, nb = v->table[l->tb].rows;
    double common = 0, one = 0;
    l->thing_a = l->thing_b = TAB_NULL;
    if (l->learned || !(l->many_a || l->many_b))
        return TAB_OK;
    uint32_t *last = tab_arena_new_of(a, uint32_t, (na > nb ? na : nb) + 1);
    if (last == NULL)
        return tab_no_memory(err);
    count_common(&l->c, l->c.a, l->c.b, &twins[l->ta], last, nb, &common, &one);
    count_common(&l->c, l->c.b, l->c.a, &twins[l->tb], last, na, &common, &one);
    if (common < LEAST_COMMON || one >= ONE * common)
        return TAB_OK;
    name_things(v, l);
    for (size_t i = 0; i < l->c.n; i++) {
        l->c.kept[i] = false;
        l->c.p[i] = 0;
    }
    return TAB_OK;
}

tab_status tab_link_tables(const tab_engine *e, tab_views *v, tab_link_table *tables,
                           const tab_key_plan *plan, const tab_across_model *m, double threshold,
                           const tab_voice *const *voice, const bool *const *keys, tab_arena *a,
                           tab_linkage **ret, size_t *ret_n, tab_twins *twins, tab_error *err)
{
    tab_twin_pairs *s = tab_arena_new_of(a, tab_twin_pairs, v->n);
    if (s == NULL)
        return tab_no_memory(err);
    for (size_t t = 0; t < v->n; t++) {
        TAB_TRY(tab_twins_judge(e, v, tables, t, voice == NULL ? NULL : voice[t], a, &s[t], err));
        tab_twins_hear_keys(&s[t], keys == NULL ? NULL : keys[t]);
    }
    TAB_TRY(tab_link_pairs(e, v, tables, plan, a, ret, ret_n, err));
    for (size_t i = 0; m != NULL && i < *ret_n; i++)
        TAB_TRY(judge(e, v, tables, s, m, a, &(*ret)[i], err));
    for (size_t i = 0; i < *ret_n; i++)
        TAB_TRY(judge_few(e, v, tables, s, a, &(*ret)[i], err));
    for (size_t i = 0; i < *ret_n; i++) {
        tab_linkage *l = &(*ret)[i];
        if (!l->keyed && !tab_relatives_doubt(v, l->ta, l->tb, l->c.n, l->c.a, l->c.b, l->c.kept, l->c.p))
            return tab_no_memory(err);
        if (!l->keyed && !l->learned && !tab_counted_doubt(v, l))
            return tab_no_memory(err);
    }
    for (size_t i = 0; i < *ret_n; i++)
        TAB_TRY(hear_twins(v, s, a, &(*ret)[i], err));
    for (size_t t = 0; t < v->n; t++) {
        twins[t] = (tab_twins){ .pairs = &s[t] };
        if (s[t].n > 0)
            TAB_TRY(tab_twin_groups(&s[t], (float)threshold, a, &twins[t].twin, &twins[t].n, err));
    }
    return TAB_OK;
}
