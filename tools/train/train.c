/* Trains the models of profile/ and sector/.
 *
 *   train OUT            fits on the generated tables (and --real FOLDER) and writes OUT/profile/stage1.model,
 *                        OUT/profile/stage2.model, OUT/sector/sector.model
 *   train --cv FOLDER    measures on the folder's labelled tables: 5 folds by source (a collection's packages
 *                        are sources of their own), no table scored by a model that saw its source
 *
 * options: --real FOLDER  labelled tables to train on as well     --generated N  tables a sector (default 40)
 *          --dump FILE    with --cv: each column's and table's answer, for score.py
 *
 * Stage 2 and the sector model are trained on answers of stage 1 for tables it did not see (4 inner folds). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/profile/stages.h"
#include "tools/train/generate.h"
#include "tools/train/labelled.h"
#include "tools/train/softmax.h"

typedef struct {
    const tab_labelled *label;
    tab_staged *col;
    tab_staged **ptr; /* (cols) */
    float sector[TAB_SECTORS];
    int group; /* source */
    bool real;
    tab_staged *kept; /* (cols) answers of the fold that did not see it */
    float kept_sector[TAB_SECTORS];
} sample;

typedef struct {
    sample *s;
    size_t n;
} samples;

typedef struct {
    softmax *stage1, *stage2, *sector;
} models;

static uint64_t group_of(const tab_labelled *t)
{
    return tab_hash_bytes(t->source, strlen(t->source), 11);
}

static bool read_sample(tab_arena *a, const tab_labelled *t, sample *s)
{
    size_t n = t->table->cols;
    *s = (sample){ .label = t };
    s->col = tab_arena_new_of(a, tab_staged, n);
    s->ptr = tab_arena_new_of(a, tab_staged *, n);
    if (s->col == NULL || s->ptr == NULL)
        return false;
    for (size_t k = 0; k < n; k++) {
        tab_summary sum;
        s->ptr[k] = &s->col[k];
        s->col[k].reading = tab_arena_new_of(a, tab_reading, 1);
        if (s->col[k].reading == NULL || !tab_read_column(a, &t->table->col[k], t->table->rows, s->col[k].reading) ||
            !tab_summarize(s->col[k].reading, &sum))
            return false;
        tab_features_of(&sum, &s->col[k].features, NULL);
    }
    tab_relate(s->ptr, n, t->table->rows);
    return true;
}

/* ---- fitting -------------------------------------------------------------------------------------------- */

static void *grown(void *p, size_t n, size_t size)
{
    p = realloc(p, (n == 0 ? 1 : n) * size);
    if (p == NULL) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return p;
}

typedef struct {
    softmax_row *row;
    size_t n, cap;
} rowset;

static void add(rowset *r, softmax_row x)
{
    if (r->n == r->cap)
        r->row = grown(r->row, r->cap = r->cap == 0 ? 256 : 2 * r->cap, sizeof *r->row);
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

static softmax *fit_stage1(const softmax *start, const samples *all, const bool *in, float weight)
{
    rowset r = { 0 };
    for (size_t i = 0; i < all->n; i++)
        for (size_t k = 0; in[i] && k < all->s[i].label->table->cols; k++) {
            if (all->s[i].label->role[k] < 0)
                continue;
            float *x = grown(NULL, TAB_STAGE1_INPUTS, sizeof *x);
            tab_stage1_inputs(&all->s[i].col[k], x);
            add(&r, (softmax_row){ x, NULL, all->s[i].label->role[k], weight });
        }
    softmax *m = start == NULL ? softmax_new(TAB_ROLES, TAB_STAGE1_INPUTS, 0) : softmax_copy(start);
    softmax_fit(m, r.row, r.n, (softmax_options){ .epochs = start == NULL && !all->s[0].real ? 6 : 14, .rate = 0.04f, .l2 = 2e-4f, .seed = 1 });
    drop(&r);
    return m;
}

static void apply_stage1(const softmax *m, sample *s)
{
    float *x = grown(NULL, TAB_STAGE1_INPUTS, sizeof *x);
    for (size_t k = 0; k < s->label->table->cols; k++) {
        tab_stage1_inputs(&s->col[k], x);
        softmax_apply(m, x, NULL, s->col[k].p1);
        tab_restrict_roles(&s->col[k], s->col[k].p1);
    }
    free(x);
}

static softmax *fit_sector(const samples *all, const bool *in)
{
    rowset r = { 0 };
    for (size_t i = 0; i < all->n; i++) {
        if (!in[i] || all->s[i].label->sector < 0)
            continue;
        float *x = grown(NULL, TAB_SECTOR_INPUTS, sizeof *x), *z = grown(NULL, TAB_SECTORS * TAB_SECTOR_TIED, sizeof *z);
        tab_sector_inputs((const tab_staged *const *)all->s[i].ptr, all->s[i].label->table->cols, all->s[i].label->table->rows, x, z);
        add(&r, (softmax_row){ x, z, all->s[i].label->sector, 1 });
    }
    softmax *m = softmax_new(TAB_SECTORS, TAB_SECTOR_INPUTS, TAB_SECTOR_TIED);
    softmax_fit(m, r.row, r.n, (softmax_options){ .epochs = 20, .rate = 0.01f, .l2 = 2e-3f, .tied_start = 1, .seed = 2 });
    drop(&r);
    return m;
}

static void apply_sector(const softmax *m, sample *s)
{
    float x[TAB_SECTOR_INPUTS], z[TAB_SECTORS * TAB_SECTOR_TIED];
    tab_sector_inputs((const tab_staged *const *)s->ptr, s->label->table->cols, s->label->table->rows, x, z);
    softmax_apply(m, x, z, s->sector);
}

static softmax *fit_stage2(const softmax *start, const samples *all, const bool *in)
{
    rowset r = { 0 };
    for (size_t i = 0; i < all->n; i++)
        for (size_t k = 0; in[i] && k < all->s[i].label->table->cols; k++) {
            if (all->s[i].label->role[k] < 0)
                continue;
            float *x = grown(NULL, TAB_STAGE2_INPUTS, sizeof *x), *z = grown(NULL, TAB_ROLES, sizeof *z);
            tab_stage2_inputs((const tab_staged *const *)all->s[i].ptr, all->s[i].label->table->cols, k, all->s[i].sector, x, z);
            add(&r, (softmax_row){ x, z, all->s[i].label->role[k], 1 });
        }
    softmax *m = start == NULL ? softmax_new(TAB_ROLES, TAB_STAGE2_INPUTS, TAB_STAGE2_TIED) : softmax_copy(start);
    softmax_fit(m, r.row, r.n, (softmax_options){ .epochs = 10, .rate = 0.015f, .l2 = 1e-3f, .tied_start = 1, .seed = 3 });
    drop(&r);
    return m;
}

static void apply_stage2(const softmax *m, sample *s)
{
    float *x = grown(NULL, TAB_STAGE2_INPUTS, sizeof *x), z[TAB_ROLES];
    for (size_t k = 0; k < s->label->table->cols; k++) {
        tab_stage2_inputs((const tab_staged *const *)s->ptr, s->label->table->cols, k, s->sector, x, z);
        softmax_apply(m, x, z, s->col[k].p2);
        tab_restrict_roles(&s->col[k], s->col[k].p2);
    }
    free(x);
}

/* All three on the samples `in`. The inner folds also give the answers by which the temperatures are set. */
static models fit(const models *start, samples *all, const bool *in)
{
    enum { INNER = 4 };
    models m = { 0 };
    bool *part = grown(NULL, all->n, sizeof *part);
    softmax *const s1 = start == NULL ? NULL : start->stage1, *const se = start == NULL ? NULL : start->sector,
                   *const s2 = start == NULL ? NULL : start->stage2;
    for (int f = 0; f < INNER; f++) {
        for (size_t i = 0; i < all->n; i++)
            part[i] = in[i] && (all->s[i].group / 5) % INNER != f;
        softmax *t = fit_stage1(s1, all, part, 1);
        for (size_t i = 0; i < all->n; i++)
            if (in[i] && !part[i])
                apply_stage1(t, &all->s[i]);
        softmax_free(t);
    }
    /* A few hundred labelled tables are too few for 25 sectors: after generated tables only the temperature
     * is fitted (measured: top 1 0.57 by generated tables alone, 0.49 when trained further on real ones). */
    for (int f = 0; f < INNER && se == NULL; f++) {
        for (size_t i = 0; i < all->n; i++)
            part[i] = in[i] && (all->s[i].group / 5) % INNER != f;
        softmax *t = fit_sector(all, part);
        for (size_t i = 0; i < all->n; i++)
            if (in[i] && !part[i])
                apply_sector(t, &all->s[i]);
        softmax_free(t);
    }
    if (se == NULL) {
        m.sector = fit_sector(all, in);
    } else {
        m.sector = softmax_copy(se);
        m.sector->temperature = 1;
        for (size_t i = 0; i < all->n; i++)
            if (in[i])
                apply_sector(m.sector, &all->s[i]);
    }
    size_t n = 0;
    float *p = NULL;
    int *y = NULL;
    for (size_t i = 0; i < all->n; i++)
        if (in[i] && all->s[i].label->sector >= 0) {
            p = grown(p, (n + 1) * TAB_SECTORS, sizeof *p);
            y = grown(y, n + 1, sizeof *y);
            memcpy(p + n * TAB_SECTORS, all->s[i].sector, sizeof all->s[i].sector);
            y[n++] = all->s[i].label->sector;
        }
    m.sector->temperature = (float)softmax_temperature(p, y, n, TAB_SECTORS);
    for (size_t i = 0; i < all->n && se != NULL; i++)
        if (in[i])
            apply_sector(m.sector, &all->s[i]);
    m.stage1 = fit_stage1(s1, all, in, 1);
    m.stage2 = fit_stage2(s2, all, in);
    /* stage 2's own temperature, by two inner halves */
    n = 0;
    for (int f = 0; f < 2; f++) {
        for (size_t i = 0; i < all->n; i++)
            part[i] = in[i] && (all->s[i].group / 5) % 2 != f;
        softmax *t = fit_stage2(s2, all, part);
        for (size_t i = 0; i < all->n; i++) {
            if (!in[i] || part[i])
                continue;
            apply_stage2(t, &all->s[i]);
            for (size_t k = 0; k < all->s[i].label->table->cols; k++)
                if (all->s[i].label->role[k] >= 0) {
                    p = grown(p, (n + 1) * TAB_ROLES, sizeof *p);
                    y = grown(y, n + 1, sizeof *y);
                    memcpy(p + n * TAB_ROLES, all->s[i].col[k].p2, sizeof all->s[i].col[k].p2);
                    y[n++] = all->s[i].label->role[k];
                }
        }
        softmax_free(t);
    }
    m.stage2->temperature = (float)softmax_temperature(p, y, n, TAB_ROLES);
    free(p);
    free(y);
    free(part);
    return m;
}

static void free_models(models *m)
{
    softmax_free(m->stage1);
    softmax_free(m->stage2);
    softmax_free(m->sector);
}

/* Later folds train with a sample's inner answers, so those of its own fold are put aside. */
static void keep(sample *s)
{
    size_t n = s->label->table->cols;
    s->kept = grown(NULL, n, sizeof *s->kept);
    memcpy(s->kept, s->col, n * sizeof *s->kept);
    memcpy(s->kept_sector, s->sector, sizeof s->sector);
}

static void put_back(sample *s)
{
    for (size_t k = 0; s->kept != NULL && k < s->label->table->cols; k++) {
        memcpy(s->col[k].p1, s->kept[k].p1, sizeof s->col[k].p1);
        memcpy(s->col[k].p2, s->kept[k].p2, sizeof s->col[k].p2);
    }
    memcpy(s->sector, s->kept_sector, sizeof s->sector);
    free(s->kept);
    s->kept = NULL;
}

/* ---- measuring --------------------------------------------------------------------------------------------- */

static double ece_of(const double *conf, const bool *hit, size_t n)
{
    double total = 0;
    for (int b = 0; b < 10; b++) {
        double c = 0, h = 0;
        for (size_t i = 0; i < n; i++)
            if ((int)fmin(9, conf[i] * 10) == b) {
                c += conf[i];
                h += hit[i];
            }
        total += fabs(c - h);
    }
    return n > 0 ? total / (double)n : 0;
}

static void score(const samples *all, FILE *dump)
{
    size_t n = 0, right = 0, family = 0, type = 0, right1 = 0, want = 0;
    double *conf = NULL;
    bool *hit = NULL;
    static const double at[] = { 0.15, 0.2, 0.25, 0.3, 0.35, 0.45 };
    size_t tp[6] = { 0 }, said[6] = { 0 };
    size_t miss[TAB_ROLES][TAB_ROLES] = { 0 };
    for (size_t i = 0; i < all->n; i++)
        for (size_t k = 0; all->s[i].real && k < all->s[i].label->table->cols; k++) {
            int y = all->s[i].label->role[k], g, g1 = 0;
            const tab_staged *c = &all->s[i].col[k];
            if (y < 0)
                continue;
            g = tab_pick_role(c, c->p2);
            for (int q = 0; q < TAB_ROLES; q++)
                g1 = c->p1[q] > c->p1[g1] ? q : g1;
            conf = grown(conf, n + 1, sizeof *conf);
            hit = grown(hit, n + 1, sizeof *hit);
            conf[n] = (double)c->p2[g];
            hit[n++] = g == y;
            right += g == y;
            right1 += g1 == y;
            family += tab_role_family[g] == tab_role_family[y];
            tab_type t = tab_role_type(g, (size_t)c->features.distinct, (size_t)c->features.present);
            type += (int)t == all->s[i].label->type[k];
            miss[y][g]++;
            double pii = 0;
            for (int q = 0; q < TAB_ROLES; q++)
                pii += tab_role_pii[q] ? (double)c->p2[q] : 0;
            want += tab_role_pii[y];
            for (int a = 0; a < 6; a++) {
                said[a] += pii >= at[a];
                tp[a] += pii >= at[a] && tab_role_pii[y];
            }
            if (dump != NULL)
                fprintf(dump, "column,%s,%.*s,%s,%s,%s,%.4f,%s,%.4f\n", all->s[i].label->name, TAB_STR(all->s[i].label->table->col[k].name),
                        tab_role_names[y], tab_role_names[g], tab_type_name(t), (double)c->p2[g], all->s[i].label->type[k] == (int)t ? "" : "TYPE", pii);
        }
    printf("columns %zu  role %.3f (stage 1 %.3f)  family %.3f  type %.3f  ece %.3f\n", n, (double)right / (double)n, (double)right1 / (double)n,
           (double)family / (double)n, (double)type / (double)n, ece_of(conf, hit, n));
    for (int a = 0; a < 6; a++)
        printf("pii >= %.2f  precision %.3f  recall %.3f\n", at[a], said[a] ? (double)tp[a] / (double)said[a] : 0.0, (double)tp[a] / (double)(want ? want : 1));
    size_t tables = 0, first = 0, five = 0;
    for (size_t i = 0; i < all->n; i++) {
        int y = all->s[i].label->sector, top = 0, above = 0;
        if (y < 0 || !all->s[i].real)
            continue;
        for (int q = 0; q < TAB_SECTORS; q++) {
            top = all->s[i].sector[q] > all->s[i].sector[top] ? q : top;
            above += all->s[i].sector[q] > all->s[i].sector[y];
        }
        conf[tables] = (double)all->s[i].sector[top];
        hit[tables++] = top == y;
        first += top == y;
        five += above < 5;
        if (dump != NULL)
            fprintf(dump, "sector,%s,%s,%s,%.4f\n", all->s[i].label->name, tab_sectors[y].slug, tab_sectors[top].slug, (double)all->s[i].sector[top]);
    }
    printf("tables %zu  sector top1 %.3f  top5 %.3f  ece %.3f\n", tables, (double)first / (double)tables, (double)five / (double)tables, ece_of(conf, hit, tables));
    printf("largest confusions:");
    for (int q = 0; q < 14; q++) {
        int a = 0, b = 1;
        for (int y = 0; y < TAB_ROLES; y++)
            for (int g = 0; g < TAB_ROLES; g++)
                if (y != g && miss[y][g] > miss[a][b])
                    a = y, b = g;
        printf(" %s>%s:%zu", tab_role_names[a], tab_role_names[b], miss[a][b]);
        miss[a][b] = 0;
    }
    printf("\n");
    free(conf);
    free(hit);
}

static void load(tab_arena *a, const tab_labelled *t, size_t n, bool real, samples *all)
{
    all->s = grown(all->s, all->n + n, sizeof *all->s);
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

int main(int argc, char **argv)
{
    const char *cv = NULL, *real = NULL, *out = NULL, *dump = NULL;
    size_t generated = 40;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--cv") == 0 && i + 1 < argc)
            cv = argv[++i];
        else if (strcmp(argv[i], "--real") == 0 && i + 1 < argc)
            real = argv[++i];
        else if (strcmp(argv[i], "--generated") == 0 && i + 1 < argc)
            generated = strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--dump") == 0 && i + 1 < argc)
            dump = argv[++i];
        else
            out = argv[i];
    }
    if (cv == NULL && out == NULL) {
        fputs("usage: train [--real FOLDER] [--generated N] ENGINE_FOLDER | train --cv FOLDER [--generated N] [--dump FILE]\n", stderr);
        return 2;
    }
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 36);
    samples made = { 0 }, all = { 0 };
    models base = { 0 }, *start = NULL;
    if (generated > 0) {
        tab_labelled *g;
        size_t n;
        if (!tab_generate_tables(a, generated, 1, &g, &n))
            return 1;
        load(a, g, n, false, &made);
        bool *in = grown(NULL, made.n, sizeof *in);
        memset(in, 1, made.n * sizeof *in);
        base = fit(NULL, &made, in);
        free(in);
        start = &base;
        printf("generated tables %zu\n", n);
    }
    const char *folder = cv != NULL ? cv : real;
    if (folder != NULL) {
        tab_labelled *t;
        size_t n;
        if (!tab_labelled_read(a, folder, &t, &n))
            return 1;
        load(a, t, n, true, &all);
    }
    if (cv != NULL) {
        bool *in = grown(NULL, all.n, sizeof *in);
        if (start != NULL) { /* knowledge and generated tables only: nothing of the folder was seen */
            for (size_t i = 0; i < all.n; i++) {
                apply_stage1(base.stage1, &all.s[i]);
                apply_sector(base.sector, &all.s[i]);
                apply_stage2(base.stage2, &all.s[i]);
            }
            printf("== trained on generated tables only\n");
            score(&all, NULL);
        }
        for (int f = 0; f < 5; f++) {
            for (size_t i = 0; i < all.n; i++)
                in[i] = all.s[i].group % 5 != f;
            models m = fit(start, &all, in);
            for (size_t i = 0; i < all.n; i++)
                if (!in[i]) {
                    apply_stage1(m.stage1, &all.s[i]);
                    apply_sector(m.sector, &all.s[i]);
                    apply_stage2(m.stage2, &all.s[i]);
                    keep(&all.s[i]);
                }
            free_models(&m);
        }
        for (size_t i = 0; i < all.n; i++)
            put_back(&all.s[i]);
        printf("== cross-validated by source%s\n", start != NULL ? ", generated tables first" : "");
        FILE *f = dump == NULL ? NULL : fopen(dump, "w");
        score(&all, f);
        if (f != NULL)
            fclose(f);
        free(in);
    }
    if (out != NULL) {
        models m = base;
        if (all.n > 0) {
            bool *in = grown(NULL, all.n, sizeof *in);
            memset(in, 1, all.n * sizeof *in);
            m = fit(start, &all, in);
            free(in);
        }
        char path[3][512];
        snprintf(path[0], sizeof path[0], "%s/profile/stage1.model", out);
        snprintf(path[1], sizeof path[1], "%s/profile/stage2.model", out);
        snprintf(path[2], sizeof path[2], "%s/sector/sector.model", out);
        if (m.stage1 == NULL || !softmax_write(m.stage1, path[0]) || !softmax_write(m.stage2, path[1]) || !softmax_write(m.sector, path[2])) {
            fprintf(stderr, "cannot write the models below %s\n", out);
            return 1;
        }
    }
    return 0;
}
