/* Values of another table: a column that nearly always holds a key of another table's column, and the cells
 * that hold none, but stand one edit (Damerau 1964) beside one.
 *
 * Such a value is a misspelt key, or one that the other table lacks. Were it the latter, it would stand as
 * near to a key as keys stand to each other: in counters all do, in names hardly any. So of a value that
 * stands n times the odds are 1 to NEAR_BY x (share of keys that have a neighbour) x AGAIN^(n - 1): slips do
 * not repeat. Numbers are left out, for they are as near to each other as can be. Decision 0657. */
#include <math.h>
#include <stdlib.h>

#include "common/base/hash.h"
#include "services/inference/engine/suspects/parts.h"

enum { MISSES = 500, ASKED = 400, SHORTEST = 3 };
static const double HOLDS = 0.95, NEAR_BY = 2, AGAIN = 5, DOUBT = 0.05;

typedef struct {
    uint64_t hash;
    tab_str text;
} key;

/* The keys of one column of another table, sorted by hash. */
typedef struct {
    key *key;
    size_t n;
    double twins; /* share of keys that have another one an edit away */
} keys;

static int by_hash(const void *a, const void *b)
{
    const key *x = a, *y = b;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

static bool has(const keys *k, tab_str t)
{
    uint64_t h = tab_fnv1a(TAB_FNV1A, t.p, t.n);
    size_t from = 0, to = k->n;
    while (from < to) {
        size_t mid = (from + to) / 2;
        if (k->key[mid].hash < h)
            from = mid + 1;
        else
            to = mid;
    }
    for (; from < k->n && k->key[from].hash == h; from++)
        if (tab_str_eq(k->key[from].text, t))
            return true;
    return false;
}

/* How many keys are one edit away; *ret: the first. */
static size_t near(const keys *k, tab_str t, tab_str *ret)
{
    size_t n = 0;
    for (size_t i = 0; i < k->n; i++) {
        bool digit;
        if (k->key[i].text.n + 1 >= t.n && k->key[i].text.n <= t.n + 1 &&
            tab_one_edit(t, k->key[i].text, &digit) && n++ == 0)
            *ret = k->key[i].text;
    }
    return n;
}

/* n = 0: the column is no key. False: memory ran out. */
static bool keys_of(tab_search *s, const tab_column_profile *c, keys *ret)
{
    bool text = c->type != TAB_NUMERIC && c->type != TAB_DATETIME && c->column->layout == TAB_CODED;
    *ret = (keys){ .n = 0 };
    if (!text || c->use == TAB_USE_IGNORE || c->code == NULL || c->levels < TAB_SUSPECT_ROWS ||
        c->levels != c->present || c->levels > TAB_SUSPECT_LEVELS)
        return true;
    ret->key = tab_arena_new_of(s->scratch, key, c->levels + 1);
    if (ret->key == NULL)
        return false;
    for (size_t l = 0; l < c->levels; l++)
        ret->key[l] = (key){ tab_fnv1a(TAB_FNV1A, c->level[l].p, c->level[l].n), c->level[l] };
    ret->n = c->levels;
    qsort(ret->key, ret->n, sizeof *ret->key, by_hash);
    return true;
}

/* Sorted by hash, the keys at equal steps are a sample of them. */
static void count_twins(keys *k)
{
    size_t asked = k->n < ASKED ? k->n : ASKED, twins = 0;
    for (size_t i = 0; i < asked; i++) {
        tab_str other;
        twins += near(k, k->key[i * k->n / asked].text, &other) > 0;
    }
    k->twins = ((double)twins + 1) / ((double)asked + 2);
}

/* The levels of v that are no keys; SIZE_MAX: too many, or the column does not refer to these keys. */
static size_t misses(const tab_seen *v, const keys *k, uint32_t *ret)
{
    size_t n = 0, held = 0, levels = 0;
    for (uint32_t l = 0; l < v->levels; l++) {
        if (has(k, v->text[l]))
            held += v->count[l], levels++;
        else if (n == MISSES)
            return SIZE_MAX;
        else
            ret[n++] = l;
    }
    bool refers = (double)held >= HOLDS * (double)v->present && levels >= TAB_SUSPECT_ROWS / 2;
    return refers ? n : SIZE_MAX;
}

static bool hold_against(tab_search *s, size_t column, keys *k, const tab_profile *p, size_t other)
{
    const tab_seen *v = &s->seen[column];
    uint32_t miss[MISSES];
    size_t n = misses(v, k, miss), held = v->present;
    double *odds = tab_arena_new_of(s->scratch, double, v->levels + 1);
    tab_str *to = tab_arena_new_of(s->scratch, tab_str, v->levels + 1);
    if (odds == NULL || to == NULL)
        return false;
    if (n == SIZE_MAX || n == 0)
        return true;
    count_twins(k);
    for (size_t i = 0; i < n; i++) {
        tab_str one = { NULL, 0 };
        size_t beside = v->text[miss[i]].n < SHORTEST ? 0 : near(k, v->text[miss[i]], &one);
        held -= v->count[miss[i]];
        if (beside > 0)
            odds[miss[i]] = 1 / (NEAR_BY * k->twins * pow(AGAIN, v->count[miss[i]] - 1.0) + DOUBT);
        to[miss[i]] = beside == 1 ? one : (tab_str){ NULL, 0 };
    }
    for (size_t row = 0; row < s->rows; row++) {
        uint32_t l = v->code[row];
        if (l == TAB_NULL || odds[l] == 0)
            continue;
        tab_suspect *c = tab_suspects_add(s, row, column, TAB_SUSPECT_REFERENCE);
        if (c == NULL)
            return false;
        c->f[0] = (float)log(odds[l]);
        c->suggestion = to[l].n > 0 ? tab_arena_copy(s->arena, to[l]) : to[l];
        c->agree = (uint32_t)held;
        c->of = (uint32_t)v->present;
        c->table = p;
        c->other = (uint32_t)other;
    }
    return true;
}

static bool refers(const tab_search *s, size_t column)
{
    const tab_seen *v = &s->seen[column];
    return v->levels > 1 && v->levels <= TAB_SUSPECT_LEVELS && v->num == NULL &&
           v->col->type != TAB_NUMERIC && v->present >= TAB_SUSPECT_ROWS &&
           v->col->column->layout == TAB_CODED;
}

void tab_suspects_references(tab_search *s)
{
    tab_arena *given = s->scratch;
    size_t cols = s->p->table->cols < TAB_SUSPECT_COLUMNS ? s->p->table->cols : TAB_SUSPECT_COLUMNS;
    for (size_t t = 0; t < s->tables && !s->failed; t++)
        for (size_t k = 0; k < s->all[t]->table->cols && k < TAB_SUSPECT_COLUMNS && s->all[t] != s->p; k++) {
            TAB_AUTO(tab_arena) *a = tab_arena_new(TAB_SUSPECT_BYTES);
            keys of;
            s->scratch = a;
            s->failed |= a == NULL || !keys_of(s, &s->all[t]->col[k], &of);
            for (size_t c = 0; !s->failed && of.n > 0 && c < cols && !tab_engine_cancelled(s->e); c++)
                if (refers(s, c))
                    s->failed |= !hold_against(s, c, &of, s->all[t], k);
            s->scratch = given;
        }
}
