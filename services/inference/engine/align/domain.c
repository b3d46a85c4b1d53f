/* See domain.h and decision 0171: how well a list of values explains a column, for align.c. The comparison is
 * value by value, so only short lists are compared. */
#include "services/inference/engine/align/domain.h"

#include <math.h>

/* Lists longer than LONG are left out: the comparison is quadratic. A common mark has at most MARK bytes:
 * longer beginnings are words. LONG bounds cost; 128 and 512 give the same F1 (decision 0307). MARK of other
 * sizes was not tried. */
enum { LONG = 256, MARK = 3 };

/* Squared idf of the words that two values share, over the geometric mean of what each has: a cosine. */
static double words_shared(const tab_views *v, const tab_value *x, const tab_value *y)
{
    double both = 0, xx = 0, yy = 0;
    uint32_t i = 0, j = 0;
    while (i < x->tok_n || j < y->tok_n) {
        /* a walk along both sorted lists of tokens; an id that one side has alone adds to that side's
         * length */
        uint32_t p = i < x->tok_n ? v->tok[x->tok + i] : UINT32_MAX,
                 q = j < y->tok_n ? v->tok[y->tok + j] : UINT32_MAX;
        double w = (double)v->idf[p < q ? p : q];
        both += p == q ? w * w : 0;
        xx += p <= q ? w * w : 0;
        yy += q <= p ? w * w : 0;
        i += p <= q;
        j += q <= p;
    }
    return both > 0 ? both / sqrt(xx * yy) : 0;
}

/* Bytes that all values of w begin with, at most MARK, less than any has. */
static size_t mark_of(const tab_views *v, const tab_view *w)
{
    tab_str first = tab_value_text(v, &w->value[0]);
    size_t n = MARK;
    for (uint32_t i = 0; i < w->values; i++) {
        tab_str s = tab_value_text(v, &w->value[i]);
        /* what this value has in common with the first one, and leaves something behind it */
        size_t k = 0;
        while (k < n && k + 1 < s.n && k < first.n && s.p[k] == first.p[k])
            k++;
        n = k;
    }
    return w->values > 1 ? n : 0;
}

/* Values that the list holds without their first n bytes. */
static tab_domain_match unmarked(const tab_views *v, const tab_view *w, const tab_view *list, size_t n)
{
    tab_domain_match hit = { 0 };
    for (uint32_t i = 0; i < w->values; i++) {
        tab_str s = tab_value_text(v, &w->value[i]);
        s.p += n;
        s.n -= n;
        for (uint32_t j = 0; j < list->values; j++)
            if (tab_str_eq(s, tab_value_text(v, &list->value[j]))) {
                /* the first of equal values is enough: a list has each once */
                hit.values++;
                hit.rows += w->value[i].rows;
                break;
            }
    }
    return hit;
}

/* The better of two explanations: by words, and by a common mark that is taken off. */
tab_domain_match tab_domain_soft(const tab_views *v, const tab_view *w, const tab_view *list, bool words)
{
    tab_domain_match best = { 0 };
    if (w->values > LONG || list->values > LONG || w->values == 0)
        return best;
    for (uint32_t i = 0; i < w->values && words; i++) {
        /* by words: each value's nearest in the list */
        double near = 0;
        for (uint32_t j = 0; j < list->values && near < 1; j++)
            near = fmax(near, w->value[i].key == list->value[j].key
                                  ? 1
                                  : words_shared(v, &w->value[i], &list->value[j]));
        best.values += near;
        best.rows += near * w->value[i].rows;
    }
    /* by a mark taken off: every length of it is tried */
    for (size_t n = mark_of(v, w); n > 0; n--) {
        tab_domain_match m = unmarked(v, w, list, n);
        best = m.values > best.values ? m : best;
    }
    return (tab_domain_match){ best.values / w->values, best.rows / (double)w->present };
}

/* A list of 0 or 1 and on holds small counts of any column by chance; one that begins elsewhere is no such
 * list. */
double tab_domain_chance(const tab_view *w, const tab_view *list)
{
    if (list->values > LONG)
        return 0;
    /* the range of w, and how many whole numbers in it the list holds */
    double least = INFINITY, most = -INFINITY, held = 0, first = INFINITY;
    for (uint32_t i = 0; i < w->values; i++) {
        least = fmin(least, w->value[i].number); /* of a number and NaN the number */
        most = fmax(most, w->value[i].number);
    }
    for (uint32_t j = 0; j < list->values; j++) {
        double x = list->value[j].number;
        first = fmin(first, x);
        held += x >= least && x <= most && x == floor(x);
    }
    return held > 0 && first <= 1 ? fmin(held / (floor(most) - ceil(least) + 1), 1) : 0;
}
