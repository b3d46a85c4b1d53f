/* A catalogue has an article in each of its sizes and colours: rows that are equal in all else, and never in
 * these, though of so many pairs some would be by chance. Rows that are one thing written twice agree in
 * any column more often than chance makes. Lists that were put together and say of each row whose it was
 * look the same, but one after the other in the file, and no thing stands in three rows. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/link/evidence/contradictions.h"

static const float ODDS = 0.02f; /* of rows that differ in what tells variants apart (decision 0706) */

enum { ASKED = 12 /* columns */, PAIRS = 200000 /* looked at */ };

typedef struct {
    const tab_twin_pairs *s;
    const tab_view *col[ASKED]; /* those of few values */
    size_t n;
    uint32_t *apart; /* (pairs) by column: the two differ */
    bool *otherwise; /* (pairs) they differ in another column of texts, or a cell is missing */
    bool *seen;      /* (rows) scratch */
} variants;

static uint32_t key_of(const tab_view *w, uint32_t row)
{
    return w->code[row] == TAB_NULL ? TAB_NULL : w->value[w->code[row]].key;
}

/* Whether a column's values lie one after the other in the file: its rows change half as often as chance
 * makes them. */
static bool in_blocks(const tab_view *w, size_t rows)
{
    double changes = 0, same = 0;
    for (uint32_t r = 1; r < rows; r++)
        changes += w->code[r] != w->code[r - 1];
    for (uint32_t i = 0; i < w->values; i++)
        same += (double)w->value[i].rows * (double)w->value[i].rows;
    return changes < 0.5 * ((double)rows - same / (double)rows);
}

/* The columns of few values that are not in blocks, those of fewest first. */
static void take_columns(variants *x)
{
    const tab_table_view *t = x->s->t[0];
    for (size_t k = x->s->l.attrs; k-- > 0 && x->n < ASKED;) {
        const tab_view *w = &t->col[x->s->l.attr[k].a];
        if (w->values * 4 <= t->rows && !in_blocks(w, t->rows))
            x->col[x->n++] = w;
    }
}

static void compare(variants *x, size_t i)
{
    const tab_twin_pairs *s = x->s;
    for (size_t k = 0; k < s->l.attrs; k++) {
        const tab_view *w = &s->t[0]->col[s->l.attr[k].a];
        size_t c = 0;
        while (c < x->n && x->col[c] != w)
            c++;
        bool differ = key_of(w, s->a[i]) != key_of(w, s->b[i]);
        if (c < x->n)
            x->apart[i] |= (uint32_t)differ << c;
        else
            x->otherwise[i] = x->otherwise[i] || (differ && w->kind == TAB_VIEW_TEXT);
    }
}

/* How often the rows of a pair of a's would agree in the columns of a set by chance. */
static double by_chance(const variants *x, uint32_t set, uint32_t row)
{
    double p = 1;
    for (size_t c = 0; c < x->n; c++) {
        const tab_view *w = x->col[c];
        if ((set >> c & 1) == 0)
            continue;
        if (w->code[row] == TAB_NULL)
            return 0;
        p *= ((double)w->value[w->code[row]].rows - 1) / (double)(w->present - 1);
    }
    return p;
}

/* Whether a pair's rows differ in nothing but columns of a set. */
static bool within(const variants *x, size_t i, uint32_t set)
{
    return !x->otherwise[i] && (x->apart[i] & ~set) == 0;
}

/* Whether rows that are equal but for a set of columns agree in that set less often than chance makes. */
static bool avoided(variants *x, uint32_t set, double least)
{
    const tab_twin_pairs *s = x->s;
    double expected = 0, agree = 0;
    size_t step = s->n / PAIRS + 1;
    memset(x->seen, false, s->rows * sizeof *x->seen);
    for (size_t i = 0; i < s->n; i += step) {
        if (!within(x, i, set))
            continue;
        agree += x->apart[i] == 0;
        if (!x->seen[s->a[i]]) /* pairs of one row depend on one another: it counts once */
            expected += by_chance(x, set, s->a[i]);
        x->seen[s->a[i]] = true;
    }
    if (agree >= expected)
        return false;
    /* Chernoff's bound of so few where so many are expected */
    return expected - agree + (agree > 0 ? agree * log(agree / expected) : 0) >= least;
}

/* Whether of the rows that differ from others in nothing but a set of columns a quarter differ so from
 * several: two lists that were put together hold each thing twice. */
static bool in_threes(const variants *x, uint32_t set)
{
    const tab_twin_pairs *s = x->s;
    size_t some = 0, several = 0;
    for (size_t r = 0; r < s->rows; r++) {
        size_t n = 0;
        for (uint64_t k = s->at[r]; k < s->at[r + 1]; k++)
            n += within(x, s->pair[k], set);
        some += n > 0;
        several += n > 1;
    }
    return several * 4 >= some;
}

static void part(variants *x, tab_twin_pairs *s)
{
    double least = log(100 * (double)(x->n * (x->n + 1) / 2));
    uint32_t set = 0;
    for (size_t c = 0; c < x->n; c++)
        for (size_t d = c; d < x->n; d++)
            if (avoided(x, 1u << c | 1u << d, least))
                set |= 1u << c | 1u << d;
    if (set == 0 || !in_threes(x, set))
        return;
    for (size_t i = 0; i < s->n; i++)
        if (x->apart[i] != 0 && within(x, i, set)) {
            s->p[i] = ODDS * s->p[i] / (1 - s->p[i] + ODDS * s->p[i]);
            s->copy[i] = s->copy[i] && s->p[i] >= 0.5f;
        }
}

bool tab_variants_part(tab_twin_pairs *s)
{
    variants x = { .s = s };
    take_columns(&x);
    if (x.n == 0)
        return true;
    x.apart = calloc(s->n + 1, sizeof *x.apart);
    x.otherwise = calloc(s->n + 1, sizeof *x.otherwise);
    x.seen = calloc(s->rows + 1, sizeof *x.seen);
    bool ok = x.apart != NULL && x.otherwise != NULL && x.seen != NULL;
    for (size_t i = 0; ok && i < s->n; i++)
        compare(&x, i);
    if (ok)
        part(&x, s);
    free(x.apart);
    free(x.otherwise);
    free(x.seen);
    return ok;
}
