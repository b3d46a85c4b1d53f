/* Two cells of a row that would each fit the other's column: each value is at home in the other column, where
 * it stands in other rows, and stands nowhere else in its own. Between columns that share values anyway (home
 * team, away team) this says nothing; nor where rows of which one cell alone is so are that many that both
 * would be in some by chance (first and last names, some of which are either). */
#include <stdlib.h>

#include "common/base/hash.h"
#include "services/inference/engine/suspects/parts.h"

typedef struct {
    uint64_t hash;
    uint32_t column, level;
} home;

static int by_hash(const void *a, const void *b)
{
    const home *x = a, *y = b;
    if (x->hash != y->hash)
        return (x->hash > y->hash) - (x->hash < y->hash);
    return (x->column > y->column) - (x->column < y->column);
}

/* For a pair of columns: levels of a among b's, TAB_NULL where b has none. */
static bool translate(tab_search *s, const home *h, size_t n, size_t a, size_t b, uint32_t *to,
                      double *ret_shared)
{
    double cells = 0;
    const tab_seen *x = &s->seen[a];
    for (size_t l = 0; l < x->levels; l++)
        to[l] = TAB_NULL;
    for (size_t i = 0, k; i < n; i = k) {
        uint32_t in_a = TAB_NULL, in_b = TAB_NULL;
        for (k = i; k < n && h[k].hash == h[i].hash; k++) {
            in_a = h[k].column == a ? h[k].level : in_a;
            in_b = h[k].column == b ? h[k].level : in_b;
        }
        if (in_a != TAB_NULL && in_b != TAB_NULL)
            to[in_a] = in_b, cells += x->count[in_a];
    }
    *ret_shared = x->present > 0 ? cells / (double)x->present : 1;
    return *ret_shared > 0 && *ret_shared < 0.2;
}

static void put(tab_search *s, size_t row, size_t own, size_t other, double own_count, double other_count,
                double back, double shared)
{
    tab_suspect *c = tab_suspects_add(s, row, own, TAB_SUSPECT_SWAPPED);
    if (c == NULL)
        return;
    const tab_seen *v = &s->seen[other];
    c->f[0] = (float)(tab_log_count(other_count) / 3);
    c->f[1] = (float)(tab_log_count(back) / 3);
    c->f[2] = own_count <= 1;
    c->f[3] = (float)(shared * 10);
    c->f[4] = own + 1 == other || other + 1 == own;
    c->f[5] = (float)(tab_log_count((double)s->rows) / 4);
    c->other = (uint32_t)other;
    c->agree = (uint32_t)other_count;
    c->of = (uint32_t)v->present;
    c->suggestion = v->text[v->code[row]];
}

/* Of what is said, as much may be chance: the confidence of these candidates is about 0.95. */
static const double BY_CHANCE = 0.05;

/* Whether the value of x in this row stands more often in y. */
static bool elsewhere(const tab_seen *x, const tab_seen *y, const uint32_t *to, size_t row)
{
    uint32_t i = x->code[row];
    return i != TAB_NULL && to[i] != TAB_NULL && y->count[to[i]] >= 2 * x->count[i];
}

/* Whether the rows of which both cells are elsewhere at home are more than independent cells explain. */
static bool beyond_chance(const tab_search *s, const tab_seen *x, const tab_seen *y, const uint32_t *ab,
                          const uint32_t *ba)
{
    double one[2] = { 0, 0 }, both = 0;
    for (size_t r = 0; r < s->rows; r++) {
        bool a = elsewhere(x, y, ab, r), b = elsewhere(y, x, ba, r);
        both += a && b;
        one[0] += a && !b;
        one[1] += b && !a;
    }
    return both > 0 && one[0] * one[1] <= BY_CHANCE * both * (double)s->rows;
}

static void pair(tab_search *s, const home *h, size_t n, size_t a, size_t b, uint32_t *ab, uint32_t *ba)
{
    double in_b, in_a;
    const tab_seen *x = &s->seen[a], *y = &s->seen[b];
    if (!translate(s, h, n, a, b, ab, &in_b) || !translate(s, h, n, b, a, ba, &in_a))
        return;
    if (!beyond_chance(s, x, y, ab, ba))
        return;
    for (size_t r = 0; r < s->rows && !s->failed; r++) {
        uint32_t i = x->code[r], k = y->code[r];
        if (!elsewhere(x, y, ab, r) || !elsewhere(y, x, ba, r) || ab[i] == k)
            continue;
        double home_b = y->count[ab[i]], home_a = x->count[ba[k]];
        put(s, r, a, b, x->count[i], home_b, home_a, in_b);
        put(s, r, b, a, y->count[k], home_a, home_b, in_a);
    }
}

/* Columns whose values are looked for in others. */
static bool takes_part(const tab_seen *v)
{
    return v->levels > 1 && v->levels <= TAB_SUSPECT_LEVELS && v->num == NULL;
}

void tab_suspects_swapped(tab_search *s)
{
    size_t cols = s->p->table->cols < TAB_SUSPECT_COLUMNS ? s->p->table->cols : TAB_SUSPECT_COLUMNS;
    size_t n = 0, most = 0;
    for (size_t c = 0; c < cols; c++)
        if (takes_part(&s->seen[c]))
            n += s->seen[c].levels, most = s->seen[c].levels > most ? s->seen[c].levels : most;
    home *h = tab_arena_new_of(s->scratch, home, n + 1);
    uint32_t *ab = tab_arena_new_of(s->scratch, uint32_t, most + 1);
    uint32_t *ba = tab_arena_new_of(s->scratch, uint32_t, most + 1);
    if (h == NULL || ab == NULL || ba == NULL) {
        s->failed = true;
        return;
    }
    n = 0;
    for (size_t c = 0; c < cols; c++) {
        const tab_seen *v = &s->seen[c];
        if (takes_part(v))
            for (size_t l = 0; l < v->levels; l++)
                h[n++] = (home){ tab_fnv1a(TAB_FNV1A, v->text[l].p, v->text[l].n), (uint32_t)c, (uint32_t)l };
    }
    qsort(h, n, sizeof *h, by_hash);
    /* values that stand in one column alone say nothing here */
    size_t shared = 0;
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i; k < n && h[k].hash == h[i].hash; k++)
            ;
        if (k - i > 1 && h[i].column != h[k - 1].column)
            for (size_t j = i; j < k; j++)
                h[shared++] = h[j];
    }
    for (size_t a = 0; shared > 0 && a < cols; a++)
        for (size_t b = a + 1; b < cols; b++)
            if (takes_part(&s->seen[a]) && takes_part(&s->seen[b]))
                pair(s, h, shared, a, b, ab, ba);
}
