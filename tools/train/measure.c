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

void train_score(const samples *all, FILE *dump)
{
    size_t n = 0, right = 0, family = 0, type = 0, right1 = 0, want = 0;
    double *conf = NULL;
    bool *hit = NULL;
    static const double at[] = { 0.2, 0.28, 0.3, 0.4, 0.5, 0.6 };
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
            conf = train_grown(conf, n + 1, sizeof *conf);
            hit = train_grown(hit, n + 1, sizeof *hit);
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
                fprintf(dump, "column,%s,%.*s,%s,%s,%s,%.4f,%s,%.4f\n", all->s[i].label->name,
                        TAB_STR(all->s[i].label->table->col[k].name), tab_role_names[y], tab_role_names[g],
                        tab_type_name(t), (double)c->p2[g], all->s[i].label->type[k] == (int)t ? "" : "TYPE",
                        pii);
        }
    printf("columns %zu  role %.3f (stage 1 %.3f)  family %.3f  type %.3f  ece %.3f\n", n,
           (double)right / (double)n, (double)right1 / (double)n, (double)family / (double)n,
           (double)type / (double)n, ece_of(conf, hit, n));
    for (int a = 0; a < 6; a++)
        printf("pii >= %.3f  precision %.3f  recall %.3f\n", at[a],
               said[a] ? (double)tp[a] / (double)said[a] : 0.0, (double)tp[a] / (double)(want ? want : 1));
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
            fprintf(dump, "sector,%s,%s,%s,%.4f\n", all->s[i].label->name, tab_sectors[y].slug,
                    tab_sectors[top].slug, (double)all->s[i].sector[top]);
    }
    printf("tables %zu  sector top1 %.3f  top5 %.3f  ece %.3f\n", tables, (double)first / (double)tables,
           (double)five / (double)tables, ece_of(conf, hit, tables));
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
