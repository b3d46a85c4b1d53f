/* train-pairs: learns which rows of a table are one entity (engine/link/twin_model.h), from tables whose
 * duplicates are known.
 *
 *   train-pairs [--write FILE] DIR...  fits on all and writes the model; then leaves out whole sources, a
 *                                      fold of them at a time, and prints what is found in them
 *   train-pairs --shipped DIR...       the same with the model that is linked in
 *
 * DIR holds one folder a case: CSV files and duplicates.csv (table,row,other_row). --plain DIR adds CSV files
 * of which nobody says that they hold duplicates, --judge DIR such that are judged and not learnt from,
 * --apart DIR cases that are judged and not learnt from, --not SOURCE leaves a source's cases to be judged
 * alone (its licence, say); --verbose prints each case. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/align/text/normalize_text.h"
#include "services/inference/engine/link/evidence/twin_model.h"
#include "services/inference/engine/link/groups/duplicates.h"
#include "tools/train/pairs/samples.h"
#include "tools/train/trees.h"

enum { SAMPLES = 2048, FOLDS = 4, OF_ONE = 1600, OF_PLAIN = 400, NOBODY = FOLDS };
static const float RATE = 0.08f, LEAST = 0.5f;
static const double PART = 0.3; /* of the pairs that a tree sees */

static const char *const feature_name[] = {
#define TAB_X(name) #name,
    TAB_TWIN_FEATURE_LIST(TAB_X)
#undef TAB_X
};

static sample all[SAMPLES];
static size_t samples;
static bool verbose;

/* Sources in the order of their names, dealt to the folds one after the other, made ones apart. */
static void deal(void)
{
    size_t next[2] = { 0 };
    for (size_t i = 0; i < samples; i++) {
        size_t k = 0;
        while (k < i && strcmp(all[k].family, all[i].family) != 0)
            k++;
        all[i].fold = k < i ? all[k].fold : next[all[i].made]++ % FOLDS;
    }
}

static bool learnt_from(const sample *s, size_t without)
{
    return !s->judged_only && s->fold != without;
}

static bool taken(const sample *s, size_t i)
{
    const float *x = s->x + i * TAB_TWIN_FEATURES;
    if (!s->counted && x[TAB_TWIN_EQUAL_SHARE] >= 1 && x[TAB_TWIN_MISSING] <= 0)
        return false; /* nobody knows whether these are two */
    size_t most = s->counted ? OF_ONE : OF_PLAIN;
    return s->s.n <= most || tab_hash_mix(i, 23) % s->s.n < most;
}

/* Fits on the samples that are not of the fold `without`. */
static void fit(size_t without, tab_twin_model *m)
{
    const size_t d = TAB_TWIN_FEATURES;
    size_t n = 0, k = 0;
    for (size_t i = 0; i < samples; i++)
        for (size_t q = 0; learnt_from(&all[i], without) && q < all[i].s.n; q++)
            n += taken(&all[i], q);
    float *x = malloc((n + 1) * d * sizeof *x), *w = malloc((n + 1) * sizeof *w);
    uint8_t *y = malloc(n + 1);
    if (x == NULL || w == NULL || y == NULL)
        exit(1);
    for (size_t i = 0; i < samples; i++)
        for (size_t q = 0; learnt_from(&all[i], without) && q < all[i].s.n; q++)
            if (taken(&all[i], q)) {
                memcpy(x + k * d, all[i].x + q * TAB_TWIN_FEATURES, d * sizeof *x);
                y[k] = all[i].label[q];
                w[k++] = !all[i].counted ? 2 : all[i].made ? 1 : 4;
            }
    trees_data t = { n, d, d, x, y, w };
    if (n == 0 || trees_fit(&t, RATE, PART, TAB_TWIN_TREES, &m->start, m->tree) != 0)
        exit(1);
    free(x);
    free(w);
    free(y);
}

static void answer(const tab_twin_model *m, sample *s)
{
    for (size_t i = 0; i < s->s.n; i++)
        s->s.p[i] = (float)(1 / (1 + exp(-tab_trees_add((double)m->start, m->tree, TAB_TWIN_TREES,
                                                        s->x + i * TAB_TWIN_FEATURES))));
}

typedef struct {
    size_t fold;
    tab_twin_model m;
} folding;

static void *fold_fit(void *ctx)
{
    folding *f = ctx;
    fit(f->fold, &f->m);
    return NULL;
}

/* Each sample's answer of a model that saw nothing of its source. Folds are fitted side by side. */
static void leave_out(void)
{
    enum { THREADS = 2 };
    static folding f[FOLDS];
    for (size_t from = 0; from < FOLDS; from += THREADS) {
        pthread_t thread[THREADS];
        for (size_t k = 0; k < THREADS; k++) {
            f[from + k].fold = from + k;
            if (pthread_create(&thread[k], NULL, fold_fit, &f[from + k]) != 0)
                exit(1);
        }
        for (size_t k = 0; k < THREADS; k++)
            pthread_join(thread[k], NULL);
    }
    for (size_t i = 0; i < samples; i++)
        answer(&f[all[i].fold].m, &all[i]);
}

/* ---- judging --------------------------------------------------------------------------------- */

typedef struct {
    double right, said, there, rows;
} tally;

typedef struct {
    double p[11], right[11], n[11];
} bins;

static double f1(const tally *t)
{
    return t->said + t->there > 0 ? 2 * t->right / (t->said + t->there) : 0;
}

static bool is_true(const sample *s, uint32_t a, uint32_t b)
{
    uint32_t key[2] = { a, b };
    return s->truths > 0 && bsearch(key, s->truth, s->truths, sizeof key, sample_by_rows) != NULL;
}

static void judge(tab_arena *a, const sample *s, tally *t, bins *b)
{
    tab_twin *w = NULL;
    size_t n = 0;
    tab_error err;
    if (s->s.n > 0 && tab_twin_groups(&s->s, LEAST, a, &w, &n, &err) != TAB_OK)
        exit(1);
    t->there += (double)s->truths;
    t->said += (double)n;
    t->rows += (double)s->s.rows;
    for (size_t i = 0; i < n; i++) {
        bool right = is_true(s, w[i].a, w[i].b);
        int k = (int)fmin(9, (double)w[i].p * 10);
        t->right += right;
        b->p[k] += (double)w[i].p;
        b->right[k] += right;
        b->n[k]++;
        if (w[i].p >= 0.97f) {
            b->p[10] += (double)w[i].p;
            b->right[10] += right;
            b->n[10]++;
        }
    }
}

static void say_bins(const char *what, const bins *b)
{
    double n = 0, error = 0, sure = 0, sure_right = 0;
    for (int k = 0; k < 10; k++) {
        n += b->n[k];
        error += fabs(b->p[k] - b->right[k]);
    }
    sure = b->n[9];
    sure_right = b->right[9];
    printf("%-6s calibration error %.3f, precision at 0.9 %.3f (%.0f), at 0.97 %.3f (%.0f)\n", what,
           error / fmax(n, 1), sure_right / fmax(sure, 1), sure, b->right[10] / fmax(b->n[10], 1), b->n[10]);
}

/* Cases that are told together. */
enum { REAL, MADE, NONE_CASES, NONE_MADE, NONE_PLAIN, APART, NONE_APART, GROUPS };

/* Sums over the cases of a group. */
static void say_group(int g, const tally *t, double mean, double p, double r, double reach, double cases)
{
    static const char *const name[GROUPS] = { "real",
                                              "made",
                                              "no duplicates, made cases",
                                              "no duplicates, plain made",
                                              "no duplicates, plain tables",
                                              "apart",
                                              "no duplicates, apart" };
    if (cases <= 0)
        return;
    if (g == REAL || g == MADE || g == APART)
        printf("%-28s mean F1 %.3f, precision %.3f, recall %.3f, candidates %.3f over %.0f cases\n", name[g],
               mean / cases, p / cases, r / cases, reach / cases, cases);
    else
        printf("%-28s %.0f pairs said in %.0f rows of %.0f: %.1f in 1,000 rows\n", name[g], t->said, t->rows,
               cases, 1000 * t->said / t->rows);
}

static void report(void)
{
    tab_arena *a = tab_arena_new(SIZE_MAX / 2);
    tally group[GROUPS] = { 0 };
    double mean[GROUPS] = { 0 }, reach[GROUPS] = { 0 }, count[GROUPS] = { 0 }, p[GROUPS] = { 0 },
           r[GROUPS] = { 0 };
    bins b[3] = { 0 };
    for (size_t i = 0; i < samples;) {
        size_t end = i;
        if (all[i].unjudged) {
            i++;
            continue;
        }
        tally t = { 0 };
        double held = 0;
        bool plain = !all[i].counted, none = true;
        for (; end < samples && strcmp(all[end].name, all[i].name) == 0; end++)
            none = none && all[end].truths == 0;
        bool case_made =
            all[i].made && strchr(all[i].name, '-') != NULL && strncmp(all[i].name, "dup-", 4) == 0;
        for (size_t k = i; k < end; k++) {
            bins scrap = { 0 };
            judge(a, &all[k], &t, plain ? &scrap : &b[all[k].apart ? 2 : all[k].made]);
            for (size_t q = 0; q < all[k].s.n; q++)
                held += all[k].label[q];
        }
        int g = plain          ? NONE_PLAIN
                : all[i].apart ? APART + none
                : none         ? (case_made ? NONE_CASES : NONE_MADE)
                               : all[i].made;
        group[g].right += t.right;
        group[g].said += t.said;
        group[g].rows += t.rows;
        mean[g] += f1(&t);
        p[g] += t.said > 0 ? t.right / t.said : 1;
        r[g] += t.there > 0 ? t.right / t.there : 1;
        reach[g] += t.there > 0 ? held / t.there : 1;
        count[g]++;
        if (verbose && !none)
            printf("%-30s P %.3f R %.3f F1 %.3f candidates %.3f (%.0f true, %.0f rows)\n", all[i].name,
                   t.said > 0 ? t.right / t.said : 1, t.right / t.there, f1(&t), held / t.there, t.there,
                   t.rows);
        else if (verbose && t.said > 0)
            printf("%-30s none true, %.0f said, %.0f rows\n", all[i].name, t.said, t.rows);
        i = end;
    }
    for (int g = 0; g < GROUPS; g++)
        say_group(g, &group[g], mean[g], p[g], r[g], reach[g], count[g]);
    say_bins("real", &b[0]);
    say_bins("made", &b[1]);
    if (count[APART] > 0)
        say_bins("apart", &b[2]);
    tab_arena_free(a);
}

static void importance(const tab_twin_model *m)
{
    size_t used[TAB_TWIN_FEATURES] = { 0 };
    for (size_t k = 0; k < TAB_TWIN_TREES; k++)
        for (size_t i = 0; i < TAB_TREE_SPLITS; i++)
            used[m->tree[k].feature[i]] += isfinite(m->tree[k].cut[i]);
    for (size_t f = 0; f < TAB_TWIN_FEATURES; f++)
        printf("%s %zu  ", feature_name[f], used[f]);
    printf("\n");
}

static void write_model(tab_twin_model *m, const char *path)
{
    fit(NOBODY, m);
    memcpy(m->mark, TAB_TWIN_MARK, sizeof m->mark);
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(m, sizeof *m, 1, f) != 1 || fclose(f) != 0) {
        fprintf(stderr, "%s: cannot be written\n", path);
        exit(1);
    }
    if (verbose)
        importance(m);
}

int main(int argc, char **argv)
{
    static tab_twin_model m;
    const char *write = NULL, *plain = NULL, *judged = NULL, *apart = NULL, *not_learnt[SAMPLES];
    size_t nots = 0;
    bool shipped = false;
    int from = 1;
    for (; from < argc && argv[from][0] == '-'; from++) {
        verbose = verbose || strcmp(argv[from], "--verbose") == 0;
        shipped = shipped || strcmp(argv[from], "--shipped") == 0;
        if (strcmp(argv[from], "--write") == 0 && from + 1 < argc)
            write = argv[++from];
        else if (strcmp(argv[from], "--plain") == 0 && from + 1 < argc)
            plain = argv[++from];
        else if (strcmp(argv[from], "--judge") == 0 && from + 1 < argc)
            judged = argv[++from];
        else if (strcmp(argv[from], "--apart") == 0 && from + 1 < argc)
            apart = argv[++from];
        else if (strcmp(argv[from], "--not") == 0 && from + 1 < argc && nots < SAMPLES)
            not_learnt[nots++] = argv[++from];
    }
    if (from == argc) {
        fprintf(stderr,
                "usage: train-pairs [--shipped] [--write FILE] [--plain DIR] [--not SOURCE] DIR...\n");
        return 2;
    }
    tab_arena *a = tab_arena_new(SIZE_MAX / 2);
    for (int i = from; i < argc; i++)
        samples = samples_read(a, argv[i], all, samples, SAMPLES);
    size_t learnt = samples;
    if (apart != NULL)
        samples = samples_read(a, apart, all, samples, SAMPLES);
    for (size_t i = learnt; i < samples; i++)
        all[i].apart = all[i].judged_only = true;
    samples = samples_made(a, all, samples, SAMPLES);
    if (plain != NULL)
        samples = samples_plain(a, plain, false, all, samples, SAMPLES);
    if (judged != NULL)
        samples = samples_plain(a, judged, true, all, samples, SAMPLES);
    for (size_t i = 0; i < samples; i++)
        for (size_t k = 0; k < nots; k++)
            all[i].judged_only = all[i].judged_only || strcmp(all[i].family, not_learnt[k]) == 0;
    deal();
    if (shipped) {
        tab_engine e = { .arena = a };
        tab_error err;
        for (size_t i = 0; i < samples; i++)
            if (tab_twin_model_run(&e, tab_twin_model_shipped(), &all[i].s, &err) != TAB_OK)
                return 1;
        report();
    } else {
        if (write != NULL)
            write_model(&m, write);
        leave_out();
        report();
    }
    tab_arena_free(a);
    return 0;
}
