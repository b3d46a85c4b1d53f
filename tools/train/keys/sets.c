/* See sets.h. */
#include "tools/train/keys/sets.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/train/keys/newton.h"

enum { D = TAB_KEY_SET_FEATURES, W = D + 1, BINS = 3 };
/* L2: of 1, 3 and 10 the one of the least log loss on kinds that are left out. */
static const double L2 = 3;

static size_t candidates(const schema *s, newton_rows *r)
{
    for (size_t q = 0; r != NULL && q < s->sets; q++)
        newton_rows_add(r, s->set[q].f, schema_has_set(s, &s->set[q]));
    return s->sets;
}

bool sets_write(const schema *s, size_t n, const char *path)
{
    static const char *const name[] = {
#define TAB_X(name) #name,
        TAB_KEY_SET_FEATURE_LIST(TAB_X)
#undef TAB_X
    };
    double w[W];
    return schemas_fit(s, n, NULL, candidates, D, L2, w) &&
           newton_write(path, "set", "SET", "sets.h", name, D, w);
}

/* What is chosen in some schemas, and how sure of it. */
typedef struct {
    size_t right, wrong, missed;
    double sum[BINS], yes[BINS], n[BINS];
} judged;

static int bin_of(double p)
{
    static const double from[BINS] = { 0, 0.8, 0.95 };
    int b = BINS - 1;
    while (p < from[b])
        b--;
    return b;
}

static void name_set(const schema *s, const char *what, double p, const uint32_t *child,
                     const uint32_t *parent, uint32_t n)
{
    printf("  %s %.2f", what, p);
    for (uint32_t i = 0; i < n; i++)
        printf(" %s", s->title[child[i]]);
    printf(" >");
    for (uint32_t i = 0; i < n; i++)
        printf(" %s", s->title[parent[i]]);
    printf("\n");
}

static bool judge(schema *s, const double *w, bool verbose, judged *j)
{
    tab_key_set *x = malloc((s->sets + 1) * sizeof *x);
    if (x == NULL)
        return false;
    if (s->sets > 0)
        memcpy(x, s->set, s->sets * sizeof *x);
    size_t said = tab_key_sets_choose(&s->search, w, x, s->sets), right = 0;
    for (size_t i = 0; i < said; i++) {
        bool is = schema_has_set(s, &x[i]);
        int b = bin_of(x[i].p);
        j->sum[b] += x[i].p;
        j->yes[b] += is;
        j->n[b]++;
        right += is;
        j->wrong += !is;
        if (verbose && !is)
            name_set(s, "wrong ", x[i].p, x[i].child, x[i].parent, x[i].n);
    }
    for (size_t k = 0; k < s->truths; k++) {
        const true_key *t = &s->truth[k];
        bool found = t->n == 1;
        for (size_t i = 0; i < said && !found; i++)
            found = schema_is_set(&x[i], t);
        double p = 0;
        for (size_t i = 0; i < s->sets; i++)
            if (schema_is_set(&s->set[i], t))
                p = tab_key_set_p(&s->set[i], w);
        j->missed += !found;
        if (verbose && !found)
            name_set(s, "missed", p, t->child, t->parent, t->n);
    }
    j->right += right;
    free(x);
    return true;
}

static void say(const char *name, const judged *j)
{
    double error = 0, all = 0;
    printf("%-14s recall %.3f precision %.3f  (%zu of %zu, %zu wrong)\n", name,
           (double)j->right / fmax((double)(j->right + j->missed), 1),
           (double)j->right / fmax((double)(j->right + j->wrong), 1), j->right, j->right + j->missed,
           j->wrong);
    for (int b = 0; b < BINS; b++)
        if (j->n[b] > 0) {
            printf("  said %.2f  right %.2f  (%.0f)\n", j->sum[b] / j->n[b], j->yes[b] / j->n[b], j->n[b]);
            error += fabs(j->sum[b] - j->yes[b]);
            all += j->n[b];
        }
    if (all > 0)
        printf("  calibration error %.3f of %.0f said\n", error / all, all);
}

bool sets_leave_out(schema *s, size_t n, bool verbose)
{
    enum { SILENT, PUBLIC, MADE, KINDS };
    static const char *const kind[] = { "teach nothing", "public", "made" };
    judged all[KINDS] = { 0 };
    for (size_t i = 0; i < n; i++) {
        double w[W];
        judged *j = &all[s[i].silent ? SILENT : strncmp(s[i].family, "made", 4) == 0 ? MADE : PUBLIC];
        if (verbose)
            printf("%s\n", s[i].name);
        if (!schemas_fit(s, n, s[i].family, candidates, D, L2, w) || !judge(&s[i], w, verbose, j))
            return false;
    }
    for (int k = 0; k < KINDS; k++)
        say(kind[k], &all[k]);
    return true;
}
