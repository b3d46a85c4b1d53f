/* Rare forms that are no slip (spelling.c): a mark that several values have behind them, addresses of another
 * version, and numbers below 0 to which the column's lower tail goes on. Decision 0836. */
#include <math.h>
#include <stdlib.h>

#include "common/base/hash.h"
#include "common/base/order.h"
#include "services/inference/engine/profile/cells/checksum.h"
#include "services/inference/engine/suspects/given.h"

enum { SIGNS = 128, MARKED = 4 };
static const double RARE = 0.03;     /* of the cells have a sign that begins a mark */
static const double LEAST = 0.3;     /* cells as far out that the tail makes */
static const double ADDRESSES = 0.9; /* of the cells are, in a column of addresses */
static const double BEGINS = 0.02, RISES = 0.1;

/* ---- marks --------------------------------------------------------------------------------------------- */

static bool of_word(unsigned char c)
{
    char k = tab_sign_class(c);
    return k == 'a' || k == '9';
}

/* Where what follows a sign begins that next to no cell has ("+build.5", "(discontinued)"); t.n: nowhere. */
static size_t mark_of(tab_str t, const uint32_t *cells, double most)
{
    size_t i = 0;
    while (i < t.n && (of_word((unsigned char)t.p[i]) || cells[(unsigned char)t.p[i]] > most))
        i++;
    return i == 0 ? t.n : i;
}

/* The cells that each sign stands in. */
static void cells_of_signs(const tab_seen *v, uint32_t *cells)
{
    for (size_t l = 0; l < v->levels; l++) {
        bool seen[SIGNS] = { false };
        for (size_t i = 0; i < v->text[l].n; i++) {
            unsigned char c = (unsigned char)v->text[l].p[i];
            if (c < SIGNS && !seen[c])
                seen[c] = true, cells[c] += v->count[l];
        }
    }
}

static int by_form(const void *a, const void *b)
{
    const tab_formed *x = a, *y = b;
    return x->form != y->form ? (x->form > y->form) - (x->form < y->form)
                              : (x->level > y->level) - (x->level < y->level);
}

bool tab_suspects_marked_alike(tab_search *s, const tab_seen *v, bool *ret)
{
    uint32_t cells[SIGNS] = { 0 };
    tab_formed *f = tab_arena_new_of(s->scratch, tab_formed, v->levels + 1);
    size_t n = 0;
    if (f == NULL || v->num != NULL)
        return f != NULL;
    cells_of_signs(v, cells);
    for (size_t l = 0; l < v->levels; l++) {
        tab_str t = v->text[l];
        size_t at = mark_of(t, cells, RARE * (double)v->present);
        if (at + 1 < t.n) /* one sign alone may be a slip of many */
            f[n++] = (tab_formed){ tab_fnv1a(TAB_FNV1A, t.p + at, t.n - at), (uint32_t)l };
    }
    if (n > 0)
        qsort(f, n, sizeof *f, by_form);
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i; k < n && f[k].form == f[i].form; k++)
            ;
        for (size_t j = i; j < k && k - i >= MARKED; j++)
            ret[f[j].level] = true;
    }
    return true;
}

/* ---- addresses ----------------------------------------------------------------------------------------- */

/* Whether t is an address of a host, of version 4 or 6. */
static bool is_address(tab_str t)
{
    return (tab_checks_of(t) & (1ULL << TAB_CHECK_IPV4 | 1ULL << TAB_CHECK_IPV6)) != 0;
}

bool tab_suspects_addresses(const tab_seen *v, bool *ret)
{
    size_t cells = 0, looked = 0;
    for (size_t l = 0; l < v->levels; l++) {
        bool is = is_address(v->text[l]);
        looked += v->count[l], cells += is ? v->count[l] : 0;
        if (looked >= TAB_SUSPECT_ROWS && 2 * cells < looked)
            return false;
    }
    if ((double)cells < ADDRESSES * (double)v->present)
        return false;
    for (size_t l = 0; l < v->levels; l++)
        ret[l] |= is_address(v->text[l]);
    return true;
}

/* ---- below 0 ------------------------------------------------------------------------------------------- */

bool tab_suspects_lower_tail(const tab_search *s, const tab_seen *v, const float *rough, tab_lower_tail *ret)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(TAB_SUSPECT_BYTES);
    size_t n = 0;
    *ret = (tab_lower_tail){ 0 };
    if (v->num == NULL || v->col->type != TAB_NUMERIC)
        return true;
    for (size_t i = 0; i < s->rows; i++)
        n += isfinite(v->num[i]);
    size_t most = n < TAB_SUSPECT_QUANTILES ? n : TAB_SUSPECT_QUANTILES;
    double *x = a == NULL ? NULL : tab_arena_new_of(a, double, most + 1);
    if (x == NULL)
        return false;
    size_t k = tab_sampled_numbers(v->num, s->rows, n, x);
    if (k < TAB_SUSPECT_ROWS)
        return true;
    qsort(x, k, sizeof *x, tab_ascending_double);
    ret->begins = tab_quantile_of(x, k, BEGINS);
    ret->falls = (tab_quantile_of(x, k, RISES) - ret->begins) / log(RISES / BEGINS);
    ret->cells = BEGINS * (double)n;
    for (size_t l = 0; l < v->levels; l++)
        if (rough[l] >= 1)
            ret->form = tab_suspects_form(v->text[l], false);
    return true;
}

bool tab_in_lower_tail(const tab_lower_tail *q, tab_str t, double x)
{
    if (!(x < 0) || !(q->falls > 0) || t.n < 2 || t.p[0] != '-')
        return false;
    bool by_sign = tab_suspects_form((tab_str){ t.p + 1, t.n - 1 }, false) == q->form;
    return by_sign && q->cells * exp(fmin(0, (x - q->begins) / q->falls)) >= LEAST;
}
