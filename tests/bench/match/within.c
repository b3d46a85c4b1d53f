/* Duplicates within one table: what is found of a case's duplicates.csv, as the product finds them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "services/inference/engine/link/groups/duplicates.h"
#include "tests/bench/match/cases.h"

typedef struct {
    uint32_t a, b;
} row_pair;

static int in_order(const void *a, const void *b)
{
    const row_pair *x = a, *y = b;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

/* Pairs of table a that a file lists (table,row,other_row), ascending. NULL: there is none. */
static row_pair *read_pairs(tab_arena *a, const char *path, size_t *ret_n)
{
    char table[64];
    unsigned x, y;
    FILE *f = fopen(path, "r");
    size_t n = 0;
    *ret_n = 0;
    if (f == NULL)
        return NULL;
    while (fscanf(f, "%*[^\n]\n") >= 0)
        n++;
    rewind(f);
    row_pair *p = tab_arena_new_of(a, row_pair, n + 1);
    if (p != NULL && fscanf(f, "%*[^\n]\n") >= 0)
        while (*ret_n < n && fscanf(f, "%63[^,],%u,%u\n", table, &x, &y) == 3)
            if (strcmp(table, "a") == 0)
                p[(*ret_n)++] = x < y ? (row_pair){ x, y } : (row_pair){ y, x };
    fclose(f);
    if (p != NULL)
        qsort(p, *ret_n, sizeof *p, in_order);
    return p;
}

static bool listed(const row_pair *p, size_t n, const tab_twin *t)
{
    row_pair key = { t->a, t->b };
    return n > 0 && bsearch(&key, p, n, sizeof key, in_order) != NULL;
}

static tab_status find(tab_arena *a, const tab_table *t, double threshold, tab_twin **ret, size_t *ret_n,
                       tab_error *err)
{
    tab_engine e = { .arena = a };
    tab_profile *profile;
    tab_views *v;
    tab_link_table *tables;
    tab_twin_pairs s;
    TAB_TRY(tab_profile_table(&e, t, &profile, err));
    TAB_TRY(tab_views_new(&e, &profile, 1, &v, err));
    tab_status st = tab_link_tables_new(&e, v, a, &tables, err);
    tab_key_plan plan;
    if (st == TAB_OK) {
        st = tab_key_plan_new(&e, v, 0.5, a, &plan, err);
        const tab_voice *voice = st == TAB_OK ? tab_voices_of(v, &plan.keys, plan.grain, 0, a) : NULL;
        if (st == TAB_OK)
            st = tab_twins_judge(&e, v, tables, 0, voice, a, &s, err);
        if (st == TAB_OK)
            st = tab_twin_groups(&s, (float)threshold, a, ret, ret_n, err);
        tab_link_tables_free(tables, 1);
    }
    tab_views_free(v);
    return st;
}

static double f1(double right, double said, double there)
{
    return said + there > 0 ? 2 * right / (said + there) : 0;
}

static void tell(const char *name, const within_found *o)
{
    printf("%-30s %.3f %.3f %.3f  %.3f  %.3f  %.3f %6.0f  ", name, o->said > 0 ? o->right / o->said : 1,
           o->there > 0 ? o->right / o->there : 1, f1(o->right, o->said, o->there), o->oracle,
           o->moved > 0 ? o->moved_found / o->moved : 1, o->sure > 0 ? o->sure_right / o->sure : 1, o->said);
    for (int k = 5; k < 10; k++)
        printf(" %.2f %.2f %-4.0f", o->bin_p[k] / fmax(o->bin_n[k], 1),
               o->bin_right[k] / fmax(o->bin_n[k], 1), o->bin_n[k]);
    printf("  %.2f\n", o->seconds);
}

/* What is said at 0.5, against the truth, and the best F1 that another threshold of pairs would give. */
static void judge(const tab_twin *w, size_t n, const row_pair *truth, const row_pair *moved, within_found *o)
{
    double hits = 0;
    for (size_t i = 0; i < n; i++) {
        bool right = listed(truth, (size_t)o->there, &w[i]);
        hits += right;
        if (i + 1 == n || w[i + 1].p != w[i].p)
            o->oracle = fmax(o->oracle, f1(hits, (double)i + 1, o->there));
        if (w[i].p < 0.5f)
            continue;
        int k = (int)fmin(9, (double)w[i].p * 10);
        o->said++;
        o->right += right;
        o->moved_found += listed(moved, (size_t)o->moved, &w[i]);
        o->bin_p[k] += (double)w[i].p;
        o->bin_right[k] += right;
        o->bin_n[k]++;
        if (w[i].p >= 0.9f) {
            o->sure++;
            o->sure_right += right;
        }
    }
}

bool within_run(const char *dir, const char *name, within_found *ret)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    char path[1024];
    tab_table t;
    tab_error err = { 0 };
    size_t there, movers, n;
    tab_twin *w;
    snprintf(path, sizeof path, "%s/%s/a.csv", dir, name);
    if (!csv_table(a, path, "a", &t)) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return false;
    }
    snprintf(path, sizeof path, "%s/%s/duplicates.csv", dir, name);
    row_pair *truth = read_pairs(a, path, &there);
    snprintf(path, sizeof path, "%s/%s/moved.csv", dir, name);
    row_pair *moved = read_pairs(a, path, &movers);
    if (truth == NULL)
        return false;
    *ret = (within_found){ .there = (double)there, .moved = (double)movers };
    clock_t from = clock();
    if (find(a, &t, 0.5, &w, &n, &err) != TAB_OK) {
        fprintf(stderr, "%s: %s\n", name, err.message);
        return false;
    }
    ret->seconds = (double)(clock() - from) / CLOCKS_PER_SEC;
    judge(w, n, truth, moved, ret);
    double oracle = ret->oracle;
    if (find(a, &t, 0.001, &w, &n, &err) == TAB_OK) {
        within_found low = { .there = (double)there };
        judge(w, n, truth, moved, &low);
        ret->oracle = fmax(oracle, low.oracle);
    }
    tell(name, ret);
    return true;
}

void within_header(void)
{
    printf(
        "%-30s P     R     F1     best   moved  P>=.9     n   said and right from 0.5, 0.6, 0.7, 0.8, 0.9  "
        "cpu s\n",
        "duplicates within");
}

void within_means(const within_found *o, size_t n)
{
    double f = 0, said = 0, error = 0;
    for (size_t i = 0; i < n; i++) {
        f += f1(o[i].right, o[i].said, o[i].there);
        for (int k = 0; k < 10; k++) {
            said += o[i].bin_n[k];
            error += fabs(o[i].bin_p[k] - o[i].bin_right[k]);
        }
    }
    printf("mean F1 %.3f over %zu, calibration error %.3f (bins of each case)\n", f / fmax((double)n, 1), n,
           error / fmax(said, 1));
}
