/* See composed.h. A part is a column whose words stand in the whole's; the parts make up the whole where
 * no word of it is left, but for initials. Chance is the same row beside another pair's row. */
#include "services/inference/engine/align/composed.h"

#include "services/inference/engine/align/agreement.h"

enum { FEWEST = 5, MOST_PARTS = 4, MOST_WORDS = 12 };

static const tab_value *value_at(const tab_view *w, uint32_t row)
{
    return w->code[row] == TAB_NULL ? NULL : &w->value[w->code[row]];
}

/* Marks the words of the whole that the part has; false: it has others, or none. */
static bool marks(const tab_views *v, const tab_value *part, const tab_value *whole, uint32_t *seen)
{
    uint32_t found = 0;
    for (uint32_t i = 0, j = 0; i < part->tok_n && j < whole->tok_n;) {
        uint32_t p = v->tok[part->tok + i], q = v->tok[whole->tok + j];
        if (p == q) {
            *seen |= 1u << j;
            found++;
        }
        i += p <= q;
        j += q <= p;
    }
    return found > 0 && found == part->tok_n;
}

/* What one side's table says of one whole of the other's. */
typedef struct {
    const tab_views *v;
    const tab_table_view *parts, *wholes;
    const tab_view *whole;
    const uint32_t *part_row, *whole_row;
    const float *shared;
    size_t n, shift; /* the whole of another pair, for chance */
} side;

/* Whether pair k counts: there is a whole, and it is not what the two rows were chosen for. */
static const tab_value *whole_of(const side *s, size_t k)
{
    const tab_value *x = value_at(s->whole, s->whole_row[(k + s->shift) % s->n]);
    return x == NULL || x->tok_n < 2 || x->tok_n > MOST_WORDS ? NULL : x;
}

static float weight_of(const tab_views *v, const tab_value *x, uint32_t seen)
{
    float sum = 0;
    for (uint32_t i = 0; i < x->tok_n; i++)
        sum += seen >> i & 1 ? v->idf[v->tok[x->tok + i]] : 0;
    return sum;
}

/* In how many of the pairs that have a whole (*of) column c is part of it. */
static size_t held(const side *s, size_t c, size_t *of)
{
    size_t n = 0;
    *of = 0;
    for (size_t k = 0; k < s->n; k++) {
        const tab_value *x = whole_of(s, k), *y = value_at(&s->parts->col[c], s->part_row[k]);
        uint32_t seen = 0;
        *of += x != NULL && y != NULL;
        n += x != NULL && y != NULL && marks(s->v, y, x, &seen);
    }
    return n;
}

/* In how many pairs (*of) the parts make up the whole; each has a word of its own in it. */
static size_t made_up(const side *s, const size_t *part, size_t parts, size_t *of)
{
    size_t n = 0;
    *of = 0;
    for (size_t k = 0; k < s->n; k++) {
        const tab_value *x = whole_of(s, k);
        uint32_t seen = 0;
        if (x == NULL)
            continue;
        bool all = true;
        for (size_t i = 0; i < parts; i++) {
            const tab_value *y = value_at(&s->parts->col[part[i]], s->part_row[k]);
            uint32_t before = seen;
            all = y != NULL && marks(s->v, y, x, &seen) && seen != before && all;
        }
        if (s->shift == 0 && weight_of(s->v, x, seen) > TAB_AGREEMENT_ELSEWHERE * s->shared[k])
            continue;
        for (uint32_t i = 0; i < x->tok_n; i++) /* initials */
            if (s->v->term_n[s->v->tok[x->tok + i]] == 1)
                seen |= 1u << i;
        (*of)++;
        n += all && seen == (1u << x->tok_n) - 1;
    }
    return n;
}

/* Whether column c has a column of its own in the whole's table, with which it agrees in most of the
 * pairs: an album that stands behind the title as well as by itself. */
static bool has_own(const side *s, size_t c)
{
    for (size_t j = 0; j < s->wholes->cols; j++) {
        const tab_view *x = &s->parts->col[c], *y = &s->wholes->col[j];
        size_t equal = 0, of = 0;
        for (size_t k = 0; k < s->n && y != s->whole; k++) {
            const tab_value *p = value_at(x, s->part_row[k]), *q = value_at(y, s->whole_row[k]);
            of += p != NULL && q != NULL;
            equal += p != NULL && q != NULL && p->key == q->key;
        }
        if (of >= FEWEST && 2 * equal > of)
            return true;
    }
    return false;
}

/* The columns that are part of the whole in most of the pairs, and how well they make it up. *chief: of those
 * without a column of their own the one of most values; share 0 where there is none. */
static tab_composed compose(side *s, size_t *chief)
{
    size_t part[MOST_PARTS], parts = 0, of, by_chance;
    for (size_t c = 0; c < s->parts->cols && parts < MOST_PARTS; c++) {
        const tab_view *w = &s->parts->col[c];
        if (w->kind != TAB_VIEW_TEXT || w->values < 2 || w->values > s->whole->values)
            continue;
        size_t n = held(s, c, &of);
        if (of >= FEWEST && 2 * n > of)
            part[parts++] = c;
    }
    tab_composed r = { 0 };
    *chief = SIZE_MAX;
    for (size_t i = 0; i < parts && parts > 1; i++)
        if ((*chief == SIZE_MAX || s->parts->col[part[i]].values > s->parts->col[*chief].values) &&
            !has_own(s, part[i]))
            *chief = part[i];
    if (*chief == SIZE_MAX)
        return r;
    size_t n = made_up(s, part, parts, &of);
    s->shift = 1 + s->n / 3;
    size_t lucky = made_up(s, part, parts, &by_chance);
    s->shift = 0;
    if (of < FEWEST || by_chance == 0 || n * by_chance <= lucky * of)
        return r;
    r.pairs = (float)of;
    r.share = (float)n / (float)of - (float)lucky / (float)by_chance;
    return r;
}

void tab_composed_find(const tab_views *v, const tab_table_view *a, const tab_table_view *b,
                       const tab_row_pairs *rows, const float *shared, tab_composed *ret)
{
    for (size_t i = 0; i < a->cols * b->cols; i++)
        ret[i] = (tab_composed){ 0 };
    for (int back = 0; back < 2 && rows->n >= FEWEST; back++) {
        const tab_table_view *parts = back ? b : a, *wholes = back ? a : b;
        for (size_t j = 0; j < wholes->cols; j++) {
            if (wholes->col[j].kind != TAB_VIEW_TEXT || wholes->col[j].values < 2)
                continue;
            side s = { .v = v,
                       .parts = parts,
                       .wholes = wholes,
                       .whole = &wholes->col[j],
                       .part_row = back ? rows->b : rows->a,
                       .whole_row = back ? rows->a : rows->b,
                       .shared = shared,
                       .n = rows->n };
            size_t i = 0;
            tab_composed r = compose(&s, &i);
            if (r.share > 0)
                ret[back ? j * b->cols + i : i * b->cols + j] = r;
        }
    }
}
