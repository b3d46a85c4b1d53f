/* Rows that break a law of their table and are no errors, since they are another kind of thing: nearly all
 * rows of a value of another column break it ("month: 11" where a bonus is paid, "status: discontinued").
 *
 * * A value tells its rows apart where the law fails in at least FAILS of them, and where chance, at the
 * rate at which it fails in the whole table, would make as many in less than FALSE of all values that are
 * looked at (Chernoff's bound on a binomial tail; Bonferroni). Decision 0836. */
#include <math.h>

#include "services/inference/engine/suspects/parts.h"

enum { FEWEST = 3 };
static const double FAILS = 0.8, FALSE_KINDS = 0.01;

/* Whether of the cells of a value so many break the law by no chance. share: of all rows that do. */
static bool is_kind(double broken, double cells, double share, double looks)
{
    double q = broken / cells;
    if (broken < FEWEST || q < FAILS || q <= share)
        return false;
    double bound = q * log(q / share) + (q < 1 ? (1 - q) * log((1 - q) / (1 - share)) : 0);
    return cells * bound > log(looks / FALSE_KINDS);
}

static bool takes_part(const size_t *own, size_t n, size_t column)
{
    for (size_t i = 0; i < n; i++)
        if (own[i] == column)
            return true;
    return false;
}

/* The rows of each value that were judged; broken: how many of these break the law. Values of which too
 * few can break it keep 0. False: none is left. */
static bool count_judged(const tab_search *s, const tab_seen *v, const uint8_t *judged, size_t unjudged,
                         const uint32_t *broken, uint32_t *ret)
{
    bool any = false;
    for (size_t l = 0; l < v->levels; l++) /* of no more than these the judgement is missing */
        any |= broken[l] >= FEWEST && broken[l] >= FAILS * ((double)v->count[l] - (double)unjudged);
    for (size_t i = 0; any && i < s->rows; i++)
        if (judged[i] != 0 && v->code[i] != TAB_NULL)
            ret[v->code[i]]++;
    return any;
}

/* Marks the broken rows that the values of v tell apart. False: memory ran out. */
static bool by_column(tab_search *s, const tab_seen *v, uint8_t *judged, size_t n, size_t broken_n,
                      double cols)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(TAB_SUSPECT_BYTES);
    uint32_t *broken = a == NULL ? NULL : tab_arena_new_of(a, uint32_t, v->levels + 1);
    uint32_t *cells = a == NULL ? NULL : tab_arena_new_of(a, uint32_t, v->levels + 1);
    double share = (double)broken_n / (double)n, looks = (double)v->levels * cols;
    if (broken == NULL || cells == NULL)
        return false;
    for (size_t i = 0; i < s->rows; i++)
        if (judged[i] >= TAB_LAW_BROKEN && v->code[i] != TAB_NULL)
            broken[v->code[i]]++;
    if (!count_judged(s, v, judged, s->rows - n, broken, cells))
        return true;
    for (size_t i = 0; i < s->rows; i++) {
        uint32_t l = v->code[i];
        if (judged[i] == TAB_LAW_BROKEN && l != TAB_NULL && is_kind(broken[l], cells[l], share, looks))
            judged[i] = TAB_LAW_OTHER_KIND;
    }
    return true;
}

bool tab_suspects_told_apart(tab_search *s, uint8_t *judged, const size_t *own, size_t owns)
{
    size_t cols = s->p->table->cols < TAB_SUSPECT_COLUMNS ? s->p->table->cols : TAB_SUSPECT_COLUMNS;
    size_t n = 0, broken = 0;
    for (size_t i = 0; i < s->rows; i++)
        n += judged[i] != 0, broken += judged[i] == TAB_LAW_BROKEN;
    for (size_t c = 0; broken >= FEWEST && broken < n && c < cols; c++) {
        const tab_seen *v = &s->seen[c];
        bool tells = v->code != NULL && v->levels >= 2 && !v->key && !takes_part(own, owns, c);
        if (tells && !by_column(s, v, judged, n, broken, (double)cols))
            return false;
    }
    return true;
}
