/* What a model's answers are worth: shares that are right, personal data at several marks, calibration
 * (expected calibration error over ten bins, Guo et al., ICML 2017). train.c calls it. */
#include "tools/train/measure.h"

#include <math.h>
#include <stdlib.h>

void *train_grown(void *p, size_t n, size_t size)
{
    p = realloc(p, (n == 0 ? 1 : n) * size);
    if (p == NULL) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return p;
}

/* The expected calibration error: how far confidence is from the share that is right, over ten bins. */
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

enum { MARKS = 6 };
static const double PII_MARKS[MARKS] = { 0.2, 0.28, 0.3, 0.4, 0.5, 0.6 };

/* Counts over the columns of labelled tables. */
typedef struct {
    size_t n, role, role1, family, type; /* columns, and where each was right; role1: stage 1 alone */
    size_t want;                         /* columns of personal data */
    size_t said[MARKS], found[MARKS];    /* called so at a mark; rightly */
    size_t miss[TAB_ROLES][TAB_ROLES];   /* truth, answer */
    double *conf;                        /* (n) the answer's probability */
    bool *hit;                           /* (n) whether it was right */
} tally;

static void score_column(tally *y, const sample *s, size_t k, FILE *dump)
{
    const tab_staged *c = &s->col[k];
    int truth = s->label->role[k], g1 = 0, g = tab_pick_role(c, c->p2);
    for (int q = 0; q < TAB_ROLES; q++)
        g1 = c->p1[q] > c->p1[g1] ? q : g1;
    y->conf = train_grown(y->conf, y->n + 1, sizeof *y->conf);
    y->hit = train_grown(y->hit, y->n + 1, sizeof *y->hit);
    y->conf[y->n] = tab_told_role(g, (double)c->p2[g]);
    y->hit[y->n++] = g == truth;
    y->role += g == truth;
    y->role1 += g1 == truth;
    y->family += tab_role_family[g] == tab_role_family[truth];
    tab_type t = tab_role_type(g, (size_t)c->features.distinct, (size_t)c->features.present);
    y->type += (int)t == s->label->type[k];
    y->miss[truth][g]++;
    double pii = tab_personal(c, c->p2);
    y->want += tab_role_pii[truth];
    for (int a = 0; a < MARKS; a++) {
        y->said[a] += pii >= PII_MARKS[a];
        y->found[a] += pii >= PII_MARKS[a] && tab_role_pii[truth];
    }
    if (dump != NULL)
        fprintf(dump, "column,%s,%.*s,%s,%s,%s,%.4f,%s,%.4f\n", s->label->name,
                TAB_STR(s->label->table->col[k].name), tab_role_names[truth], tab_role_names[g],
                tab_type_name(t), tab_told_role(g, (double)c->p2[g]),
                s->label->type[k] == (int)t ? "" : "TYPE", pii);
}

/* Prints the sectors' line; conf and hit (tables) are scratch. */
static void score_sectors(const samples *all, double *conf, bool *hit, FILE *dump)
{
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
            fprintf(dump, "sector,%s,%s,%s,%.4f,%s", all->s[i].label->name, tab_sectors[y].slug,
                    tab_sectors[top].slug, (double)all->s[i].sector[top], all->s[i].label->source);
        for (int q = 0; dump != NULL && q < TAB_SECTORS; q++)
            fprintf(dump, "%c%.5f%s", q == 0 ? ',' : ' ', (double)all->s[i].sector[q],
                    q + 1 < TAB_SECTORS ? "" : "\n");
    }
    printf("tables %zu  sector top1 %.3f  top5 %.3f  ece %.3f\n", tables, (double)first / (double)tables,
           (double)five / (double)tables, ece_of(conf, hit, tables));
}

/* Prints the 14 most frequent pairs of truth and wrong answer; takes them out of miss. */
static void print_confusions(size_t miss[TAB_ROLES][TAB_ROLES])
{
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
}

void train_score(const samples *all, FILE *dump)
{
    tally y = { 0 };
    for (size_t i = 0; i < all->n; i++)
        for (size_t k = 0; all->s[i].real && k < all->s[i].label->table->cols; k++)
            if (all->s[i].label->role[k] >= 0)
                score_column(&y, &all->s[i], k, dump);
    printf("columns %zu  role %.3f (stage 1 %.3f)  family %.3f  type %.3f  ece %.3f\n", y.n,
           (double)y.role / (double)y.n, (double)y.role1 / (double)y.n, (double)y.family / (double)y.n,
           (double)y.type / (double)y.n, ece_of(y.conf, y.hit, y.n));
    for (int a = 0; a < MARKS; a++)
        printf("pii >= %.3f  precision %.3f  recall %.3f\n", PII_MARKS[a],
               y.said[a] ? (double)y.found[a] / (double)y.said[a] : 0.0,
               (double)y.found[a] / (double)(y.want ? y.want : 1));
    score_sectors(all, y.conf, y.hit, dump);
    print_confusions(y.miss);
    free(y.conf);
    free(y.hit);
}
