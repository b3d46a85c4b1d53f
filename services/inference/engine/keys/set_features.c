/* Features of references by several columns (sets.h names each): what one candidate tells, then what all of
 * them together tell. They were chosen by the log loss of whole kinds of made schemas that were left out;
 * what told nothing more there is not here (decision 0461). */
#include <math.h>

#include "services/inference/engine/keys/sets.h"

static bool among(const uint32_t *col, uint32_t n, uint32_t c)
{
    bool is = false;
    for (uint32_t i = 0; i < n; i++)
        is = is || col[i] == c;
    return is;
}

/* Whether columns a and b are the same, in any order. */
static bool same_columns(const uint32_t *a, uint32_t n, const uint32_t *b, uint32_t m)
{
    bool same = n == m;
    for (uint32_t i = 0; same && i < n; i++)
        same = among(b, m, a[i]);
    return same;
}

/* Where the child's columns stand: how many others are between them, and whether they rise as the parent's
 * do. */
static void say_places(const tab_key_set *x, float *f)
{
    uint32_t first = UINT32_MAX, last = 0;
    bool mine = true, theirs = true;
    for (uint32_t i = 0; i < x->n; i++) {
        mine = mine && (i == 0 || x->child[i] > x->child[i - 1]);
        theirs = theirs && (i == 0 || x->parent[i] > x->parent[i - 1]);
        first = x->child[i] < first ? x->child[i] : first;
        last = x->child[i] > last ? x->child[i] : last;
    }
    f[TAB_KEY_SET_F_APART] = fminf((float)(last + 1 - first - x->n), 9);
    f[TAB_KEY_SET_F_ORDER] = mine == theirs;
}

/* What a candidate tells by itself. */
static void say(const tab_key_set_search *s, tab_key_set *x)
{
    double loose = 0, refers = 1, chance = 1, values = 1, parent_values = 1;
    for (uint32_t i = 0; i < x->n; i++) {
        loose += s->key[x->child[i]] == TAB_NULL && s->key[x->parent[i]] == TAB_NULL;
        refers = fmin(refers, s->refers[x->child[i]]);
        chance = fmin(chance, x->chance[i]);
        values = fmax(values, s->k->col[x->child[i]].n);
        parent_values = fmax(parent_values, s->k->col[x->parent[i]].n);
    }
    float *f = x->f;
    f[TAB_KEY_SET_F_MISSED] = (float)(1 - (double)x->held / x->tuples);
    f[TAB_KEY_SET_F_COVERED] = (float)((double)x->held / x->parent_tuples);
    f[TAB_KEY_SET_F_CHANCE_LEAST] = (float)log(fmax(chance, 1e-4));
    f[TAB_KEY_SET_F_LOOSE] = (float)(loose / x->n);
    f[TAB_KEY_SET_F_REFERS] = (float)refers;
    f[TAB_KEY_SET_F_EXACT] = (float)(1 - x->parent_tuples / (double)x->parent_rows);
    f[TAB_KEY_SET_F_ONCE] = (float)(x->tuples / (double)x->child_rows);
    f[TAB_KEY_SET_F_ROWS] = (float)log((double)x->child_rows / (double)x->parent_rows);
    f[TAB_KEY_SET_F_WITHIN] = (float)fmax(log(x->tuples / values), 0);
    f[TAB_KEY_SET_F_PARENT_WITHIN] = (float)fmax(log(x->parent_tuples / parent_values), 0);
    say_places(x, f);
}

/* Whether x and y are ways in which one table refers to another that have columns of the child in common. */
static bool alike(const tab_key_set_search *s, const tab_key_set *x, const tab_key_set *y)
{
    const tab_key_column *col = s->k->col;
    bool any = false;
    for (uint32_t i = 0; i < x->n; i++)
        any = any || among(y->child, y->n, x->child[i]);
    return any && col[x->child[0]].table == col[y->child[0]].table &&
           col[x->parent[0]].table == col[y->parent[0]].table;
}

/* Whether the parent's columns of x stand before those of y, or are the same. */
static bool before(const tab_key_set *x, const tab_key_set *y)
{
    for (uint32_t i = 0; i < x->n && i < y->n; i++)
        if (x->parent[i] != y->parent[i])
            return x->parent[i] < y->parent[i];
    return true;
}

/* What the others tell of x[i]. */
static void compete(const tab_key_set_search *s, tab_key_set *x, size_t n, size_t i)
{
    tab_key_set *r = &x[i];
    size_t others = 0, up = 0;
    double least = r->parent_tuples, held = (double)r->held / r->tuples;
    bool back = false, first = true;
    for (size_t o = 0; o < n; o++) {
        const tab_key_set *y = &x[o];
        bool mine = same_columns(r->child, r->n, y->child, y->n);
        bool above = same_columns(r->parent, r->n, y->child, y->n);
        if (o == i)
            continue;
        if (alike(s, r, y)) {
            double other = (double)y->held / y->tuples;
            first = first && (other < held || (other == held && before(r, y)));
        } else if (mine) {
            others++;
            least = fmin(least, y->parent_tuples);
        }
        up += above;
        back = back || (above && same_columns(r->child, r->n, y->parent, y->n));
    }
    r->f[TAB_KEY_SET_F_OTHERS] = (float)log1p((double)others);
    r->f[TAB_KEY_SET_F_SMALLEST] = (float)log(r->parent_tuples / least);
    r->f[TAB_KEY_SET_F_FIRST] = first;
    r->f[TAB_KEY_SET_F_PARENT_UP] = (float)log1p((double)up);
    r->f[TAB_KEY_SET_F_BACK] = back;
}

void tab_key_sets_features(const tab_key_set_search *s, tab_key_set *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        say(s, &x[i]);
    for (size_t i = 0; i < n; i++)
        compete(s, x, n, i);
}
