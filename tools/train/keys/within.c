/* See within.h. */
#include "tools/train/keys/within.h"

#include <math.h>
#include <stdio.h>

#include "tools/train/keys/newton.h"

enum { D = TAB_KEY_WITHIN_FEATURES, BINS = 4 };
/* L2: of 0.1, 0.3, 1 and 3 one of the least error on families that teach and are left out. */
static const double L2 = 1, HALF = 0.5;

static bool is_key(const tab_key_within *x, const true_key *t)
{
    return t->n == 1 && t->child[0] == x->child && t->parent[0] == x->parent;
}

static bool is_true(const schema *s, const tab_key_within *x)
{
    bool is = false;
    for (size_t k = 0; k < s->truths; k++)
        is = is || is_key(x, &s->truth[k]);
    return is;
}

static size_t candidates(const schema *s, newton_rows *r)
{
    for (size_t q = 0; r != NULL && q < s->owns; q++)
        newton_rows_add(r, s->own[q].f, is_true(s, &s->own[q]));
    return s->owns;
}

bool within_write(const schema *s, size_t n, const char *path)
{
    static const char *const name[] = {
#define TAB_X(name) #name,
        TAB_KEY_WITHIN_FEATURE_LIST(TAB_X)
#undef TAB_X
    };
    double w[D + 1];
    return schemas_fit(s, n, NULL, candidates, D, L2, w) &&
           newton_write(path, "within", "WITHIN", "within.h", name, D, w);
}

typedef struct {
    size_t right, wrong, missed;
    double sum[BINS], yes[BINS], n[BINS], error, all;
} judged;

static void judge(const schema *s, const double *w, bool verbose, judged *j)
{
    for (size_t i = 0; i < s->owns; i++) {
        const tab_key_within *x = &s->own[i];
        double p = tab_key_within_p(x, w);
        bool is = is_true(s, x);
        int b = p >= 1 ? BINS - 1 : (int)(p * BINS);
        j->sum[b] += p;
        j->yes[b] += is;
        j->n[b]++;
        j->right += p >= HALF && is;
        j->wrong += p >= HALF && !is;
        if (verbose && (p >= HALF) != is)
            printf("  %s %.2f %s > %s\n", is ? "missed" : "wrong ", p, s->title[x->child],
                   s->title[x->parent]);
    }
    for (size_t k = 0; k < s->truths; k++) {
        const true_key *t = &s->truth[k];
        bool own = t->n == 1 && s->k.col[t->child[0]].table == s->k.col[t->parent[0]].table, found = !own;
        for (size_t i = 0; i < s->owns && !found; i++)
            found = is_key(&s->own[i], t) && tab_key_within_p(&s->own[i], w) >= HALF;
        j->missed += !found;
    }
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
        printf("  calibration error %.3f of %.0f candidates\n", error / all, all);
}

bool within_leave_out(const schema *s, size_t n, bool verbose)
{
    enum { SILENT, PUBLIC, MADE, KINDS };
    static const char *const kind[] = { "teach nothing", "public", "made" };
    judged all[KINDS] = { 0 };
    for (size_t i = 0; i < n; i++) {
        double w[D + 1];
        judged *j = &all[s[i].silent ? SILENT : strncmp(s[i].family, "made", 4) == 0 ? MADE : PUBLIC];
        if (verbose)
            printf("%s\n", s[i].name);
        if (!schemas_fit(s, n, s[i].family, candidates, D, L2, w))
            return false;
        judge(&s[i], w, verbose, j);
    }
    for (int k = 0; k < KINDS; k++)
        say(kind[k], &all[k]);
    return true;
}
