/* Features that compare candidates with each other: rivals for one child, columns that share a parent, and,
 * once first probabilities are there, what the likely ones of a table tell of the others (inclusions.h names
 * each). */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/keys/inclusions_internal.h"

/* Whether the pair (child, parent) is among the inclusions, which are sorted by both. */
static bool backwards(const tab_inclusion *x, size_t n, uint32_t child, uint32_t parent)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (x[mid].child < child || (x[mid].child == child && x[mid].parent < parent))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && x[lo].child == child && x[lo].parent == parent;
}

/* liked: how many columns each column holds; up: how many hold it; texts: by table. */
bool tab_inclusions_compete(const tab_key_columns *k, tab_inclusion *x, size_t n, size_t columns)
{
    uint32_t *liked = calloc(3 * columns + 1, sizeof *liked);
    if (liked == NULL)
        return false;
    uint32_t *up = liked + columns, *texts = up + columns;
    for (size_t i = 0; i < n; i++) {
        liked[x[i].parent]++;
        up[x[i].child]++;
    }
    for (size_t i = 0; i < columns; i++) /* by table */
        texts[k->col[i].table] += k->col[i].kind == TAB_KEY_TEXT && !k->col[i].unique;
    uint32_t *siblings = calloc(columns + 1, sizeof *siblings); /* by parent, of one child table */
    /* inclusions are sorted by child, so those of one table stand together */
    for (size_t from = 0; siblings != NULL && from < n;) {
        uint32_t table = k->col[x[from].child].table;
        size_t end = from;
        while (end < n && k->col[x[end].child].table == table)
            siblings[x[end++].parent]++;
        for (size_t i = from; i < end; i++)
            x[i].f[TAB_KEY_F_SIBLINGS] = (float)siblings[x[i].parent] - 1;
        for (size_t i = from; i < end; i++)
            siblings[x[i].parent] = 0;
        from = end;
    }
    /* the parents of one child, i to end: each against the best of them */
    for (size_t i = 0; i < n;) {
        size_t end = i;
        double covered = 0, least = INFINITY, most_liked = 0, top = -INFINITY, spread = INFINITY;
        for (; end < n && x[end].child == x[i].child; end++) {
            covered = fmax(covered, (double)x[end].f[TAB_KEY_F_COVERED]);
            least = fmin(least, k->col[x[end].parent].n);
            most_liked = fmax(most_liked, log1p(liked[x[end].parent]));
            top = fmax(top, (double)x[end].f[TAB_KEY_F_TOP]);
            spread = fmin(spread, (double)x[end].f[TAB_KEY_F_SPREAD]);
        }
        for (size_t q = i; q < end; q++) {
            tab_inclusion *r = &x[q];
            uint32_t rivals = 0;
            for (size_t o = i; o < end; o++)
                rivals += o != q && x[o].held >= r->held;
            r->f[TAB_KEY_F_RIVALS] = (float)log1p(rivals);
            r->f[TAB_KEY_F_BEST] = (float)((double)r->f[TAB_KEY_F_COVERED] / covered);
            r->f[TAB_KEY_F_SIZE] = (float)log(k->col[r->parent].n / least);
            r->f[TAB_KEY_F_LIKED] = (float)log1p(liked[r->parent]);
            r->f[TAB_KEY_F_BACK] = backwards(x, n, r->parent, r->child);
            r->f[TAB_KEY_F_PARENT_UP] = (float)log1p(up[r->parent]);
            r->f[TAB_KEY_F_CHILD_LIKED] = (float)log1p(liked[r->child]);
            r->f[TAB_KEY_F_LIKED_BEST] = (float)(log1p(liked[r->parent]) - most_liked);
            r->f[TAB_KEY_F_TOP_BEST] = (float)((double)r->f[TAB_KEY_F_TOP] - top);
            r->f[TAB_KEY_F_SPREAD_BEST] = (float)((double)r->f[TAB_KEY_F_SPREAD] - spread);
            r->f[TAB_KEY_F_PARENT_TEXTS] = (float)fmin(texts[k->col[r->parent].table], 9);
        }
        i = end;
    }
    bool ok = siblings != NULL;
    free(siblings);
    free(liked);
    return ok;
}

/* Log-odds, kept finite. */
static double logit(double p)
{
    p = fmin(fmax(p, 1e-4), 1 - 1e-4);
    return log(p / (1 - p));
}

/* fame: sum of p as a parent; rises: sum of p as a child; best: the greatest p as a child; each by column. */
bool tab_inclusions_context(const tab_key_columns *k, tab_inclusion *x, size_t n, const float *p)
{
    size_t columns = 0;
    for (size_t i = 0; i < n; i++) {
        columns = x[i].child >= columns ? x[i].child + 1 : columns;
        columns = x[i].parent >= columns ? x[i].parent + 1 : columns;
    }
    double *fame = calloc(3 * columns + 1, sizeof *fame);
    if (fame == NULL)
        return false;
    double *best = fame + columns, *rises = best + columns;
    for (size_t i = 0; i < n; i++) {
        fame[x[i].parent] += (double)p[i];
        rises[x[i].child] += (double)p[i];
        best[x[i].child] = fmax(best[x[i].child], (double)p[i]);
    }
    for (size_t i = 0; i < n; i++) {
        float *f = x[i].f;
        uint32_t child = x[i].child, parent = x[i].parent;
        /* rivals stand beside the pair, since pairs are sorted by child; so do those of the child's table */
        double rival = 1e-4, elsewhere = 0, refers = 0, tables = 0;
        for (size_t o = i; o > 0 && x[o - 1].child == child; o--)
            rival = fmax(rival, (double)p[o - 1]);
        for (size_t o = i + 1; o < n && x[o].child == child; o++)
            rival = fmax(rival, (double)p[o]);
        for (uint32_t c = parent - k->col[parent].column;
             c < columns && k->col[c].table == k->col[parent].table; c++)
            elsewhere = c == parent ? elsewhere : fmax(elsewhere, fame[c]);
        for (uint32_t c = child - k->col[child].column; c < columns && k->col[c].table == k->col[child].table;
             c++)
            refers += c == child ? 0 : best[c];
        for (size_t o = i; o < n && k->col[x[o].child].table == k->col[child].table; o++)
            tables +=
                x[o].child != child && k->col[x[o].parent].table == k->col[parent].table ? (double)p[o] : 0;
        for (size_t o = i; o > 0 && k->col[x[o - 1].child].table == k->col[child].table; o--)
            tables += x[o - 1].child != child && k->col[x[o - 1].parent].table == k->col[parent].table
                          ? (double)p[o - 1]
                          : 0;
        f[TAB_KEY_F_FIRST] = (float)logit((double)p[i]);
        f[TAB_KEY_F_RIVAL] = (float)logit(rival);
        f[TAB_KEY_F_FAME] = (float)(fame[parent] - (double)p[i]);
        f[TAB_KEY_F_FAME_ELSE] = (float)elsewhere;
        f[TAB_KEY_F_RISES] = (float)rises[parent];
        f[TAB_KEY_F_CHILD_FAME] = (float)fame[child];
        f[TAB_KEY_F_TABLE_REFERS] = (float)refers;
        f[TAB_KEY_F_TABLES] = (float)tables;
    }
    free(fame);
    return true;
}
