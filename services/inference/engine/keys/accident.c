/* How unlikely it is that two tables hold the same values without having to do with one another (decision
 * 0795). A value is cut into parts: words, and single characters where there are digits. Values that
 * are cut alike (a word and a word; two letters and four digits) are a group; what its parts make, each with
 * each, is what might have stood there. A list that holds a good part of that is a list of everything (seats,
 * quarters, ages, months): two tables hold it without having to do with one another. Names, codes and numbers
 * of five digits are a small part. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/keys/inclusions_internal.h"
#include "services/inference/engine/profile/roles/roles.h"

/* Values that are looked at, and parts of each; FORM: bytes of how a value is cut. */
enum { LOOKED = 400, PARTS = 40, FORM = 64 };
/* What the parts make, over the values that are there, from which a list is not one of everything. */
static const double OPEN = 4;

/* A value cut into parts, and how. */
typedef struct {
    tab_str part[PARTS];
    char form[FORM];
    uint32_t parts;
} cut;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Letters of other scripts are bytes of 128 and more. */
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 128;
}

static void add_part(cut *x, tab_str s)
{
    if (x->parts < PARTS)
        x->part[x->parts++] = s;
}

/* A word is one part, and its length says nothing; with digits in it each character is one. */
static void cut_value(tab_str s, cut *x)
{
    size_t n = 0;
    *x = (cut){ 0 };
    for (size_t i = 0, end; i < s.n; i = end) {
        bool digits = false;
        for (end = i; end < s.n && (is_digit(s.p[end]) || is_letter(s.p[end])); end++)
            digits = digits || is_digit(s.p[end]);
        if (end == i) { /* what parts them */
            end++;
            if (n + 1 < FORM)
                x->form[n++] = s.p[i];
        } else if (!digits) {
            add_part(x, (tab_str){ s.p + i, end - i });
            if (n + 1 < FORM)
                x->form[n++] = 'w';
        } else {
            for (size_t k = i; k < end; k++) {
                add_part(x, (tab_str){ s.p + k, 1 });
                if (n + 1 < FORM)
                    x->form[n++] = 'c';
            }
        }
    }
}

/* For qsort. */
static int by_form(const void *a, const void *b)
{
    const cut *const *x = a, *const *y = b;
    return memcmp((*x)->form, (*y)->form, FORM);
}

static int by_text(const void *a, const void *b)
{
    const tab_str *x = a, *y = b;
    size_t n = x->n < y->n ? x->n : y->n;
    int d = n == 0 ? 0 : memcmp(x->p, y->p, n);
    return d != 0 ? d : (x->n > y->n) - (x->n < y->n);
}

/* Roles whose words everybody takes from one list: months, countries, languages. */
static bool is_known(int role)
{
    if (role < 0)
        return false;
    uint8_t family = tab_role_family[role];
    return tab_role_kinds[role] == TAB_KIND_CAT &&
           (family == TAB_FAMILY_PLACE || family == TAB_FAMILY_TIMEPART || family == TAB_FAMILY_VOCABULARY);
}

/* The logarithm of how many sets of n values there are among so many. */
static double log_sets(double made, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += log((made - (double)i) / ((double)i + 1));
    return sum;
}

/* The same of values x that are cut alike, by what their parts make. times: values that each of them stands
 * for; part: room for n. */
static double of_group(cut *const *x, size_t n, double times, tab_str *part)
{
    double made = 1;
    for (uint32_t k = 0; k < x[0]->parts; k++) {
        size_t unlike = 1;
        for (size_t i = 0; i < n; i++)
            part[i] = x[i]->part[k < x[i]->parts ? k : 0];
        qsort(part, n, sizeof *part, by_text);
        for (size_t i = 1; i < n; i++)
            unlike += by_text(&part[i - 1], &part[i]) != 0;
        made = fmin(made * (double)unlike, 1e15);
    }
    return made >= OPEN * times * (double)n ? log_sets(made, n) : 0;
}

bool tab_key_other_sets(const tab_views *v, const tab_key_column *c, double *ret)
{
    const tab_view *w = &v->table[c->table].col[c->column];
    size_t n = w->values < LOOKED ? w->values : LOOKED;
    if (c->kind == TAB_KEY_DATE || (c->kind == TAB_KEY_TEXT && is_known(w->profile->role))) {
        *ret = 0;
        return true;
    }
    cut *x = malloc((n + 1) * sizeof *x), **order = malloc((n + 1) * sizeof *order);
    tab_str *part = malloc((n + 1) * sizeof *part);
    bool ok = x != NULL && order != NULL && part != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        cut_value(tab_value_text(v, &w->value[i]), &x[i]);
        order[i] = &x[i];
    }
    if (ok) {
        double sum = 0;
        qsort(order, n, sizeof(cut *), by_form);
        for (size_t from = 0, to; from < n; from = to) {
            for (to = from + 1; to < n && by_form(&order[from], &order[to]) == 0; to++)
                ;
            sum += of_group(order + from, to - from, (double)w->values / (double)n, part);
        }
        *ret = sum;
    }
    free(x);
    free(order);
    free(part);
    return ok;
}
