/* Trains the models of profile/ and sector/ from what is in this repository: generated tables (generate.c)
 * and the labelled tables of tools/train/tables.
 *
 *   train ENGINE           fits and writes ENGINE/profile/stage1.model, stage2*.model and
 *                          ENGINE/sector/sector.model
 *   train --cv [FOLDER]    (alone, or before ENGINE; again for further folders) measures on FOLDER's labelled
 *                          tables (default: ours) in 5 folds by source: a table is scored by models that
 *                          saw no table of its source (a collection's packages are sources of their own).
 *
 *   train --shipped        measures the linked models on generated tables that no fit has seen (20 a
 *                          sector, or --generated N); with --cv FOLDER on its tables of sources that are not
 *                          among ours
 *
 * options: --generated N  tables a sector (default 150)   --no-tables  generated tables alone
 *          --dump FILE    with --cv: each column's and table's answer
 *
 * Stage 2 and the sector model are trained on answers of stage 1 for tables it did not see (inner folds). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/run/machine.h"
#include "services/inference/engine/profile/roles/stages.h"
#include "tools/train/generate.h"
#include "tools/train/labelled.h"
#include "tools/train/measure.h"
#include "tools/train/perceptron.h"
#include "tools/train/softmax.h"

/* A linear model, with a perceptron beside it or without. */
typedef struct {
    softmax *flat;
    perceptron *bent;
} model;

typedef struct {
    model stage1, stage2, sector;
} models;

static uint64_t group_of(const tab_labelled *t)
{
    return tab_wyhash(t->source, strlen(t->source), 11);
}

static bool read_sample(tab_arena *a, const tab_labelled *t, sample *s)
{
    size_t n = t->table->cols;
    *s = (sample){ .label = t };
    s->col = softmax_shared(n * sizeof *s->col); /* children write answers there */
    s->sector = softmax_shared(TAB_SECTORS * sizeof *s->sector);
    s->ptr = tab_arena_new_of(a, tab_staged *, n);
    if (s->col == NULL || s->ptr == NULL)
        return false;
    for (size_t k = 0; k < n; k++) {
        tab_summary sum;
        s->ptr[k] = &s->col[k];
        s->col[k].reading = tab_arena_new_of(a, tab_reading, 1);
        if (s->col[k].reading == NULL ||
            !tab_read_column(a, &t->table->col[k], t->table->rows, s->col[k].reading) ||
            !tab_summarize(s->col[k].reading, &sum))
            return false;
        tab_features_of(&sum, &s->col[k].features);
    }
    tab_relate(s->ptr, n, t->table->rows);
    return true;
}

/* job(0) .. job(n-1) in children, as many at a time as there are processors. What they find they leave in
 * memory that is shared (softmax_shared). */
static void side_by_side(size_t n, void (*job)(void *, size_t), void *ctx)
{
    long room = tab_machine_look().cores;
    size_t running = 0;
    fflush(stdout);
    for (size_t i = 0; i < n || running > 0;) {
        if (i < n && running < (size_t)(room < 1 ? 1 : room)) {
            pid_t child = fork();
            if (child == 0) {
                job(ctx, i);
                _exit(0);
            }
            if (child < 0)
                exit(1);
            i++;
            running++;
            continue;
        }
        int status;
        if (wait(&status) < 0 || status != 0) {
            fputs("a fit failed\n", stderr);
            exit(1);
        }
        running--;
    }
}

/* ---- fitting --------------------------------------------------------------------------------- */

typedef struct {
    softmax_row *row;
    size_t n, cap;
} rowset;

static void add(rowset *r, softmax_row x)
{
    if (r->n == r->cap)
        r->row = train_grown(r->row, r->cap = r->cap == 0 ? 256 : 2 * r->cap, sizeof *r->row);
    r->row[r->n++] = x;
}

static void drop(rowset *r)
{
    for (size_t i = 0; i < r->n; i++) {
        free((void *)(uintptr_t)r->row[i].x);
        free((void *)(uintptr_t)r->row[i].z);
    }
    free(r->row);
    *r = (rowset){ 0 };
}

/* What a fit is made of. Fitted to labelled tables alone a model forgets what the generated ones taught
 * (log loss of stage 1 over sources 1.05, with a part of them again 0.99), so both are given: a labelled
 * column counts for three, and of the generated columns one in eight returns. */
typedef struct {
    const samples *all;
    const bool *in;
    const samples *again; /* generated tables, or NULL while they are the ones being fitted */
} diet;

static const float WEIGHT = 3, SECTOR_WEIGHT = 3;
static const float SMOOTH =
    0.05f; /* of labels: those of neighbouring roles (amount, measure) are a judgement */

static bool returns(size_t table, size_t column)
{
    uint64_t at[2] = { table, column };
    return tab_wyhash(at, sizeof at, 5) % 100 < 12;
}

static void add_stage1(rowset *r, const sample *s, size_t table, bool again)
{
    for (size_t k = 0; k < s->label->table->cols; k++) {
        if (s->label->role[k] < 0 || (again && !returns(table, k)))
            continue;
        float *x = train_grown(NULL, TAB_STAGE1_INPUTS, sizeof *x);
        tab_stage1_inputs(&s->col[k], x);
        add(r, (softmax_row){ x, NULL, s->label->role[k], s->real ? WEIGHT : 1 });
    }
}

static void fill(rowset *r, const diet *d, void (*put)(rowset *, const sample *, size_t, bool))
{
    for (size_t i = 0; i < d->all->n; i++)
        if (d->in[i])
            put(r, &d->all->s[i], i, false);
    for (size_t i = 0; d->again != NULL && i < d->again->n; i++)
        put(r, &d->again->s[i], i, true);
}

static void fit_stage1(const model *m, const diet *d)
{
    rowset r = { 0 };
    fill(&r, d, add_stage1);
    softmax_fit(
        m->flat, r.row, r.n,
        d->again == NULL
            ? (softmax_options){ .epochs = 6, .rate = 0.04f, .l2 = 2e-4f, .seed = 1 }
            : (softmax_options){ .epochs = 5, .rate = 0.02f, .l2 = 1e-4f, .smooth = SMOOTH, .seed = 1 });
    drop(&r);
}

static void apply_stage1(const model *m, sample *s)
{
    float *x = train_grown(NULL, TAB_STAGE1_INPUTS, sizeof *x);
    for (size_t k = 0; k < s->label->table->cols; k++) {
        tab_stage1_inputs(&s->col[k], x);
        softmax_apply(m->flat, x, NULL, s->col[k].p1);
        tab_restrict_roles(&s->col[k], s->col[k].p1);
    }
    free(x);
}

static void add_sector(rowset *r, const sample *s, size_t table, bool again)
{
    (void)table;
    (void)again;
    if (s->label->sector < 0)
        return;
    float *x = train_grown(NULL, TAB_SECTOR_INPUTS, sizeof *x),
          *z = train_grown(NULL, TAB_SECTORS * TAB_SECTOR_TIED, sizeof *z);
    tab_sector_inputs((const tab_staged *const *)s->ptr, s->label->table->cols, s->label->table->rows, x, z);
    add(r, (softmax_row){ x, z, s->label->sector, s->real ? SECTOR_WEIGHT : 1 });
}

static void fit_sector(const model *m, const diet *d)
{
    rowset r = { 0 };
    fill(&r, d, add_sector);
    softmax_fit(
        m->flat, r.row, r.n,
        d->again == NULL
            ? (softmax_options){ .epochs = 20, .rate = 0.01f, .l2 = 2e-3f, .tied_start = 1, .seed = 2 }
            : (softmax_options){ .epochs = 4, .rate = 0.008f, .l2 = 2e-3f, .tied_start = 1, .seed = 2 });
    drop(&r);
}

static void apply_sector(const model *m, sample *s)
{
    float x[TAB_SECTOR_INPUTS], z[TAB_SECTORS * TAB_SECTOR_TIED];
    tab_sector_inputs((const tab_staged *const *)s->ptr, s->label->table->cols, s->label->table->rows, x, z);
    softmax_apply(m->flat, x, z, s->sector);
}

static void add_stage2(rowset *r, const sample *s, size_t table, bool again)
{
    double all[TAB_ROLES];
    tab_stage2_sum((const tab_staged *const *)s->ptr, s->label->table->cols, all);
    for (size_t k = 0; k < s->label->table->cols; k++) {
        if (s->label->role[k] < 0 || (again && !returns(table, k)))
            continue;
        float *x = train_grown(NULL, TAB_STAGE2_INPUTS, sizeof *x),
              *z = train_grown(NULL, TAB_ROLES * TAB_STAGE2_TIED, sizeof *z);
        tab_stage2_inputs((const tab_staged *const *)s->ptr, s->label->table->cols, k, all, s->sector, x, z);
        add(r, (softmax_row){ x, z, s->label->role[k], s->real ? WEIGHT : 1 });
    }
}

static void fit_stage2(const model *m, const diet *d)
{
    rowset r = { 0 };
    fill(&r, d, add_stage2);
    softmax_fit(
        m->flat, r.row, r.n,
        d->again == NULL
            ? (softmax_options){ .epochs = 6, .rate = 0.015f, .l2 = 1e-3f, .tied_start = 1, .seed = 3 }
            : (softmax_options){
                  .epochs = 6, .rate = 0.01f, .l2 = 2e-4f, .smooth = SMOOTH, .tied_start = 1, .seed = 3 });
    perceptron_fit(m->bent, r.row, r.n,
                   (perceptron_options){ .epochs = 6,
                                         .rate = d->again == NULL ? 4e-3f : 2e-3f,
                                         .decay = 0.1f,
                                         .smooth = d->again == NULL ? 0 : SMOOTH,
                                         .seed = 4 });
    drop(&r);
}

static void apply_stage2(const model *m, sample *s)
{
    float *x = train_grown(NULL, TAB_STAGE2_INPUTS, sizeof *x), z[TAB_ROLES * TAB_STAGE2_TIED];
    double all[TAB_ROLES];
    tab_stage2_sum((const tab_staged *const *)s->ptr, s->label->table->cols, all);
    for (size_t k = 0; k < s->label->table->cols; k++) {
        tab_stage2_inputs((const tab_staged *const *)s->ptr, s->label->table->cols, k, all, s->sector, x, z);
        float *p = s->col[k].p2, q[TAB_ROLES];
        softmax_scores(m->flat, x, z, p);
        perceptron_scores(m->bent, x, q);
        for (int r = 0; r < TAB_ROLES; r++)
            p[r] = (1 - TAB_STAGE2_SHARE) * p[r] + TAB_STAGE2_SHARE * q[r];
        tab_softmax(p, TAB_ROLES, m->flat->temperature);
        tab_restrict_roles(&s->col[k], p);
        tab_deny_keys(&s->col[k], p);
        tab_weigh_numbers(&s->col[k], p);
        tab_hear_lists(&s->col[k], p);
        tab_hear_identity(&s->col[k], p);
    }
    tab_agree_items(s->ptr, s->label->table->cols);
    tab_deny_factors(s->ptr, s->label->table->cols, s->label->table->rows);
    tab_hear_births(s->ptr, s->label->table->cols);
    free(x);
}

static model new_model(uint32_t classes, uint32_t inputs, uint32_t tied, uint32_t hidden)
{
    return (model){ softmax_new(classes, inputs, tied),
                    hidden > 0 ? perceptron_new(inputs, hidden, classes) : NULL };
}

static model copy_model(const model *m)
{
    return (model){ softmax_copy(m->flat), m->bent != NULL ? perceptron_copy(m->bent) : NULL };
}

static void free_model(const model *m)
{
    softmax_free(m->flat);
    perceptron_free(m->bent);
}

/* One model: fitted without inner fold f (so that it answers for that fold), and for f = folds on all.
 * Every fit begins from `start`. */
typedef struct {
    const model *start, *full;
    samples *all;
    const bool *in;
    size_t folds;
    const samples *again;
    void (*fit)(const model *m, const diet *d);
    void (*apply)(const model *m, sample *s);
} inner;

static void fit_one(void *ctx, size_t f)
{
    inner *c = ctx;
    bool *part = train_grown(NULL, c->all->n, sizeof *part);
    model m = f == c->folds ? *c->full : copy_model(c->start);
    for (size_t i = 0; i < c->all->n; i++)
        part[i] = c->in[i] && (f == c->folds || (size_t)(c->all->s[i].group / 5) % c->folds != f);
    m.flat->temperature = 1;
    c->fit(&m, &(diet){ c->all, part, c->again });
    for (size_t i = 0; i < c->all->n && f < c->folds; i++)
        if (c->in[i] && !part[i])
            c->apply(&m, &c->all->s[i]);
    free(part);
}

static model fit_inner(const model *start, samples *all, const bool *in, const samples *again, size_t folds,
                       void (*fit)(const model *, const diet *), void (*apply)(const model *, sample *))
{
    model full = copy_model(start);
    inner c = { start, &full, all, in, folds, again, fit, apply };
    side_by_side(folds + 1, fit_one, &c);
    return full;
}

typedef struct {
    float *p;
    int *y;
    size_t n;
} answers;

static void answer(answers *a, const float *p, size_t classes, int y)
{
    a->p = train_grown(a->p, (a->n + 1) * classes, sizeof *a->p);
    a->y = train_grown(a->y, a->n + 1, sizeof *a->y);
    memcpy(a->p + a->n * classes, p, classes * sizeof *p);
    a->y[a->n++] = y;
}

static float temperature_of(answers *a, size_t classes)
{
    float t = (float)softmax_temperature(a->p, a->y, a->n, classes);
    free(a->p);
    free(a->y);
    *a = (answers){ 0 };
    return t;
}

/* All three on the samples `in`. The inner folds also give the answers by which the temperatures are set. */
static models fit(const models *start, samples *all, const bool *in, const samples *again)
{
    models m = { 0 };
    answers a = { 0 };
    bool fresh = again == NULL;
    m.stage1 = fit_inner(&start->stage1, all, in, again, fresh ? 2 : 4, fit_stage1, apply_stage1);
    m.sector = fit_inner(&start->sector, all, in, again, 4, fit_sector, apply_sector);
    for (size_t i = 0; i < all->n; i++)
        if (in[i] && all->s[i].label->sector >= 0)
            answer(&a, all->s[i].sector, TAB_SECTORS, all->s[i].label->sector);
    float t = temperature_of(&a, TAB_SECTORS);
    m.sector.flat->temperature = t;
    for (size_t i = 0; i < all->n; i++) { /* stage 2 sees the posterior as it will be served */
        float sum = 0;
        for (int s = 0; in[i] && s < TAB_SECTORS; s++)
            sum += all->s[i].sector[s] = powf(fmaxf(1e-9f, all->s[i].sector[s]), 1 / t);
        for (int s = 0; in[i] && s < TAB_SECTORS; s++)
            all->s[i].sector[s] /= sum;
    }
    m.stage2 = fit_inner(&start->stage2, all, in, again, 3, fit_stage2, apply_stage2);
    for (size_t i = 0; i < all->n; i++)
        for (size_t k = 0; in[i] && k < all->s[i].label->table->cols; k++)
            if (all->s[i].label->role[k] >= 0)
                answer(&a, all->s[i].col[k].p2, TAB_ROLES, all->s[i].label->role[k]);
    m.stage2.flat->temperature = temperature_of(&a, TAB_ROLES);
    return m;
}

static models new_models(void)
{
    return (models){ new_model(TAB_ROLES, TAB_STAGE1_INPUTS, 0, 0),
                     new_model(TAB_ROLES, TAB_STAGE2_INPUTS, TAB_STAGE2_TIED, TAB_STAGE2_HIDDEN),
                     new_model(TAB_SECTORS, TAB_SECTOR_INPUTS, TAB_SECTOR_TIED, 0) };
}

static void free_models(const models *m)
{
    free_model(&m->stage1);
    free_model(&m->stage2);
    free_model(&m->sector);
}

static const char TABLES[] = "tools/train/tables";

/* ---- the whole ----------------------------------------------------------------------------------- */

static void load(tab_arena *a, const tab_labelled *t, size_t n, bool real, samples *all)
{
    all->s = train_grown(all->s, all->n + n, sizeof *all->s);
    for (size_t i = 0; i < n; i++) {
        sample *s = &all->s[all->n];
        if (!read_sample(a, &t[i], s)) {
            fputs("out of memory\n", stderr);
            exit(1);
        }
        s->real = real;
        s->group = (int)(group_of(&t[i]) % 1000003);
        all->n++;
    }
}

/* The linked models' answers. */
static void apply_shipped(sample *s)
{
    float x[TAB_STAGE1_INPUTS], z[TAB_ROLES], tied[TAB_SECTORS * TAB_SECTOR_TIED];
    double all[TAB_ROLES];
    const tab_staged *const *col = (const tab_staged *const *)s->ptr;
    size_t n = s->label->table->cols;
    for (size_t k = 0; k < n; k++) {
        tab_stage1_inputs(&s->col[k], x);
        tab_linear_apply(tab_model_stage1(), x, NULL, s->col[k].p1);
        tab_restrict_roles(&s->col[k], s->col[k].p1);
    }
    tab_sector_inputs(col, n, s->label->table->rows, x, tied);
    tab_linear_apply(tab_model_sector(), x, tied, s->sector);
    tab_stage2_sum(col, n, all);
    for (size_t k = 0; k < n; k++) {
        tab_stage2_inputs(col, n, k, all, s->sector, x, z);
        tab_stage2_apply(x, z, s->col[k].p2);
        tab_restrict_roles(&s->col[k], s->col[k].p2);
        tab_deny_keys(&s->col[k], s->col[k].p2);
        tab_weigh_numbers(&s->col[k], s->col[k].p2);
        tab_hear_lists(&s->col[k], s->col[k].p2);
        tab_hear_identity(&s->col[k], s->col[k].p2);
    }
    tab_agree_items(s->ptr, n);
    tab_deny_factors(s->ptr, n, s->label->table->rows);
    tab_hear_births(s->ptr, n);
    tab_tell_sector(s->sector);
}

/* Tables that no fit has seen: generated ones of another seed. */
static int measure_shipped(tab_arena *a, size_t generated)
{
    samples s = { 0 };
    tab_labelled *t;
    size_t n;
    if (!tab_generate_tables(a, generated, 2, &t, &n))
        return 1;
    load(a, t, n, true, &s);
    for (size_t i = 0; i < s.n; i++)
        apply_shipped(&s.s[i]);
    printf("== the linked models on generated tables of another seed\n");
    train_score(&s, NULL);
    return 0;
}

/* The linked models on the folders' tables of sources that are not among ours, which they have not seen. */
static int measure_shipped_on(tab_arena *a, const char *const *folder, size_t folders)
{
    samples s = { 0 };
    tab_labelled *ours, *t;
    size_t n, m;
    if (!tab_labelled_read(a, TABLES, &ours, &n))
        return 1;
    for (size_t k = 0; k < folders; k++) {
        if (!tab_labelled_read(a, folder[k], &t, &m))
            return 1;
        for (size_t i = 0; i < m; i++) {
            size_t j = 0;
            while (j < n && group_of(&ours[j]) != group_of(&t[i]))
                j++;
            if (j == n)
                load(a, &t[i], 1, true, &s);
        }
    }
    for (size_t i = 0; i < s.n; i++)
        apply_shipped(&s.s[i]);
    printf("== the linked models on labelled tables of other sources\n");
    train_score(&s, NULL);
    return 0;
}

static bool *all_of(const samples *s)
{
    bool *in = train_grown(NULL, s->n, sizeof *in);
    memset(in, 1, s->n * sizeof *in);
    return in;
}

static bool write_models(const models *m, const char *out)
{
    char path[5][512];
    snprintf(path[0], sizeof path[0], "%s/profile/stage1.model", out);
    snprintf(path[1], sizeof path[1], "%s/profile/stage2.model", out);
    snprintf(path[2], sizeof path[2], "%s/profile/stage2-hidden.model", out);
    snprintf(path[3], sizeof path[3], "%s/profile/stage2-top.model", out);
    snprintf(path[4], sizeof path[4], "%s/sector/sector.model", out);
    return softmax_write(m->stage1.flat, path[0]) && softmax_write(m->stage2.flat, path[1]) &&
           softmax_write(m->stage2.bent->hidden, path[2]) && softmax_write(m->stage2.bent->top, path[3]) &&
           softmax_write(m->sector.flat, path[4]);
}

static bool has_folders(const char *out)
{
    char path[2][512];
    snprintf(path[0], sizeof path[0], "%s/profile", out);
    snprintf(path[1], sizeof path[1], "%s/sector", out);
    return access(path[0], W_OK) == 0 && access(path[1], W_OK) == 0;
}

enum { FOLDERS = 4 };

typedef struct {
    const char *cv[FOLDERS]; /* folders to measure on */
    size_t folders;
    const char *out, *dump; /* a folder to write into, a file for answers; NULL: not */
    size_t generated;       /* tables a sector; 0: as many as the mode takes */
    bool no_tables, shipped;
} options;

/* False: an argument is not known, or nothing is to be done. */
static bool read_options(int argc, char **argv, options *o)
{
    bool known = true;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--cv") == 0 && o->folders < FOLDERS)
            o->cv[o->folders++] = i + 1 < argc && argv[i + 1][0] != '-' ? argv[++i] : TABLES;
        else if (strcmp(argv[i], "--generated") == 0 && i + 1 < argc)
            o->generated = strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--shipped") == 0)
            o->shipped = true;
        else if (strcmp(argv[i], "--no-tables") == 0)
            o->no_tables = true;
        else if (strcmp(argv[i], "--dump") == 0 && i + 1 < argc)
            o->dump = argv[++i];
        else if (argv[i][0] != '-')
            o->out = argv[i];
        else
            known = false;
    }
    return known && (o->folders > 0 || o->out != NULL || o->shipped);
}

/* The samples and the models that are fitted on the generated ones of them. */
typedef struct {
    samples made, ours; /* of generated tables; of this folder's */
    models base;
} fitted;

static void answer_all(const models *m, samples *test, const bool *in)
{
    for (size_t i = 0; i < test->n; i++)
        if (in == NULL || !in[i]) {
            apply_stage1(&m->stage1, &test->s[i]);
            apply_sector(&m->sector, &test->s[i]);
            apply_stage2(&m->stage2, &test->s[i]);
            tab_tell_sector(test->s[i].sector);
        }
}

/* The answers for test by models of this folder's tables of the other sources, fold by fold. */
static void answer_by_source(fitted *d, samples *test, size_t n)
{
    enum { FOLDS = 5 };
    for (int f = 0; f < FOLDS; f++) {
        bool *in = all_of(&d->ours);
        for (size_t i = 0; i < d->ours.n; i++)
            in[i] = d->ours.s[i].group % FOLDS != f;
        models m = fit(&d->base, &d->ours, in, &d->made);
        for (size_t k = 0; k < n; k++) {
            bool *hold = all_of(&test[k]);
            for (size_t i = 0; i < test[k].n; i++)
                hold[i] = test[k].s[i].group % FOLDS != f;
            answer_all(&m, &test[k], hold);
            free(hold);
        }
        free_models(&m);
        free(in);
    }
}

/* Measures models of generated tables, then five folds by source: a model that has seen this folder's tables
 * of the other sources. False: a folder cannot be read. */
static bool cross_validate(tab_arena *a, const options *o, fitted *d)
{
    samples test[FOLDERS] = { 0 };
    for (size_t k = 0; k < o->folders; k++) {
        tab_labelled *t;
        size_t n;
        if (!tab_labelled_read(a, o->cv[k], &t, &n))
            return false;
        load(a, t, n, true, &test[k]);
        answer_all(&d->base, &test[k], NULL);
        printf("== %s: generated tables only\n", o->cv[k]);
        train_score(&test[k], NULL);
    }
    fflush(stdout);
    if (!o->no_tables)
        answer_by_source(d, test, o->folders);
    FILE *f = o->dump == NULL ? NULL : fopen(o->dump, "w");
    for (size_t k = 0; k < o->folders; k++) {
        printf("== %s: generated tables, then ours, cross-validated by source\n", o->cv[k]);
        train_score(&test[k], f);
    }
    if (f != NULL)
        fclose(f);
    return true;
}

/* Fits on generated tables, then on this folder's; writes the models. False: said on stderr. */
static bool train(tab_arena *a, const options *o, fitted *d)
{
    tab_labelled *t;
    size_t n;
    if (!tab_generate_tables(a, o->generated > 0 ? o->generated : 150, 1, &t, &n))
        return false;
    load(a, t, n, false, &d->made);
    bool *in = all_of(&d->made);
    models blank = new_models();
    d->base = fit(&blank, &d->made, in, NULL);
    free_models(&blank);
    free(in);
    printf("generated tables %zu\n", n);
    if (!o->no_tables) {
        if (!tab_labelled_read(a, TABLES, &t, &n))
            return false;
        load(a, t, n, true, &d->ours);
        printf("labelled tables %zu\n", n);
    }
    if (o->out == NULL)
        return true;
    in = all_of(&d->ours);
    models m = o->no_tables ? d->base : fit(&d->base, &d->ours, in, &d->made);
    free(in);
    if (!write_models(&m, o->out)) {
        fprintf(stderr, "cannot write the models below %s\n", o->out);
        return false;
    }
    printf("models written\n");
    fflush(stdout);
    return true;
}

int main(int argc, char **argv)
{
    options o = { 0 };
    fitted d = { 0 };
    if (!read_options(argc, argv, &o)) {
        fputs("usage: train [--generated N] [--no-tables] [--dump FILE] [--cv [FOLDER]] [ENGINE_FOLDER]\n"
              "       train --shipped [--generated N] [--cv FOLDER]\n"
              "  ENGINE_FOLDER  writes the models below it (services/inference/engine)\n"
              "  --cv           measures on the labelled tables of FOLDER (default: tools/train/tables)\n"
              "  --shipped      measures the linked models on tables of another seed\n"
              "  --generated    tables a sector (default: 150; with --shipped: 20)\n"
              "  --no-tables    fits on generated tables alone\n"
              "  --dump         with --cv: a line for each answer\n",
              stderr);
        return 2;
    }
    if (o.out != NULL && !has_folders(o.out)) { /* said before minutes of work, not after */
        fprintf(stderr, "%s has no profile/ and sector/ to write models into\n", o.out);
        return 2;
    }
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 36);
    if (o.shipped && o.folders > 0)
        return measure_shipped_on(a, o.cv, o.folders);
    if (o.shipped)
        return measure_shipped(a, o.generated > 0 ? o.generated : 20);
    return train(a, &o, &d) && (o.folders == 0 || cross_validate(a, &o, &d)) ? 0 : 1;
}
