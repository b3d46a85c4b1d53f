/* Pairs of rows of one table beside their definitions (twin_pairs.h), counted anew: which columns tell, what
 * tokens are, how columns depend on one another, which rows are paired, their evidence, and every feature. */
#include <math.h>
#include <stdio.h>

#include "services/inference/engine/link/evidence/twin_pairs.h"
#include "services/inference/engine/link/tests/tables.h"

enum { ROWS = 140, COLS = 8, FIRST = 120 };

/* A number of the row, a person, a house, a town, a birth date, an amount, a model; the last twenty rows are
 * earlier ones, one letter or value off. */
static void person(size_t r, size_t c, char out[CELL])
{
    size_t of = r < FIRST ? r : (r - FIRST) * 5 + 1;
    bool off = r >= FIRST && (c == 1 + r % 6 || r % 7 == 3);
    if (c == 0)
        snprintf(out, CELL, "%zu", 500 + r);
    else if (c == 1)
        snprintf(out, CELL, "%s%s %s", given[chance(of, 1, 18)], off ? "x" : "", family[chance(of, 2, 18)]);
    else if (c == 2)
        snprintf(out, CELL, "%u %s Lane", 1 + chance(of, 3, 90) + off, family[chance(of, 4, 18)]);
    else if (c == 3)
        snprintf(out, CELL, "%s", chance(of, 5, 9) == 0 ? "" : town[(chance(of, 6, 7) + off) % 7]);
    else if (c == 4)
        snprintf(out, CELL, "19%02u-%02u-%02u", 50 + chance(of, 7, 40), 1 + chance(of, 8, 12),
                 1 + chance(of, 9, 28));
    else if (c == 5)
        snprintf(out, CELL, "%u.%02u", chance(of, 10, 300) + off, chance(of, 11, 100));
    else if (c == 6)
        snprintf(out, CELL, "mx%u%s", 1000 + chance(of, 12, 30), off ? " plus" : "");
    else
        snprintf(out, CELL, "%s", r % 40 == 3 ? "yes" : "");
}

typedef struct {
    tab_arena *a;
    tab_engine e;
    tab_views *v;
    tab_link_table *tables;
    tab_twin_pairs s;
    const tab_table_view *t;
} fixture;

static void begin(fixture *f)
{
    *f = (fixture){ .a = tab_arena_new(SIZE_MAX / 2) };
    f->e.arena = f->a;
    tab_table *t = tab_arena_new_of(f->a, tab_table, 1);
    *t = table_of(f->a, "people", ROWS, COLS, person);
    tab_profile *p;
    cr_assert_eq(tab_profile_table(&f->e, t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_views_new(&f->e, &p, 1, &f->v, NULL), TAB_OK);
    cr_assert_eq(tab_link_tables_new(&f->e, f->v, f->a, &f->tables, NULL), TAB_OK);
    cr_assert_eq(tab_twin_pairs_new(&f->e, f->v, f->tables, 0, NULL, f->a, &f->s, NULL), TAB_OK);
    f->t = &f->v->table[0];
}

static void end(fixture *f)
{
    tab_link_tables_free(f->tables, 1);
    tab_views_free(f->v);
    tab_arena_free(f->a);
}

static void near(const char *what, size_t i, double is, double want)
{
    cr_expect_float_eq(is, want, 1e-4 * fmax(1, fabs(want)), "%s of %zu: %.7g, not %.7g", what, i, is, want);
}

static uint32_t code_of(const fixture *f, size_t attr, uint32_t row)
{
    return f->t->col[f->s.l.attr[attr].a].code[row];
}

Test(twin_pairs_twin, columns_tokens_and_what_depends_on_what_are_counted)
{
    fixture f;
    begin(&f);
    const tab_twin_pairs *s = &f.s;
    cr_assert_eq(s->l.attrs, 6, "neither the running number nor what has one value: %zu", s->l.attrs);
    for (size_t k = 0; k < s->l.attrs; k++) {
        const tab_view *w = &f.t->col[s->l.attr[k].a];
        double h = 0;
        cr_expect(s->l.attr[k].a > 0 && s->l.attr[k].a < 7);
        cr_expect(k == 0 || f.t->col[s->l.attr[k - 1].a].values >= w->values, "those of most values first");
        for (uint32_t i = 0; i < w->values; i++)
            h += w->value[i].rows / (double)w->present * log((double)w->present / w->value[i].rows);
        near("entropy", k, (double)s->entropy[k], h);
        cr_expect_eq(s->l.attr[k].numeric, s->l.attr[k].a == 4 || s->l.attr[k].a == 5);
        for (size_t q = 0; q < s->l.attrs;
             q++) { /* rows that share a value with the row before that has it */
            double seen = 1, same = .5;
            for (uint32_t r = 0; r < ROWS; r++) {
                uint32_t before = TAB_NULL;
                for (uint32_t o = 0; o < r; o++)
                    if (code_of(&f, k, o) == code_of(&f, k, r))
                        before = o;
                if (code_of(&f, k, r) == TAB_NULL || before == TAB_NULL)
                    continue;
                seen++;
                same += code_of(&f, q, r) != TAB_NULL && code_of(&f, q, r) == code_of(&f, q, before);
            }
            near("joint", k * 10 + q, (double)s->joint[k * s->l.attrs + q], same / seen);
        }
    }
    size_t count[4] = { 0 };
    for (size_t i = 0; i < f.v->terms; i++) {
        const char *p = f.v->text + f.v->term_at[i];
        size_t n = f.v->term_n[i], digits = 0;
        for (size_t k = 0; k < n; k++)
            digits += p[k] >= '0' && p[k] <= '9';
        count[s->term[i]]++;
        if (s->term[i] != TAB_TERM_RUNNING)
            cr_expect_eq(s->term[i], digits == 0           ? TAB_TERM_WORD
                                     : digits < n || n > 3 ? TAB_TERM_CODE
                                                           : TAB_TERM_NUMBER);
    }
    for (size_t k = 0; k < 4; k++)
        cr_expect_gt(count[k], 0, "tokens of kind %zu", k);
    end(&f);
}

/* Whether row o is among the nearest of row r. */
static bool is_near(const tab_near *near_rows, size_t k, uint32_t r, uint32_t o)
{
    for (size_t i = 0; i < k; i++)
        if (near_rows[r * k + i].row == o)
            return true;
    return false;
}

Test(twin_pairs_twin, pairs_and_their_evidence_are_as_defined)
{
    enum { NEAR = 16 };
    fixture f;
    begin(&f);
    const tab_twin_pairs *s = &f.s;
    static tab_near rows[ROWS * NEAR];
    size_t n = 0, attrs = s->l.attrs, seeds = 0;
    uint32_t seed_a[ROWS], seed_b[ROWS];
    cr_assert_eq(
        tab_rows_nearest(&f.e, &f.tables[0].whole, &f.tables[0].whole, &f.tables[0].index, NEAR, rows, NULL),
        TAB_OK);
    for (uint32_t a = 0; a < ROWS; a++)
        for (uint32_t b = a + 1; b < ROWS; b++) {
            if (!is_near(rows, NEAR, a, b) && !is_near(rows, NEAR, b, a))
                continue;
            cr_assert(n < s->n && s->a[n] == a && s->b[n] == b, "pair %zu", n);
            n++;
            if (rows[a * NEAR].row == b && rows[b * NEAR].row == a && (double)rows[a * NEAR].score >= .3)
                seed_a[seeds] = a, seed_b[seeds++] = b;
        }
    cr_assert_eq(s->n, n);
    cr_assert_gt(seeds, 10);
    for (uint32_t r = 0; r < ROWS; r++) { /* each row's own, ascending */
        size_t at = s->at[r];
        for (size_t i = 0; i < n; i++)
            if (s->b[i] == r)
                cr_assert_eq(s->pair[at++], i);
        for (size_t i = 0; i < n; i++)
            if (s->a[i] == r)
                cr_assert_eq(s->pair[at++], i);
        cr_assert_eq(at, s->at[r + 1]);
    }
    tab_linkage own = s->l;
    own.weight = tab_arena_new_of(f.a, double, attrs *TAB_LEVELS);
    own.log_m = tab_arena_new_of(f.a, double, attrs *TAB_LEVELS);
    own.log_kept = tab_arena_new_of(f.a, double, attrs * 3);
    for (size_t k = 0; k < attrs; k++) {
        double u[TAB_LEVELS] = { 0 }, total = 0;
        tab_tally m = { 0 };
        for (size_t i = 0; i < 1500; i++) {
            uint32_t p = (uint32_t)(tab_hash_mix(i, 17) % ROWS), q = (uint32_t)(tab_hash_mix(i, 19) % ROWS);
            tab_agreement g = tab_agree(f.v, f.t, f.t, &s->l.attr[k], p, q, NULL);
            if (p == q || g.level == TAB_MISSING)
                continue;
            u[g.level]++;
            total++;
        }
        for (size_t l = 1; l < TAB_LEVELS; l++) {
            near("u", k * 10 + l, s->u[k * TAB_LEVELS + l], (u[l] + .5) / (total + .5 * (TAB_LEVELS - 1)));
        }
        for (size_t i = 0; i < seeds; i++) {
            tab_agreement g = tab_agree(f.v, f.t, f.t, &s->l.attr[k], seed_a[i], seed_b[i], NULL);
            tab_tally_add(&m, &g, 1);
        }
        tab_weights_learn(&own, k, &m, s->u);
        for (size_t l = 0; l < TAB_LEVELS; l++)
            near("weight", k * 10 + l, s->l.weight[k * TAB_LEVELS + l], own.weight[k * TAB_LEVELS + l]);
    }
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t k = 0; k < attrs; k++) {
            tab_agreement g = tab_agree(f.v, f.t, f.t, &s->l.attr[k], s->a[i], s->b[i], NULL);
            cr_assert_eq(s->agree[i * attrs + k].level, g.level);
            sum += tab_evidence(&s->l, k, &g);
        }
        near("evidence", i, (double)s->evidence[i], sum);
    }
    for (uint32_t r = 0; r < ROWS; r++) {
        double sum = 0;
        for (size_t k = 0; k < attrs; k++) {
            tab_agreement g = tab_agree(f.v, f.t, f.t, &s->l.attr[k], r, r, NULL);
            sum += tab_evidence(&s->l, k, &g);
        }
        near("evidence with itself", r, (double)s->self[r], sum);
    }
    end(&f);
}

/* ---- features ---- */

static double less(double x, double y)
{
    return x < y ? x : y;
}

static double more(double x, double y)
{
    return x > y ? x : y;
}

/* The weight of a token or 3-gram in a row; 0: it is not there. */
static double weight_in(const tab_sparse *w, uint32_t row, uint32_t id)
{
    for (uint64_t i = w->at[row]; i < w->at[row + 1]; i++)
        if (w->id[i] == id)
            return (double)w->w[i];
    return 0;
}

/* What one row's words are beside the other's. */
typedef struct {
    double dot[2], all[2], held[2], words, codes, numbers, code_rare, known_rare;
    double both_codes, both_rare, both_code_rare, both_sum;
} side;

static side look(const fixture *f, uint32_t row, uint32_t other)
{
    const tab_sparse *w = f->s.whole[0];
    side o = { 0 };
    for (uint64_t i = w->at[row]; i < w->at[row + 1]; i++) {
        uint32_t id = w->id[i];
        bool gram = id >= f->v->terms;
        double own = (double)w->w[i], its = weight_in(w, other, id);
        if (!gram && f->s.term[id] == TAB_TERM_RUNNING)
            continue;
        o.all[gram] += own * own;
        o.dot[gram] += own * its;
        o.held[gram] += its > 0 ? own * own : 0;
        if (gram)
            continue;
        double rare = (double)f->v->rarity[id];
        bool code = f->s.term[id] == TAB_TERM_CODE;
        if (its > 0) {
            o.both_codes += code;
            o.both_rare = fmax(o.both_rare, rare);
            o.both_code_rare = fmax(o.both_code_rare, code ? rare : 0);
            o.both_sum += fmax(0, rare - 2.5);
        } else if (code) {
            o.codes++;
            o.code_rare = fmax(o.code_rare, rare);
        } else if (f->s.term[id] == TAB_TERM_NUMBER) {
            o.numbers++;
        } else {
            o.words++;
            o.known_rare = fmax(o.known_rare, f->v->df[id] >= 3 ? rare : 0);
        }
    }
    return o;
}

static void check_words(const fixture *f, size_t i, const float *x)
{
    side p = look(f, f->s.a[i], f->s.b[i]), q = look(f, f->s.b[i], f->s.a[i]);
    near("cosine", i, (double)x[TAB_TWIN_COSINE], p.dot[0] + p.dot[1]);
    near("words", i, (double)x[TAB_TWIN_WORDS], p.dot[0] / sqrt(p.all[0] * q.all[0]));
    near("grams", i, (double)x[TAB_TWIN_GRAMS], p.dot[1] / sqrt(p.all[1] * q.all[1]));
    near("held", i, (double)x[TAB_TWIN_HELD], more(p.held[0] / p.all[0], q.held[0] / q.all[0]));
    near("held least", i, (double)x[TAB_TWIN_HELD_LEAST], less(p.held[0] / p.all[0], q.held[0] / q.all[0]));
    near("grams held", i, (double)x[TAB_TWIN_GRAMS_HELD], more(p.held[1] / p.all[1], q.held[1] / q.all[1]));
    near("grams least", i, (double)x[TAB_TWIN_GRAMS_LEAST], less(p.held[1] / p.all[1], q.held[1] / q.all[1]));
    near("codes", i, (double)x[TAB_TWIN_CODES], p.both_codes);
    near("codes left", i, (double)x[TAB_TWIN_CODES_LEFT], less(p.codes, q.codes));
    near("codes more", i, (double)x[TAB_TWIN_CODES_MORE], more(p.codes, q.codes));
    near("code rare", i, (double)x[TAB_TWIN_CODE_RARE], p.both_code_rare);
    near("code apart", i, (double)x[TAB_TWIN_CODE_APART], less(p.code_rare, q.code_rare));
    near("digits left", i, (double)x[TAB_TWIN_DIGITS_LEFT], less(p.numbers, q.numbers));
    near("word rare", i, (double)x[TAB_TWIN_WORD_RARE], p.both_rare);
    near("words rare", i, (double)x[TAB_TWIN_WORDS_RARE], p.both_sum);
    near("known apart", i, (double)x[TAB_TWIN_KNOWN_APART], less(p.known_rare, q.known_rare));
    near("left", i, (double)x[TAB_TWIN_LEFT], less(p.words, q.words));
    near("left more", i, (double)x[TAB_TWIN_LEFT_MORE], more(p.words, q.words));
}

static int by_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What the columns say in which both have a value. */
static void check_columns(const fixture *f, size_t i, const float *x)
{
    const tab_twin_pairs *s = &f->s;
    size_t n = s->l.attrs, m = 0;
    const tab_agreement *g = s->agree + i * n;
    double e[COLS + 4] = { 0 }, equal = 0, alike = 0, apart = 0, missing = 0, bits = 0, equal_bits = 0;
    double apart_bits = 0, top = 0, tells[2] = { 0 }, rare = 0, rarest = 0, sum = 0, named[3] = { 0, 0, 1 };
    double numbers = 0, level = 0, same = 0, far = 0, dates = 0;
    for (size_t k = 0; k < n; k++) {
        uint32_t p = code_of(f, k, s->a[i]), q = code_of(f, k, s->b[i]);
        const tab_view *w = &f->t->col[s->l.attr[k].a];
        double h = (double)s->entropy[k];
        bool is = g[k].level == TAB_EQUAL;
        top = fmax(top, h);
        if (p == TAB_NULL || q == TAB_NULL) {
            missing += p != q;
            continue;
        }
        sum += e[m++] = tab_evidence(&s->l, k, &g[k]);
        bits += h;
        equal += is, alike += !is && g[k].level <= 4, apart += g[k].level >= 7;
        equal_bits += is ? h : 0, apart_bits += g[k].level >= 7 ? h : 0;
        tells[0] = fmax(tells[0], is ? h : 0), tells[1] = fmax(tells[1], g[k].level >= 7 ? h : 0);
        rare -= is ? (double)g[k].rare : 0;
        rarest = fmax(rarest, is ? -(double)g[k].rare : 0);
        if (s->l.attr[k].numeric)
            numbers++, level += g[k].level, same += is, far += g[k].level >= 6;
        dates += w->kind == TAB_VIEW_DATE ? (is ? -1 : 1) : 0;
        if (!is && !s->l.attr[k].numeric) {
            double least = less(w->value[p].rows, w->value[q].rows);
            named[0] = fmax(named[0], log(least));
            named[1] = least >= 2 ? fmax(named[1], h) : named[1];
            if (least >= 2)
                named[2] = fmin(named[2], tab_edit_similarity(tab_value_text(f->v, &w->value[p]),
                                                              tab_value_text(f->v, &w->value[q])));
        }
    }
    near("mean evidence", i, (double)x[TAB_TWIN_EVIDENCE_MEAN], m > 0 ? sum / (double)m : 0);
    near("both", i, (double)x[TAB_TWIN_BOTH], (double)m);
    double both = (double)m;
    for (size_t k = 0; k < 2; k++) /* of two columns that are not there, nothing */
        e[m++] = 0;
    qsort(e, m, sizeof *e, by_double);
    near("worst", i, (double)x[TAB_TWIN_WORST], fmin(0, e[0]));
    near("worst next", i, (double)x[TAB_TWIN_WORST_NEXT], fmin(0, e[1]));
    near("best", i, (double)x[TAB_TWIN_BEST], e[m - 1]);
    near("best next", i, (double)x[TAB_TWIN_BEST_NEXT], e[m - 2]);
    near("equal", i, (double)x[TAB_TWIN_EQUAL], equal);
    near("alike", i, (double)x[TAB_TWIN_ALIKE], alike);
    near("apart", i, (double)x[TAB_TWIN_APART], apart);
    near("missing", i, (double)x[TAB_TWIN_MISSING], missing);
    near("share", i, (double)x[TAB_TWIN_EQUAL_SHARE], both > 0 ? equal / both : 0);
    near("equal bits", i, (double)x[TAB_TWIN_EQUAL_BITS], equal_bits / bits);
    near("apart bits", i, (double)x[TAB_TWIN_APART_BITS], apart_bits / bits);
    near("equal tells", i, (double)x[TAB_TWIN_EQUAL_TELLS], tells[0] / top);
    near("apart tells", i, (double)x[TAB_TWIN_APART_TELLS], tells[1] / top);
    near("chance", i, (double)x[TAB_TWIN_CHANCE], .4 * rarest + .6 * rare - log(ROWS));
    near("rarest", i, (double)x[TAB_TWIN_RAREST], rarest);
    near("numbers", i, (double)x[TAB_TWIN_NUMBERS], numbers > 0 ? level / numbers : 0);
    near("numbers equal", i, (double)x[TAB_TWIN_NUMBERS_EQUAL], same);
    near("numbers apart", i, (double)x[TAB_TWIN_NUMBERS_APART], far);
    near("dates", i, (double)x[TAB_TWIN_DATES_APART], dates);
    near("named apart", i, (double)x[TAB_TWIN_NAMED_APART], named[0]);
    near("named tells", i, (double)x[TAB_TWIN_NAMED_TELLS], named[1]);
    near("named like", i, (double)x[TAB_TWIN_NAMED_LIKE], named[2]);
}

/* How rare equal values are together, where one column follows from another. */
static void check_joint(const fixture *f, size_t i, const float *x)
{
    const tab_twin_pairs *s = &f->s;
    size_t n = s->l.attrs, rarest = n;
    const tab_agreement *g = s->agree + i * n;
    double low = 0, high = 0, equal = 0, usual = 0, apart = 1;
    for (size_t k = 0; k < n; k++) {
        double e = -(double)g[k].rare;
        if (g[k].level != TAB_EQUAL)
            continue;
        for (size_t q = 0; q < n; q++)
            e -= q != k && g[q].level == TAB_EQUAL ? log((double)s->joint[k * n + q]) : 0;
        low = equal > 0 ? fmin(low, e) : e;
        high = equal > 0 ? fmax(high, e) : e;
        equal++;
        rarest = rarest == n || g[k].rare < g[rarest].rare ? k : rarest;
    }
    for (size_t q = 0; rarest < n && q < n; q++) {
        double p = (double)s->joint[rarest * n + q];
        usual += q != rarest && g[q].level == TAB_EQUAL ? p / (equal - 1) : 0;
        apart = g[q].level >= 7 ? fmin(apart, p) : apart;
    }
    near("joint", i, (double)x[TAB_TWIN_JOINT], low - log(ROWS));
    near("joint most", i, (double)x[TAB_TWIN_JOINT_MOST], high - log(ROWS));
    near("apart usual", i, (double)x[TAB_TWIN_APART_USUAL], apart);
    near("equal usual", i, (double)x[TAB_TWIN_EQUAL_USUAL], usual);
}

/* A pair among those of one of its rows, by a score. */
static void beside(const tab_twin_pairs *s, const float *score, size_t i, uint32_t row, double *rank,
                   double *lead, double *mean)
{
    double best = -1e9, n = 0, sum = 0;
    *rank = 0;
    for (size_t o = 0; o < s->n; o++) {
        if (s->a[o] != row && s->b[o] != row)
            continue;
        n++;
        sum += (double)score[o];
        *rank += score[o] > score[i];
        best = o != i ? fmax(best, (double)score[o]) : best;
    }
    *lead = n > 1 ? (double)score[i] - best : 0;
    *mean = (double)score[i] - sum / n;
}

static void check_rivals(const fixture *f, size_t i, const float *x)
{
    const tab_twin_pairs *s = &f->s;
    double r[2], l[2], m[2];
    for (int k = 0; k < 2; k++)
        beside(s, s->cosine, i, k ? s->b[i] : s->a[i], &r[k], &l[k], &m[k]);
    near("rank", i, (double)x[TAB_TWIN_RANK], less(r[0], r[1]));
    near("worse rank", i, (double)x[TAB_TWIN_RANK_WORSE], more(r[0], r[1]));
    near("lead", i, (double)x[TAB_TWIN_LEAD], more(l[0], l[1]));
    near("least lead", i, (double)x[TAB_TWIN_LEAD_LEAST], less(l[0], l[1]));
    for (int k = 0; k < 2; k++)
        beside(s, s->evidence, i, k ? s->b[i] : s->a[i], &r[k], &l[k], &m[k]);
    near("rank by evidence", i, (double)x[TAB_TWIN_RANK_EVIDENCE], less(r[0], r[1]));
    near("worse rank by evidence", i, (double)x[TAB_TWIN_RANK_EVIDENCE_WORSE], more(r[0], r[1]));
    near("lead of evidence", i, (double)x[TAB_TWIN_LEAD_EVIDENCE], more(l[0], l[1]));
    near("least lead of evidence", i, (double)x[TAB_TWIN_LEAD_EVIDENCE_LEAST], less(l[0], l[1]));
    near("above", i, (double)x[TAB_TWIN_ABOVE], more(m[0], m[1]));
    near("least above", i, (double)x[TAB_TWIN_ABOVE_LEAST], less(m[0], m[1]));
    double p = (double)s->evidence[i] / fmax(1, (double)s->self[s->a[i]]);
    double q = (double)s->evidence[i] / fmax(1, (double)s->self[s->b[i]]);
    near("self", i, (double)x[TAB_TWIN_SELF], less(p, q));
    near("more self", i, (double)x[TAB_TWIN_SELF_MORE], more(p, q));
    near("evidence", i, (double)x[TAB_TWIN_EVIDENCE], (double)s->evidence[i]);
}

Test(twin_pairs_twin, features_are_as_defined)
{
    fixture f;
    begin(&f);
    for (size_t i = 0; i < f.s.n; i++) {
        float x[TAB_TWIN_FEATURES];
        tab_twin_features(&f.s, i, x);
        check_words(&f, i, x);
        check_columns(&f, i, x);
        check_joint(&f, i, x);
        check_rivals(&f, i, x);
    }
    end(&f);
}
