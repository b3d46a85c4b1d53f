/* train-across: learns which rows of two tables are one entity (engine/link/across_model.h), from cases
 * whose entities are known.
 *
 *   train-across [--write FILE] DIR...  fits on all and writes the model; then leaves out whole sources, a
 *                                       fold of them at a time, and prints what is found in them
 *   train-across --shipped DIR...       the same with the model that is linked in
 *
 * DIR holds one folder a case (tests/bench/match/cases.h). Beside each case the model learns from variants
 * of it (variants.h). --not NAME leaves a source or a case to be judged alone (its licence, say); --verbose
 * says how far it is. */
#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/align/text/normalize_text.h"
#include "services/inference/engine/link/evidence/across_model.h"
#include "tools/train/across/variants.h"
#include "tools/train/trees.h"

enum { CASES = 512, FOLDS = 4, OF_CASE = 600, NOBODY = FOLDS, THREADS = 8 };
static const float RATE = 0.08f;
static const double PART = 0.25; /* of the pairs that a tree sees */

typedef struct {
    const char *dir;
    char name[128], family[64];
    size_t fold;
    int group; /* of the report */
    bool judged_only;
} source;

static source all[CASES];
static size_t cases;
static bool verbose;

/* Pairs of one case to learn from. */
typedef struct {
    size_t n, cap;
    float *x; /* (n, TAB_ACROSS_FEATURES) */
    uint8_t *y;
} learnt;

static learnt seen[CASES];
static atomic_size_t next_case;

/* All cases, by some threads. */
static void for_cases(void *(*work)(void *), void *ctx)
{
    pthread_t thread[THREADS];
    next_case = 0;
    for (size_t k = 0; k < THREADS; k++)
        if (pthread_create(&thread[k], NULL, work, ctx) != 0)
            exit(1);
    for (size_t k = 0; k < THREADS; k++)
        pthread_join(thread[k], NULL);
}

/* ---- sources --------------------------------------------------------------------------------- */

/* What comes from one source has one family, in whichever folder: "fab-comics-join50" and "dup-comics-o50"
 * comics, "wdc-shoes" wdc, the lists of restaurants one. */
static void name_family(source *s)
{
    static const char *const same[][2] = { { "fodors", "restaurants" },
                                           { "synthpeople", "people" },
                                           { "synthorders", "orders" },
                                           { "synthcompanies", "companies" } };
    const char *p = s->name;
    size_t n = 0;
    if (strncmp(p, "dup-", 4) == 0 || strncmp(p, "fab-", 4) == 0)
        p += 4;
    while (p[n] != 0 && p[n] != '-' && (p[n] < '0' || p[n] > '9') && n + 2 < sizeof s->family) {
        s->family[n] = p[n];
        n++;
    }
    s->family[n] = 0;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (strcmp(s->family, same[i][0]) == 0)
            snprintf(s->family, sizeof s->family, "%s", same[i][1]);
}

enum { REAL, MADE, FORMAT, GROUPS }; /* real; with duplicates or relatives; format changes */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const source *)a)->name, ((const source *)b)->name);
}

static void list_cases(const char *dir)
{
    char path[1200];
    DIR *d = opendir(dir);
    if (d == NULL) {
        fprintf(stderr, "%s: no such folder\n", dir);
        exit(2);
    }
    for (struct dirent *e; (e = readdir(d)) != NULL && cases < CASES;) {
        snprintf(path, sizeof path, "%s/%s/entities.csv", dir, e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (f == NULL)
            continue;
        fclose(f);
        source *s = &all[cases++];
        s->dir = dir;
        snprintf(s->name, sizeof s->name, "%.100s", e->d_name);
        name_family(s);
        s->group = strncmp(s->name, "dup-", 4) == 0 ? MADE : strncmp(s->name, "fab-", 4) == 0 ? FORMAT : REAL;
    }
    closedir(d);
}

/* Sources in the order of their names, dealt to the folds one after the other. */
static void deal(void)
{
    size_t next = 0;
    qsort(all, cases, sizeof *all, by_name);
    for (size_t i = 0; i < cases; i++) {
        size_t k = 0;
        while (k < i && strcmp(all[k].family, all[i].family) != 0)
            k++;
        all[i].fold = k < i ? all[k].fold : next++ % FOLDS;
    }
}

/* ---- learning -------------------------------------------------------------------------------- */

static int in_order(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(true_pair));
}

static bool is_true(const match_case *m, size_t ta, size_t tb, size_t a, size_t b)
{
    true_pair k = { (uint32_t)ta, (uint32_t)tb, (uint32_t)a, (uint32_t)b };
    return m->rows > 0 && bsearch(&k, m->row, m->rows, sizeof k, in_order) != NULL;
}

/* What the engine makes of a case's tables before it links them. */
typedef struct {
    tab_arena *arena;
    tab_engine e;
    tab_views *v;
    tab_link_table *tables;
    tab_key_plan plan;
    tab_twin_pairs *twins;
} prepared;

static bool prepare(const match_case *m, bool twins, prepared *p)
{
    tab_profile *profile[CASE_TABLES];
    tab_error err = { 0 };
    p->e = (tab_engine){ .arena = p->arena };
    for (size_t t = 0; t < m->n; t++)
        if (tab_profile_table(&p->e, &m->table[t], &profile[t], &err) != TAB_OK)
            return false;
    p->twins = tab_arena_new_of(p->arena, tab_twin_pairs, m->n);
    if (tab_views_new(&p->e, profile, m->n, &p->v, &err) != TAB_OK ||
        tab_link_tables_new(&p->e, p->v, p->arena, &p->tables, &err) != TAB_OK ||
        tab_key_plan_new(&p->e, p->v, 0.5, p->arena, &p->plan, &err) != TAB_OK)
        return false;
    for (size_t t = 0; twins && t < m->n; t++)
        if (tab_twins_judge(&p->e, p->v, p->tables, t, NULL, p->arena, &p->twins[t], &err) != TAB_OK)
            return false;
    return true;
}

static void dismiss(prepared *p, const match_case *m)
{
    tab_link_tables_free(p->tables, m->n);
    tab_views_free(p->v);
}

static void add(const tab_across *x, const match_case *m, size_t ta, size_t tb, size_t links, learnt *to)
{
    const size_t d = TAB_ACROSS_FEATURES, most = OF_CASE / links + 1;
    for (size_t i = 0; i < x->s.n; i++) {
        if (x->s.n > most && tab_hash_mix(i, 23) % x->s.n >= most)
            continue;
        if (to->n == to->cap) {
            to->cap = 2 * to->cap + 1000;
            to->x = realloc(to->x, to->cap * d * sizeof *to->x);
            to->y = realloc(to->y, to->cap);
            if (to->x == NULL || to->y == NULL)
                exit(1);
        }
        tab_across_features(x, i, to->x + to->n * d);
        to->y[to->n++] = is_true(m, ta, tb, x->s.a[i], x->s.b[i]);
    }
}

static void learn_case(tab_arena *a, const match_case *m, learnt *to)
{
    prepared p = { .arena = a };
    tab_error err = { 0 };
    if (!prepare(m, true, &p))
        exit(1);
    for (size_t i = 0; i < m->n; i++)
        for (size_t j = i + 1; j < m->n; j++) {
            tab_linkage l;
            tab_half_linked h;
            tab_across x;
            const tab_twin_pairs *const two[2] = { &p.twins[i], &p.twins[j] };
            if (tab_link_columns(&p.e, p.v, p.tables, &p.plan, i, j, a, &l, &h, &err) != TAB_OK ||
                tab_link_join(p.v, &l, &err) != TAB_OK ||
                tab_link_rows(&p.e, p.v, p.tables, &p.plan, &h, a, &l, &err) != TAB_OK ||
                tab_across_new(&p.e, p.v, p.tables, &l, two, a, &x, &err) != TAB_OK) {
                fprintf(stderr, "%s: %s\n", m->name, err.message);
                exit(1);
            }
            add(&x, m, i, j, m->n * (m->n - 1) / 2, to);
        }
    dismiss(&p, m);
}

/* What the model learns from: cases whose tables share somebody, and of those with duplicates of their own
 * variants that share fewer and tables dealt by row. Whether tables share anybody is not the model's to say
 * (tab_across_stands). */
static bool wanted(const source *s, int k)
{
    return k < 0 || (s->group != FORMAT && (k == VARIANT_PART || k == VARIANT_DEALT));
}

/* Large tables are known by their variants alone, which are of parts of them. */
enum { LARGE = 6000 };

static size_t rows_of(const match_case *m)
{
    size_t n = 0;
    for (size_t t = 0; t < m->n; t++)
        n += m->table[t].rows;
    return n;
}

static void *learn_cases(void *ctx)
{
    for (size_t i; (i = atomic_fetch_add(&next_case, 1)) < cases;) {
        for (int k = -1; k < VARIANTS && !all[i].judged_only; k++) {
            TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
            match_case m, made;
            if (!wanted(&all[i], k))
                continue;
            if (!case_read(a, all[i].dir, all[i].name, &m))
                exit(1);
            if (m.rows == 0)
                continue;
            if (k < 0 && rows_of(&m) <= LARGE)
                learn_case(a, &m, &seen[i]);
            else if (k >= 0 && variant_make(a, all[i].dir, &m, (variant)k, &made))
                learn_case(a, &made, &seen[i]);
        }
        if (verbose)
            fprintf(stderr, "%s: %zu pairs\n", all[i].name, seen[i].n);
    }
    return ctx;
}

/* Fits on the cases that are not of the fold `without`. */
static void fit(size_t without, tab_across_model *m)
{
    const size_t d = TAB_ACROSS_FEATURES;
    size_t n = 0, most = 0;
    for (size_t i = 0; i < cases; i++)
        most += seen[i].n;
    float *x = malloc((most + 1) * d * sizeof *x), *w = malloc((most + 1) * sizeof *w);
    uint8_t *y = malloc(most + 1);
    if (x == NULL || w == NULL || y == NULL)
        exit(1);
    for (size_t i = 0; i < cases; i++) {
        if (seen[i].n == 0 || all[i].fold == without)
            continue;
        memcpy(x + n * d, seen[i].x, seen[i].n * d * sizeof *x);
        memcpy(y + n, seen[i].y, seen[i].n);
        for (size_t k = 0; k < seen[i].n; k++)
            w[n++] = all[i].group == REAL ? 2 : 1;
    }
    trees_data t = { n, d, d, x, y, w };
    memcpy(m->mark, TAB_ACROSS_MARK, sizeof m->mark);
    if (n == 0 || trees_fit(&t, RATE, PART, TAB_ACROSS_TREES, &m->start, m->tree) != 0)
        exit(1);
    free(x);
    free(w);
    free(y);
}

/* ---- judging --------------------------------------------------------------------------------- */

/* Of one case, or of a group of them. */
typedef struct {
    double cases, f1, precision, recall, none, none_rows;
    double p[10], right[10], n[10];
} tally;

static tally found[CASES], strange[CASES]; /* cases, and variants of them that share nobody */

/* kind: a variant, or -1: the case itself. */
static void judge(const source *s, int kind, const tab_across_model *model, tally *t)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    match_case m, made;
    prepared p = { .arena = a };
    tab_error err = { 0 };
    tab_clusters cl;
    if (!case_read(a, s->dir, s->name, &m))
        exit(1);
    if (kind >= 0) {
        if (m.rows == 0 || !variant_make(a, s->dir, &m, (variant)kind, &made))
            return;
        m = made;
    }
    if (!prepare(&m, false, &p))
        exit(1);
    tab_linkage *link;
    size_t links;
    tab_twins *twins = tab_arena_new_of(a, tab_twins, m.n);
    if (tab_link_tables(&p.e, p.v, p.tables, &p.plan, model, 0.5, NULL, NULL, a, &link, &links, twins,
                        &err) != TAB_OK ||
        tab_clusters_build(p.v, link, links, twins, 0.5, a, &cl, &err) != TAB_OK)
        exit(1);
    double right = 0, said = (double)cl.matches, there = (double)m.rows;
    for (size_t i = 0; i < cl.matches; i++) {
        const tab_match *q = &cl.match[i];
        bool hit = is_true(&m, q->ta, q->tb, q->a, q->b);
        int k = (int)fmin(9, (double)q->p * 10);
        right += hit;
        t->p[k] += (double)q->p;
        t->right[k] += hit;
        t->n[k]++;
    }
    dismiss(&p, &m);
    if (m.rows == 0) {
        t->none += said;
        for (size_t i = 0; i < m.n; i++)
            t->none_rows += (double)m.table[i].rows;
        return;
    }
    t->cases = 1;
    t->f1 = 2 * right / (said + there);
    t->precision = said > 0 ? right / said : 1;
    t->recall = right / there;
}

static void *judge_cases(void *ctx)
{
    static const variant nobody[] = { VARIANT_NONE, VARIANT_HALF };
    const tab_across_model *const *of_fold = ctx;
    for (size_t i; (i = atomic_fetch_add(&next_case, 1)) < cases;) {
        judge(&all[i], -1, of_fold[all[i].fold], &found[i]);
        if (all[i].group != FORMAT)
            for (size_t k = 0; k < 2; k++)
                judge(&all[i], (int)nobody[k], of_fold[all[i].fold], &strange[i]);
        if (verbose)
            fprintf(stderr, "%s: judged\n", all[i].name);
    }
    return NULL;
}

static void add_up(tally *t, const tally *x)
{
    t->cases += x->cases;
    t->f1 += x->f1;
    t->precision += x->precision;
    t->recall += x->recall;
    t->none += x->none;
    t->none_rows += x->none_rows;
    for (int k = 0; k < 10; k++) {
        t->p[k] += x->p[k];
        t->right[k] += x->right[k];
        t->n[k] += x->n[k];
    }
}

static void report(const tab_across_model **of_fold)
{
    static const char *const name[] = { "real", "made, duplicates", "made, formats" };
    tally t[GROUPS] = { 0 }, none = { 0 };
    for_cases(judge_cases, of_fold);
    for (size_t i = 0; i < cases; i++) {
        add_up(&t[all[i].group], &found[i]);
        add_up(&none, &strange[i]);
        if (found[i].cases > 0)
            printf("%-30s P %.3f R %.3f F1 %.3f\n", all[i].name, found[i].precision, found[i].recall,
                   found[i].f1);
        else
            printf("%-30s none true, %.0f said\n", all[i].name, found[i].none);
        if (strange[i].none > 0)
            printf("%-30s variants that share nobody: %.0f said\n", all[i].name, strange[i].none);
    }
    for (int g = 0; g < GROUPS; g++) {
        double n = 0, error = 0;
        for (int k = 0; k < 10; k++) {
            n += t[g].n[k];
            error += fabs(t[g].p[k] - t[g].right[k]);
        }
        printf("%-18s mean F1 %.3f, precision %.3f, recall %.3f over %.0f cases; calibration error %.3f, "
               "precision at 0.9 %.3f (%.0f); nobody shared: %.0f said in %.0f rows\n",
               name[g], t[g].f1 / fmax(t[g].cases, 1), t[g].precision / fmax(t[g].cases, 1),
               t[g].recall / fmax(t[g].cases, 1), t[g].cases, error / fmax(n, 1),
               t[g].right[9] / fmax(t[g].n[9], 1), t[g].n[9], t[g].none, t[g].none_rows);
    }
    printf("variants that share nobody: %.0f said in %.0f rows\n", none.none, none.none_rows);
}

typedef struct {
    size_t fold;
    tab_across_model m;
} folding;

static void *fold_fit(void *ctx)
{
    folding *f = ctx;
    fit(f->fold, &f->m);
    return NULL;
}

/* Folds, and all for the model that is written, are fitted side by side. */
static void learn(const char *write)
{
    static folding f[FOLDS + 1];
    const tab_across_model *m[FOLDS];
    pthread_t thread[FOLDS + 1];
    size_t n = FOLDS + (write != NULL);
    for (size_t k = 0; k < n; k++) {
        f[k].fold = k; /* the last: NOBODY */
        if (pthread_create(&thread[k], NULL, fold_fit, &f[k]) != 0)
            exit(1);
    }
    for (size_t k = 0; k < n; k++)
        pthread_join(thread[k], NULL);
    FILE *o = write == NULL ? NULL : fopen(write, "wb");
    if (write != NULL && (o == NULL || fwrite(&f[NOBODY].m, sizeof f->m, 1, o) != 1 || fclose(o) != 0)) {
        fprintf(stderr, "%s: cannot be written\n", write);
        exit(1);
    }
    for (size_t k = 0; k < FOLDS; k++)
        m[k] = &f[k].m;
    report(m);
}

int main(int argc, char **argv)
{
    const char *write = NULL, *not_learnt[CASES];
    size_t nots = 0;
    bool shipped = false;
    int from = 1;
    for (; from < argc && argv[from][0] == '-'; from++) {
        verbose = verbose || strcmp(argv[from], "--verbose") == 0;
        shipped = shipped || strcmp(argv[from], "--shipped") == 0;
        if (strcmp(argv[from], "--write") == 0 && from + 1 < argc)
            write = argv[++from];
        else if (strcmp(argv[from], "--not") == 0 && from + 1 < argc && nots < CASES)
            not_learnt[nots++] = argv[++from];
    }
    if (from == argc) {
        fprintf(stderr, "usage: train-across [--shipped] [--write FILE] [--not NAME] DIR...\n");
        return 2;
    }
    for (int i = from; i < argc; i++)
        list_cases(argv[i]);
    deal();
    for (size_t i = 0; i < cases; i++)
        for (size_t k = 0; k < nots; k++)
            all[i].judged_only = all[i].judged_only || strcmp(all[i].family, not_learnt[k]) == 0 ||
                                 strcmp(all[i].name, not_learnt[k]) == 0;
    if (shipped) {
        const tab_across_model *m[FOLDS];
        for (size_t k = 0; k < FOLDS; k++)
            m[k] = tab_across_model_shipped();
        report(m);
        return 0;
    }
    for_cases(learn_cases, NULL);
    learn(write);
    return 0;
}
