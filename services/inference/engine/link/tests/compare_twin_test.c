/* How two values agree beside the definitions, in plain words: the distance of two texts by its whole matrix,
 * words one by one, numbers by how many lie as near, places by how many pairs do; what an agreement is worth;
 * and answers that chance lowers, by all runs of them. */
#include <math.h>
#include <stdio.h>

#include "services/inference/engine/link/evidence/chance.h"
#include "services/inference/engine/link/pairs/geo.h"
#include "services/inference/engine/link/tests/tables.h"

enum { LETTERS_MOST = 70, ROWS = 90 };

static double distance(tab_str x, tab_str y)
{
    static size_t d[LETTERS_MOST + 1][LETTERS_MOST + 1];
    for (size_t i = 0; i <= x.n; i++)
        for (size_t j = 0; j <= y.n; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            size_t best = d[i - 1][j - 1] + (x.p[i - 1] != y.p[j - 1]);
            best = d[i - 1][j] + 1 < best ? d[i - 1][j] + 1 : best;
            best = d[i][j - 1] + 1 < best ? d[i][j - 1] + 1 : best;
            if (i > 1 && j > 1 && x.p[i - 1] == y.p[j - 2] && x.p[i - 2] == y.p[j - 1])
                best = d[i - 2][j - 2] + 1 < best ? d[i - 2][j - 2] + 1 : best;
            d[i][j] = best;
        }
    return (double)d[x.n][y.n];
}

static double edit(tab_str x, tab_str y)
{
    double longer = fmax((double)x.n, (double)y.n), shorter = fmin((double)x.n, (double)y.n);
    return shorter == 0 || longer > 64 || shorter * 3 < longer ? 0 : 1 - distance(x, y) / longer;
}

Test(compare_twin, distances_are_those_of_the_whole_matrix)
{
    char x[LETTERS_MOST], y[LETTERS_MOST];
    for (size_t i = 0; i < 4000; i++) {
        size_t n = i % 2 ? chance(i, 1, 67) : chance(i, 1, 12), m = 0, letters = 2 + chance(i, 2, 24);
        for (size_t k = 0; k < n; k++)
            x[k] = (char)('a' + chance(i * 100 + k, 3, (uint32_t)letters));
        for (size_t k = 0; k < n && m < 66; k++) { /* a copy with slips */
            uint32_t slip = chance(i * 100 + k, 4, 9);
            if (slip == 0)
                y[m++] = (char)('a' + chance(i * 100 + k, 5, (uint32_t)letters));
            else if (slip == 1 && k + 1 < n)
                y[m++] = x[k + 1], y[m++] = x[k], k++;
            else if (slip > 2)
                y[m++] = x[k];
        }
        if (i % 5 == 0)
            m = m > 2 ? m / 3 : m;
        tab_str s = { x, n }, t = { y, m };
        cr_assert_float_eq(tab_edit_similarity(s, t), edit(s, t), 1e-12, "%.*s, %.*s: %g, not %g", TAB_STR(s),
                           TAB_STR(t), tab_edit_similarity(s, t), edit(s, t));
        cr_assert_eq(tab_edit_similarity(s, t), tab_edit_similarity(t, s));
    }
}

/* Words, initials, beginnings, misspellings; numbers; places. */
static void item(size_t r, size_t c, char out[CELL])
{
    static const char *const words[] = { "copper",    "kettle", "small", "garden", "lantern",
                                         "blue",      "a4",     "330",   "robert", "bob",
                                         "elizabeth", "k",      "ket",   "coppre", "iron" };
    size_t n = 0, m = 1 + chance(r, 1, 4);
    *out = 0;
    if (c == 0)
        for (size_t k = 0; k < m; k++) {
            size_t at = chance(r * 10 + k, 2, 15);
            n += (size_t)snprintf(out + n, CELL - n, "%s%s%s", k > 0 ? " " : "", words[at],
                                  chance(r * 10 + k, 3, 6) == 0 ? "s" : "");
        }
    else if (c == 1)
        snprintf(out, CELL, "%u", 1000 + chance(r, 4, 60) * chance(r, 5, 60));
    else if (c == 2)
        snprintf(out, CELL, "%.5f", 40 + (double)chance(r, 6, 900) / 100);
    else
        snprintf(out, CELL, "%.5f", 5 + (double)chance(r, 7, 900) / 100);
}

typedef struct {
    tab_arena *a;
    tab_views *v;
    const tab_table_view *t[2];
} fixture;

static void item_there(size_t r, size_t c, char out[CELL])
{
    item(r < ROWS / 3 && c > 0 ? r : r + 50, c, out);
}

static void begin(fixture *f)
{
    *f = (fixture){ .a = tab_arena_new(SIZE_MAX / 2) };
    tab_engine e = { .arena = f->a };
    tab_table *t = tab_arena_new_of(f->a, tab_table, 2);
    tab_profile *p[2];
    t[0] = table_of(f->a, "here", ROWS, 4, item);
    t[1] = table_of(f->a, "there", ROWS, 4, item_there);
    for (size_t k = 0; k < 2; k++)
        cr_assert_eq(tab_profile_table(&e, &t[k], &p[k], NULL), TAB_OK);
    cr_assert_eq(tab_views_new(&e, p, 2, &f->v, NULL), TAB_OK);
    f->t[0] = &f->v->table[0], f->t[1] = &f->v->table[1];
}

static tab_str token(const tab_views *v, uint32_t id)
{
    return (tab_str){ v->text + v->term_at[id], v->term_n[id] };
}

static double like(tab_str x, tab_str y)
{
    if (x.n > y.n)
        return like(y, x);
    bool digits = (x.p[0] >= '0' && x.p[0] <= '9') || (y.p[0] >= '0' && y.p[0] <= '9');
    if (digits)
        return 0;
    if (x.n == 1)
        return x.p[0] == y.p[0] ? .5 : 0;
    if (x.n > 2 && x.n < y.n && memcmp(x.p, y.p, x.n) == 0)
        return .8;
    return x.n > 3 && edit(x, y) >= .74 ? edit(x, y) : 0;
}

/* The better of the distance and of words by their weights; what the words share and have apart. */
static double similarity(const tab_views *v, const tab_value *x, const tab_value *y, double *gain,
                         double *exact, size_t *shared)
{
    const uint32_t *a = v->tok + x->tok, *b = v->tok + y->tok;
    double all[2] = { 0 }, both = 0;
    bool taken[2][32] = { { false } };
    *gain = *exact = 0, *shared = 0;
    for (uint32_t i = 0; i < x->tok_n; i++)
        all[0] += pow((double)v->idf[a[i]], 2);
    for (uint32_t j = 0; j < y->tok_n; j++)
        all[1] += pow((double)v->idf[b[j]], 2);
    for (uint32_t i = 0; i < x->tok_n; i++) /* equal words, each once */
        for (uint32_t j = 0; j < y->tok_n && !taken[0][i]; j++)
            if (a[i] == b[j] && !taken[1][j]) {
                taken[0][i] = taken[1][j] = true;
                both += pow((double)v->idf[a[i]], 2);
                *exact += (double)v->rarity[a[i]];
                ++*shared;
            }
    *gain = *exact;
    for (uint32_t i = 0; i < x->tok_n; i++) { /* then, in order, the likest of the rest */
        double best = 0;
        uint32_t with = 0;
        for (uint32_t j = 0; j < y->tok_n && !taken[0][i]; j++) {
            double is = taken[1][j] ? 0 : like(token(v, a[i]), token(v, b[j]));
            if (!taken[1][j] && tab_nicknames_alike(v->nickname[a[i]], v->nickname[b[j]]))
                is = fmax(is, .85);
            if (is > best)
                best = is, with = j;
        }
        if (best == 0)
            continue;
        double rare = fmin((double)v->rarity[a[i]], (double)v->rarity[b[with]]);
        taken[1][with] = true;
        both += best * (double)v->idf[a[i]] * (double)v->idf[b[with]];
        *gain += best < .74 ? rare / 4 : .6 * best * rare;
        ++*shared;
    }
    double words = all[0] * all[1] > 0 ? both / sqrt(all[0] * all[1]) : 0;
    return fmax(fmin(words, 1), edit(tab_value_text(v, x), tab_value_text(v, y)));
}

Test(compare_twin, texts_are_as_alike_as_their_words_or_letters)
{
    fixture f;
    begin(&f);
    size_t near_words = 0;
    for (uint32_t p = 0; p < f.t[0]->col[0].values; p++)
        for (uint32_t q = 0; q < f.t[1]->col[0].values; q++) {
            const tab_value *x = &f.t[0]->col[0].value[p], *y = &f.t[1]->col[0].value[q];
            tab_token_match m;
            double gain, exact;
            size_t shared, n = x->tok_n, k = y->tok_n;
            double want = similarity(f.v, x, y, &gain, &exact, &shared);
            double is = tab_text_similarity(f.v, x, y, &m);
            tab_str s = tab_value_text(f.v, x), t = tab_value_text(f.v, y);
            cr_assert_float_eq(is, want, 1e-5, "%.*s, %.*s: %g, not %g", TAB_STR(s), TAB_STR(t), is, want);
            cr_assert_float_eq((double)m.gain, gain, 1e-4 * fmax(1, fabs(gain)));
            cr_assert_float_eq((double)m.exact, exact, 1e-4 * fmax(1, fabs(exact)));
            cr_assert(m.shared == shared && m.left_a == n - shared && m.left_b == k - shared);
            near_words += gain > exact;
        }
    cr_expect_gt(near_words, 50);
    tab_views_free(f.v);
    tab_arena_free(f.a);
}

Test(compare_twin, numbers_agree_by_how_many_lie_as_near)
{
    fixture f;
    begin(&f);
    const tab_view *w = &f.t[0]->col[1], *o = &f.t[1]->col[1];
    size_t seen[TAB_LEVELS] = { 0 };
    for (int scaled = 0; scaled < 2; scaled++) {
        double by = scaled ? 1.01 : 1;
        tab_attribute t = {
            .a = 1, .b = 1, .numeric = true, .scale = by, .sorted = w->sorted, .sorted_n = w->sorted_n
        };
        for (uint32_t p = 0; p < w->values; p++)
            for (uint32_t q = 0; q < o->values; q++) {
                const tab_value *x = &w->value[p], *y = &o->value[q];
                double z = y->number / by, d = fabs(x->number - z), as_near = 0;
                for (size_t i = 0; i < w->sorted_n; i++)
                    as_near += fabs(w->sorted[i] - x->number) <= d;
                as_near /= (double)w->sorted_n;
                double letters = scaled ? 0 : edit(tab_value_text(f.v, x), tab_value_text(f.v, y));
                uint8_t want = as_near <= .1 ? 6 : as_near <= .3 ? 7 : as_near <= .6 ? 8 : 9;
                if (letters >= .7)
                    want = 5;
                if (as_near <= .03)
                    want = as_near <= .005 ? 3 : 4;
                if (as_near <= .02 && d <= fmax(fabs(x->number), fabs(z)) / 500)
                    want = 2;
                if (d == 0)
                    want = TAB_EQUAL;
                uint8_t is = tab_compare(f.v, &t, x, y, NULL);
                cr_assert_eq(is, want, "%g, %g: level %u, not %u", x->number, y->number, is, want);
                seen[is]++;
                double alike = x->key == y->key || d == 0 ? 1 : fmin(.999, fmax(1 - as_near, letters));
                cr_assert_float_eq(tab_similarity(f.v, &t, x, y), alike, 1e-9);
            }
    }
    for (size_t k = 4; k < TAB_LEVELS; k++)
        cr_expect_gt(seen[k], 0, "no pair of level %zu", k);
    tab_views_free(f.v);
    tab_arena_free(f.a);
}

Test(compare_twin, places_agree_by_how_many_pairs_lie_as_near)
{
    /* a quarter of a meridian; a degree of the equator; across the date line */
    cr_expect_float_eq(tab_haversine(0, 0, 90, 0), 6371.0088 * M_PI / 2, 1e-6);
    cr_expect_float_eq(tab_haversine(0, 10, 0, 11), 6371.0088 * M_PI / 180, 1e-6);
    cr_expect_float_eq(tab_haversine(0, 179.5, 0, -179.5), 6371.0088 * M_PI / 180, 1e-6);
    cr_expect_float_eq(tab_haversine(60, 0, 60, 180), 6371.0088 * M_PI / 3, 1e-6);
    fixture f;
    begin(&f);
    double far[1000];
    tab_attribute t[2] = { { .a = 2, .b = 2, .numeric = true, .scale = 1, .far = far, .far_n = 1000 } };
    t[1] = t[0];
    t[1].a = t[1].b = 3, t[1].longitude = true;
    t[0].other = &t[1], t[1].other = &t[0];
    for (size_t i = 0; i < 1000; i++)
        far[i] = (double)i + 1;
    size_t seen[TAB_LEVELS] = { 0 };
    for (uint32_t p = 0; p < ROWS; p++)
        for (uint32_t q = 0; q < ROWS; q++) {
            double at[4], like_is = -1;
            for (size_t c = 0; c < 4; c++) {
                const tab_view *w = &f.t[c / 2]->col[2 + c % 2];
                at[c] = w->value[w->code[c < 2 ? p : q]].number;
            }
            double d = tab_haversine(at[0], at[1], at[2], at[3]), q_near = fmin(1, floor(d) / 1000);
            if (d < 11)
                q_near = .01 * pow(d / 11, 2);
            static const double cut[] = { 1e-6, 1e-4, 3e-3, .03, .1, .3, .6 };
            uint8_t want = d <= 1e-3 ? TAB_EQUAL : 2;
            for (size_t i = 0; i < 7 && want > 1; i++)
                want += q_near > cut[i];
            uint8_t is = tab_geo_compare(f.t[0], f.t[1], &t[p % 2], p, q, &like_is);
            cr_assert_eq(is, want, "%g km: level %u, not %u", d, is, want);
            cr_assert_float_eq(like_is, d <= 1e-3 ? 1 : fmin(.999, 1 - q_near), 1e-12);
            seen[is]++;
        }
    cr_expect(seen[TAB_EQUAL] > 0 && seen[4] > 0 && seen[5] > 0 && seen[8] > 0);
    tab_views_free(f.v);
    tab_arena_free(f.a);
}

/* A word says what it is rare by, damped by how many there are; an equal value at least what its frequency
 * says; half where a distance is two attributes'. */
Test(compare_twin, an_agreement_is_worth_what_its_words_are)
{
    double weight[TAB_LEVELS] = { 0, 3, 2, 1, .5, 0, -.5, -1, -2, -3 }, log_m[TAB_LEVELS] = { 0, -.2 };
    double kept[3] = { -.1, -1.5, -2 };
    tab_attribute attr[2] = { { .scale = 1 }, { .scale = 1, .other = attr } };
    double weights[2 * TAB_LEVELS], logs[2 * TAB_LEVELS], chances[6];
    for (size_t k = 0; k < 2; k++) {
        memcpy(weights + k * TAB_LEVELS, weight, sizeof weight);
        memcpy(logs + k * TAB_LEVELS, log_m, sizeof log_m);
        memcpy(chances + k * 3, kept, sizeof kept);
    }
    const tab_linkage l = { .attr = attr, .attrs = 2, .weight = weights, .log_m = logs, .log_kept = chances };
    static const struct {
        tab_agreement g;
        double want;
    } cases[] = {
        { { .level = TAB_MISSING }, 0 },
        { { .level = 4, .shared = 0, .left_a = 1, .left_b = 1 }, .5 },
        { { .level = TAB_EQUAL, .shared = 1, .rare = -5 }, 4.8 },
        { { .level = 3, .shared = 1, .left_a = 1, .gain = 6 }, (6 - .1 + .6 * -1.5) / 1.15 },
        { { .level = 3, .shared = 2, .left_b = 2, .gain = 9 }, (9 - .2 + .6 * 2 * -2) / 1.45 },
        { { .level = TAB_EQUAL, .shared = 2, .gain = 3, .rare = -5 }, 4.8 },
        { { .level = TAB_EQUAL, .shared = 2, .gain = 9, .rare = -5 }, 8.8 / 1.15 },
        { { .level = 9, .shared = 0, .left_a = 2, .left_b = 1 }, .6 * (2 * -1.5 - 2) / 1.3 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tab_agreement *g = &cases[i].g;
        cr_expect_float_eq(tab_evidence(&l, 0, g), cases[i].want, 1e-6, "case %zu: %g", i,
                           tab_evidence(&l, 0, g));
        double half = g->level == TAB_EQUAL ? 1 : .5;
        cr_expect_float_eq(tab_evidence(&l, 1, g), half * cases[i].want, 1e-6);
    }
}

/* Words that two rows share anywhere say what is rare about them above 2.5, less what was explained. */
Test(compare_twin, words_elsewhere_are_worth_half_and_ever_less)
{
    float rarity[] = { 1, 4, 6, 9 };
    uint32_t ids[] = { 0, 1, 2, 5, 1, 2, 3, 5 };
    float w[] = { .5f, .5f, .5f, .5f, .1f, .2f, .3f, .4f }, cosine;
    uint64_t at[] = { 0, 4, 8 };
    const tab_views v = { .terms = 4, .rarity = rarity };
    const tab_sparse s = { .at = at, .id = ids, .w = w };
    double sum = 1.5 + 3.5; /* the common words 1 and 2; 5 is no word */
    cr_expect_float_eq(tab_elsewhere(&v, &s, &s, 0, 1, 0, &cosine), .5 * sum / (1 + .05 * sum), 1e-6);
    cr_expect_float_eq((double)cosine, .05 + .1 + .2, 1e-6);
    cr_expect_float_eq(tab_elsewhere(&v, &s, &s, 1, 0, 2, &cosine), .5 * 3 / 1.15, 1e-6);
    cr_expect_float_eq(tab_elsewhere(&v, &s, &s, 0, 1, -4, &cosine), .5 * sum / (1 + .05 * sum), 1e-6);
    cr_expect_eq(tab_elsewhere(&v, &s, &s, 0, 1, 5, &cosine), 0);
}

/* ---- chance ---- */

enum { PAIRS = 40, SIDE = 12 };

static float drawn(size_t i, size_t j)
{
    return (float)chance(i, j, 50) / 50;
}

/* What chance leaves of an answer: of all runs of answers that end there or behind, of the greatest shares of
 * chance of those that begin before, the least (the isotonic regression's max-min). */
Test(compare_twin, chance_never_leaves_less_of_a_better_answer)
{
    for (size_t seed = 0; seed < 30; seed++) {
        const tab_table_view t[2] = { { .rows = SIDE }, { .rows = SIDE - 2 } };
        uint32_t a[3][PAIRS], b[3][PAIRS];
        float p[3][PAIRS], was[PAIRS];
        double w[2][SIDE];
        for (size_t k = 0; k < 3; k++)
            for (uint32_t i = 0; i < PAIRS; i++) {
                a[k][i] = (i + k) % (SIDE - 2), b[k][i] = (i * 7 + (uint32_t)seed) % (SIDE - 2);
                p[k][i] = drawn(seed * 100 + i, k) * (k < 2 ? .6f : 1);
            }
        memcpy(was, p[2], sizeof was);
        const tab_twin_pairs one = { .rows = SIDE, .n = PAIRS / 8, .a = a[0], .b = b[0], .p = p[0] };
        const tab_twin_pairs two = { .rows = SIDE - 2, .n = PAIRS / 10, .a = a[1], .b = b[1], .p = p[1] };
        tab_twin_pairs s = { .t = { &t[0], &t[1] }, .n = PAIRS, .a = a[2], .b = b[2], .p = p[2] };
        cr_assert(tab_across_chance(&s, (const tab_twin_pairs *const[]){ &one, &two }));
        for (size_t k = 0; k < 2; k++) {
            const tab_twin_pairs *q = k == 0 ? &one : &two;
            for (size_t r = 0; r < SIDE; r++) {
                double n = 1;
                for (size_t i = 0; i < q->n; i++)
                    n += q->p[i] >= .5f ? (q->a[i] == r) + (q->b[i] == r) : 0;
                w[k][r] = 1 / n;
            }
        }
        /* answers, the best first; chance up to each, one entity above all */
        size_t order[PAIRS], n = 0;
        double upto[PAIRS + 1] = { -1 }, weight[PAIRS + 1] = { 0 }, times = SIDE * (SIDE - 2.);
        times /= SIDE * (SIDE - 1.) / 2 + (SIDE - 2.) * (SIDE - 3.) / 2;
        for (size_t i = 0; i < PAIRS; i++)
            if (was[i] >= .01f)
                order[n++] = i;
        for (size_t i = 1; i < n; i++)
            for (size_t j = i; j > 0 && was[order[j]] > was[order[j - 1]]; j--) {
                size_t swap = order[j];
                order[j] = order[j - 1], order[j - 1] = swap;
            }
        for (size_t i = 0; i < n; i++) {
            size_t o = order[i];
            upto[i + 1] = 0;
            weight[i + 1] = weight[i] + w[0][a[2][o]] * w[1][b[2][o]];
            for (size_t k = 0; k < 2; k++) {
                const tab_twin_pairs *q = k == 0 ? &one : &two;
                for (size_t j = 0; j < q->n; j++)
                    if (q->p[j] >= .01f && q->p[j] >= was[o])
                        upto[i + 1] +=
                            2.1 * times * 2 * w[k][q->a[j]] * w[k][q->b[j]] * (1 - (double)q->p[j]);
            }
        }
        for (size_t i = 0; i < n; i++) {
            double best = -INFINITY;
            for (size_t from = 0; from <= i; from++) {
                double least = INFINITY;
                for (size_t to = i + 1; to <= n; to++)
                    least = fmin(least, (upto[to] - upto[from]) / (weight[to] - weight[from]));
                best = fmax(best, least);
            }
            double want = fmin((double)was[order[i]], fmax(0, 1 - best));
            cr_assert_float_eq((double)p[2][order[i]], want, 1e-5, "seed %zu, answer %zu: %g, not %g", seed,
                               i, (double)p[2][order[i]], want);
        }
    }
}
