/* A bundle in a screenful. */
#include <stdio.h>

#include "tools/tabella/tabella.h"

#define BYTES(d) (int)(d).len, (const char *)(d).data

static void tables(const Tabella__Bundle *b)
{
    for (size_t t = 0; t < b->n_tables; t++) {
        const Tabella__TableUnderstanding *u = b->tables[t];
        printf("\n%.*s   %llu rows, %u columns", BYTES(u->id), (unsigned long long)u->rows,
               u->cols);
        if (u->n_sector_top5 > 0)
            printf("   sector: %s (%.0f %%)", u->sector_top5[0]->name,
                   100 * u->sector_top5[0]->confidence);
        puts("");
        for (size_t c = 0; c < u->n_column_profile; c++) {
            const Tabella__ColumnProfile *p = u->column_profile[c];
            if (c == 40 && u->n_column_profile > 50) {
                printf("  ... and %zu more columns\n", u->n_column_profile - c);
                break;
            }
            printf("  %-28.*s %-14s %-12s %3.0f %%  missing %5.1f %%%s\n", BYTES(p->name), p->role,
                   p->type, 100 * p->role_confidence, 100 * p->missing_pct, p->pii ? "  PII" : "");
        }
    }
}

static void together(const Tabella__Bundle *b)
{
    const Tabella__CrossTableMap *m = b->cross_table_map;
    if (m == NULL)
        return;
    printf("\nacross tables: %llu of %llu rows linked, %zu shared attributes, keys used: %s\n",
           (unsigned long long)b->records_linked, (unsigned long long)b->records_total, m->n_shared,
           m->keys_used[0] != 0 ? m->keys_used : "none");
    for (size_t i = 0; i < m->n_column_alignment && i < 20; i++) {
        const Tabella__ColumnAlignment *c = m->column_alignment[i];
        printf("  %.*s = %.*s  (%.0f %%)", BYTES(c->a->address), BYTES(c->b->address),
               100 * c->confidence);
        if (c->has_example)
            printf("   %.*s | %.*s", BYTES(c->example_a), BYTES(c->example_b));
        puts("");
    }
    if (b->unified_rows != NULL)
        printf("  unified: %llu entities, %llu of them matched\n",
               (unsigned long long)b->unified_rows->records->rows,
               (unsigned long long)b->unified_rows->matched);
}

static void prediction(const Tabella__Bundle *b)
{
    const Tabella__TargetSelection *s = b->target_selection;
    const Tabella__Prediction *p = b->prediction;
    if (s != NULL)
        printf("\ntarget: %.*s (%s) %s\n", s->column != NULL ? (int)s->column->address.len : 4,
               s->column != NULL ? (const char *)s->column->address.data : "none", s->mode,
               s->reason);
    if (p == NULL)
        return;
    size_t n = p->results != NULL ? p->results->n_row : 0;
    printf("task: %s, %zu rows scored out of fold, %llu without a target\n", p->task_type, n,
           (unsigned long long)p->missing_target);
    if (p->results != NULL && p->results->n_anomaly_score > 0) {
        size_t over = 0;
        for (size_t i = 0; i < n; i++)
            over += p->results->anomaly_score[i] >= p->threshold;
        printf("  %zu rows at or above the threshold of %.3f\n", over, p->threshold);
    }
    if (p->results != NULL && p->results->n_label > 0 && n > 0 &&
        p->results->n_probabilities % n == 0) {
        size_t classes = p->results->n_probabilities / n;
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += p->results->probabilities[i * classes + p->results->label[i]];
        printf("  %zu classes, mean confidence of the label %.3f\n", classes, sum / (double)n);
    }
}

void print_summary(const Tabella__Bundle *b, size_t cells, double seconds)
{
    printf("%zu table%s, %zu cells, %s, %.2f s\n", b->n_tables, b->n_tables == 1 ? "" : "s", cells,
           b->base_model, seconds);
    tables(b);
    together(b);
    if (b->imputation != NULL)
        printf("\nimputed: %zu cells filled\n", b->imputation->n_row);
    prediction(b);
    puts("\n--json prints the whole bundle");
}
