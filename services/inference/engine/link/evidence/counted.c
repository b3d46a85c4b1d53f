/* Labels that count (A1 to A20, Team 1 to Team 24, Room 101 to Room 139) stand in two tables whatever these
 * count: the seats of two halls have the same names. Where two rows agree in nothing else, they are as likely
 * two as one (decision 0850). */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/align/text/normalize_text.h"
#include "services/inference/engine/link/evidence/contradictions.h"
#include "services/inference/engine/profile/roles/roles.h"

/* A value as the text around its figures and their number. */
typedef struct {
    uint64_t around;
    double number;
} label;

static int by_number(const void *a, const void *b)
{
    const label *x = a, *y = b;
    if (x->around != y->around)
        return x->around < y->around ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* False where the value does not hold letters and one run of up to nine digits. */
static bool read_label(tab_str s, label *ret)
{
    enum { MOST = 9 };
    size_t from = 0, to;
    while (from < s.n && (s.p[from] < '0' || s.p[from] > '9'))
        from++;
    *ret = (label){ 0, 0 };
    for (to = from; to < s.n && s.p[to] >= '0' && s.p[to] <= '9'; to++)
        ret->number = 10 * ret->number + (s.p[to] - '0');
    if (to == from || to - from > MOST || to - from == s.n)
        return false;
    for (size_t i = to; i < s.n; i++)
        if (s.p[i] >= '0' && s.p[i] <= '9')
            return false;
    ret->around = tab_hash_mix(tab_hash_bytes(s.p, from, 1), tab_hash_bytes(s.p + to, s.n - to, 1));
    return true;
}

/* Whether nine in ten of a column's values are labels, of one text each, that fill half of their range. An
 * address names one house wherever it stands. False in *ok: out of memory. */
static bool counts(const tab_views *v, const tab_view *w, bool *ok)
{
    enum { LEAST = 5 };
    size_t n = 0, counted = 0;
    if (w->kind != TAB_VIEW_TEXT || w->values < LEAST || w->profile->role == (int)TAB_ROLE_ADDRESS)
        return false;
    label *x = malloc(w->values * sizeof *x);
    *ok = *ok && x != NULL;
    for (uint32_t i = 0; x != NULL && i < w->values; i++)
        n += read_label(tab_value_text(v, &w->value[i]), &x[n]);
    if (x != NULL && n > 0)
        qsort(x, n, sizeof *x, by_number);
    for (size_t from = 0, to; x != NULL && from < n; from = to) {
        for (to = from + 1; to < n && x[to].around == x[from].around; to++)
            ;
        bool dense = x[to - 1].number - x[from].number < 2 * (double)(to - from);
        counted += dense && to - from >= LEAST ? to - from : 0;
    }
    free(x);
    return counted * 10 >= 9 * (size_t)w->values;
}

bool tab_counted_doubt(const tab_views *v, tab_linkage *l)
{
    static const double LITTLE = 2; /* nats */
    static const float EVEN = 0.5f;
    bool ok = true, any = false, *counted = calloc(l->attrs + 1, sizeof *counted);
    for (size_t k = 0; counted != NULL && ok && k < l->attrs; k++) {
        counted[k] = counts(v, &v->table[l->ta].col[l->attr[k].a], &ok) &&
                     counts(v, &v->table[l->tb].col[l->attr[k].b], &ok);
        any = any || counted[k];
    }
    for (size_t i = 0; counted != NULL && ok && any && i < l->c.n; i++) {
        double other = 0;
        for (size_t k = 0; k < l->attrs; k++)
            other += counted[k] ? 0 : fmax(0, tab_evidence(l, k, &l->c.agree[i * l->attrs + k]));
        if (other < LITTLE)
            l->c.p[i] = fminf(l->c.p[i], EVEN);
    }
    ok = ok && counted != NULL;
    free(counted);
    return ok;
}
