/* The summary that `tabella run` prints: tables and columns, what relates them with its evidence, the
 * target. It reads the bundle's message, and the tables for distributions. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/tabella/distribution.h"
#include "tools/tabella/findings.h"
#include "tools/tabella/summary_question.h"
#include "tools/tabella/tabella.h"

#define BYTES(d) (int)(d).len, (const char *)(d).data

/* Below it the first sector is no better than a guess among a few. */
static const double CLEAR = 0.2;

static void print_sector(const Tabella__NameConfidence *first)
{
    double percent = 100 * first->confidence;
    if (first->confidence < CLEAR)
        printf("   sector: unclear (%s %.0f%%)", first->name, percent);
    else
        printf("   sector: %s (%.0f%%)", first->name, percent);
}

static void understood(const tab_engine *e, const tab_table *const *tables, const Tabella__Bundle *b)
{
    for (size_t t = 0; t < b->n_tables; t++) {
        const Tabella__TableUnderstanding *u = b->tables[t];
        printf("\n%.*s   %llu row%s, %u column%s", BYTES(u->id), (unsigned long long)u->rows,
               u->rows == 1 ? "" : "s", u->cols, u->cols == 1 ? "" : "s");
        if (u->n_sector_top5 > 0)
            print_sector(u->sector_top5[0]);
        if (u->grain != NULL && strcmp(u->grain->kind, "entity") != 0) {
            printf("   a row is: %s", u->grain->kind);
            for (size_t i = 0; i < u->grain->n_of; i++)
                printf("%s %.*s", i == 0 ? " of" : ",", BYTES(u->grain->of[i]->address));
        }
        puts("");
        tab_profile *values = NULL;
        tab_error err;
        if (tab_profile_table(e, tables[t], &values, &err) != TAB_OK)
            values = NULL; /* the picture goes without distributions */
        for (size_t c = 0; c < u->n_column_profile; c++) {
            const Tabella__ColumnProfile *p = u->column_profile[c];
            if (c == 40 && u->n_column_profile > 50) {
                printf("  ... and %zu more columns\n", u->n_column_profile - c);
                break;
            }
            fputs("  ", stdout);
            print_padded((tab_str){ (const char *)p->name.data, p->name.len }, 24);
            printf(" %-14s %-11s %3.0f%% %-3s missing %3.0f%%  ", p->role, p->type, 100 * p->role_confidence,
                   p->pii ? "PII" : "", 100 * p->missing_pct);
            if (values != NULL)
                print_distribution(&values->col[c], tables[t]->rows);
            for (size_t k = 0; k < p->n_pii_kinds; k++)
                printf("%s %s %.2g%%", k == 0 ? "  holds" : ",", p->pii_kinds[k]->kind,
                       100 * p->pii_kinds[k]->share);
            puts("");
        }
    }
}

/* ---- matches with their evidence ------------------------------------------------------------- */

static uint32_t at32(ProtobufCBinaryData d, size_t i)
{
    uint32_t x = UINT32_MAX;
    if ((i + 1) * sizeof x <= d.len)
        memcpy(&x, d.data + i * sizeof x, sizeof x);
    return x;
}

/* At most 40 bytes of a cell, cut between characters. */
static void print_cell(const Tabella__Column *c, size_t row)
{
    if (!c->coded) {
        double x;
        if ((row + 1) * sizeof x > c->numbers.len)
            return;
        memcpy(&x, c->numbers.data + row * sizeof x, sizeof x);
        char text[32];
        if (isfinite(x))
            printf("%.*s", (int)tab_number_text(x, text), text);
        return;
    }
    uint32_t code = at32(c->codes, row);
    if (code == UINT32_MAX)
        return;
    uint32_t from = code == 0 ? 0 : at32(c->level_end, code - 1), end = at32(c->level_end, code);
    if (from > end || end > c->level_text.len)
        return;
    size_t n = end - from;
    const char *text = (const char *)c->level_text.data + from;
    bool cut = n > 40;
    for (n = cut ? 40 : n; cut && n > 0 && (text[n] & 0xc0) == 0x80;)
        n--;
    for (size_t i = 0; i < n; i++)
        putchar((unsigned char)text[i] < ' ' || text[i] == 0x7f ? ' ' : text[i]);
    if (cut)
        fputs("...", stdout);
}

static const Tabella__SharedVariants *variant(const Tabella__UnifiedRows *u, ProtobufCBinaryData attribute,
                                              uint32_t table)
{
    for (size_t i = 0; u != NULL && i < u->n_shared_variants; i++) {
        const Tabella__SharedVariants *v = u->shared_variants[i];
        if (v->from->table == table && v->attribute.len == attribute.len &&
            (attribute.len == 0 || memcmp(v->attribute.data, attribute.data, attribute.len) == 0))
            return v;
    }
    return NULL;
}

static void print_match(const Tabella__Bundle *b, const Tabella__EntityMatches *m, size_t i)
{
    uint32_t ta = m->a_table[i], tb = m->b_table[i];
    printf("  %.*s row %u = %.*s row %u  (%.0f%%)", BYTES(b->tables[ta]->id), m->a_row[i],
           BYTES(b->tables[tb]->id), m->b_row[i], 100 * m->confidence[i]);
    const Tabella__UnifiedRows *u = b->unified_rows;
    size_t tables = b->n_tables, entity = 0;
    while (u != NULL && (entity + 1) * tables <= u->n_from_row &&
           (u->from_row[entity * tables + ta] != m->a_row[i] ||
            u->from_row[entity * tables + tb] != m->b_row[i]))
        entity++;
    bool found = u != NULL && (entity + 1) * tables <= u->n_from_row;
    for (size_t k = i == 0 ? 0 : m->matched_on_end[i - 1]; k < m->matched_on_end[i]; k++) {
        ProtobufCBinaryData name = m->attributes[m->matched_on[k]];
        const Tabella__SharedVariants *x = variant(u, name, ta), *y = variant(u, name, tb);
        printf("\n      %-16.*s %4.2f %+6.1f  ", BYTES(name), m->similarity[k], m->weight[k]);
        if (!found || x == NULL || y == NULL)
            continue;
        print_cell(x->values, entity);
        fputs(" | ", stdout);
        print_cell(y->values, entity);
    }
    puts("");
}

/* The surest and the least sure. */
static void matches(const Tabella__Bundle *b, const Tabella__EntityMatches *m)
{
    enum { SHOWN = 3 };
    size_t high[SHOWN], low[SHOWN], nh = 0, nl = 0;
    if (m == NULL || m->n_confidence == 0)
        return;
    for (size_t i = 0; i < m->n_confidence; i++) {
        size_t k = nh;
        for (; k > 0 && m->confidence[i] > m->confidence[high[k - 1]]; k--)
            if (k < SHOWN)
                high[k] = high[k - 1];
        if (k < SHOWN)
            high[k] = i;
        nh += nh < SHOWN;
        for (k = nl; k > 0 && m->confidence[i] < m->confidence[low[k - 1]]; k--)
            if (k < SHOWN)
                low[k] = low[k - 1];
        if (k < SHOWN)
            low[k] = i;
        nl += nl < SHOWN;
    }
    printf("  %zu matches (of each attribute: similarity, weight in bits for or against); the surest",
           m->n_confidence);
    puts(m->n_confidence > 2 * (size_t)SHOWN ? " and the least certain:" : ":");
    for (size_t k = 0; k < nh; k++)
        print_match(b, m, high[k]);
    for (size_t k = nl; k > 0 && m->n_confidence > 2 * (size_t)SHOWN; k--)
        print_match(b, m, low[k - 1]);
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
        printf("  %.*s = %.*s  (%.0f%%)", BYTES(c->a->address), BYTES(c->b->address), 100 * c->confidence);
        if (c->has_example)
            printf("   %.*s | %.*s", BYTES(c->example_a), BYTES(c->example_b));
        puts("");
    }
    for (size_t i = 0, shown = 0; i < m->n_relation && shown < 20; i++) {
        const Tabella__TableRelation *r = m->relation[i];
        if (r->matches == 0 && strcmp(r->relation, "one_to_one") == 0)
            continue; /* nothing between them */
        shown++;
        printf("  %.*s to %.*s: %s, %llu %s", BYTES(b->tables[r->a_table]->id),
               BYTES(b->tables[r->b_table]->id), r->relation, (unsigned long long)r->matches,
               r->key ? "rows refer" : "matches");
        if (*r->evidence != 0)
            printf("  (%.0f%%: %s)", 100 * r->confidence, r->evidence);
        puts("");
    }
    matches(b, m->entity_matches);
    if (b->unified_rows != NULL)
        printf("  unified: %llu entities, %llu of them matched, %zu rows under them\n",
               (unsigned long long)b->unified_rows->records->rows,
               (unsigned long long)b->unified_rows->matched, b->unified_rows->n_child_row);
}

/* The surest groups of each table: their rows, and the columns that speak for them. */
static void duplicates(const Tabella__Bundle *b)
{
    enum { GROUPS = 10, ROWS = 12 };
    for (size_t i = 0; i < b->n_duplicates; i++) {
        const Tabella__DuplicateGroups *d = b->duplicates[i];
        const Tabella__TableUnderstanding *t = b->tables[d->table];
        printf("\nduplicates in %.*s: %zu of %llu rows in %zu groups\n", BYTES(t->id), d->n_row,
               (unsigned long long)t->rows, d->n_confidence);
        for (size_t g = 0, row = 0, k = 0; g < d->n_confidence && g < GROUPS; g++) {
            printf("  rows");
            for (size_t n = 0; row < d->row_end[g]; row++, n++)
                if (n < ROWS)
                    printf(" %u", d->row[row]);
                else if (n == ROWS)
                    printf(" ...");
            printf("  (%.0f%%:", 100 * d->confidence[g]);
            for (const char *comma = " "; k < d->evidence_end[g]; k++)
                if (d->weight[k] > 0) {
                    printf("%s%.*s", comma, BYTES(t->column_profile[d->column[k]]->name));
                    comma = ", ";
                }
            puts(")");
        }
        if (d->n_confidence > GROUPS)
            printf("  ... and %zu more groups\n", d->n_confidence - GROUPS);
    }
}

static void prediction(const Tabella__Bundle *b)
{
    const Tabella__TargetSelection *s = b->target_selection;
    const Tabella__Prediction *p = b->prediction;
    if (s != NULL)
        printf("\ntarget: %.*s (%s) %s\n", s->column != NULL ? (int)s->column->address.len : 4,
               s->column != NULL ? (const char *)s->column->address.data : "none", s->mode, s->reason);
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
    if (p->results != NULL && p->results->n_label > 0 && n > 0 && p->results->n_probabilities % n == 0) {
        size_t classes = p->results->n_probabilities / n;
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += p->results->probabilities[i * classes + p->results->label[i]];
        printf("  %zu class%s, mean confidence of the label %.3f\n", classes, classes == 1 ? "" : "es",
               sum / (double)n);
    }
}

/* How good it is, and why. */
static void told(const findings *f)
{
    if (f->metric != NULL)
        printf("  %s %.3f, 95%% interval %.3f to %.3f (%s: %.3f), over %zu rows\n", f->metric, f->score,
               f->low, f->high, f->guess, f->plain, f->rows);
    for (size_t i = 0; i < f->reasons; i++) {
        fputs(i == 0 ? "  what moves it: " : ", ", stdout);
        print_padded(f->reason[i].column, 0);
        printf(" %.0f%%", 100 * f->reason[i].share);
    }
    if (f->reasons > 0)
        puts("");
}

static void filled(const tab_table *const *tables, const findings *f)
{
    printf("\nfilled in: %zu cells\n", f->filled);
    for (size_t i = 0; i < f->fills && i < FINDINGS_SHOWN; i++) {
        const tab_table *t = tables[f->fill[i].table];
        printf("  %.*s.", TAB_STR(t->id));
        print_padded(t->col[f->fill[i].column].name, 0);
        printf("  %zu of %zu cells, mostly by %s\n", f->fill[i].cells, t->rows, f->fill[i].method);
    }
    if (f->fills > FINDINGS_SHOWN)
        printf("  ... and %zu more columns\n", f->fills - FINDINGS_SHOWN);
}

static void unusual(const tab_table *const *tables, const findings *f)
{
    if (f->unusual == 0)
        return;
    printf("\nunusual rows in %.*s: %zu; the most unusual:", TAB_STR(tables[f->anomaly_table]->id),
           f->unusual);
    for (size_t i = 0; i < f->anomalies; i++)
        printf("%s %u (%.2f)", i > 0 ? "," : "", f->anomaly[i].row, f->anomaly[i].score);
    puts("");
}

/* The reasons of the first rows, where they were asked for. */
static void explained(const tab_table *const *tables, const Tabella__Bundle *b)
{
    enum { ROWS = 5, REASONS = 4 };
    const Tabella__Prediction *p = b->prediction;
    const Tabella__Results *r = p == NULL ? NULL : p->results;
    size_t n = r == NULL ? 0 : r->n_reasons < ROWS ? r->n_reasons : ROWS;
    if (n > 0)
        puts("reasons for the first rows (each column's contribution, in units of the model's margin):");
    for (size_t i = 0; i < n; i++) {
        printf("  row %u: ", r->row[i]);
        if (r->n_label > i && p->classes != NULL)
            print_cell(p->classes, r->label[i]);
        else if (r->n_value > i)
            printf("%.6g", r->value[i]);
        for (size_t k = 0; k < r->reasons[i]->n_reasons && k < REASONS; k++) {
            const Tabella__Reason *x = r->reasons[i]->reasons[k];
            fputs(k == 0 ? "   " : ", ", stdout);
            print_padded(tables[p->table]->col[x->column->column].name, 0);
            printf(" %+.2f", x->contribution);
        }
        puts("");
    }
}

void print_summary(const tab_engine *e, const tab_table *const *tables, const Tabella__Bundle *b,
                   const findings *f, bool explain, double seconds)
{
    size_t cells = 0;
    for (size_t i = 0; i < b->n_tables; i++)
        cells += tables[i]->rows * tables[i]->cols;
    printf("%zu table%s, %zu cells, %s, %.2f s\n", b->n_tables, b->n_tables == 1 ? "" : "s", cells,
           b->base_model, seconds);
    understood(e, tables, b);
    together(b);
    duplicates(b);
    filled(tables, f);
    unusual(tables, f);
    prediction(b);
    told(f);
    if (b->prediction != NULL) {
        print_regimes(b->prediction);
        print_linked(tables, b->prediction);
    }
    if (b->prediction != NULL && b->prediction->forecast != NULL)
        print_forecast(b->prediction->forecast);
    if (explain)
        explained(tables, b);
    for (size_t i = 0; i < f->warnings; i++) {
        fputs(i == 0 ? "\nwarning: " : "warning: ", stdout);
        for (const char *c = f->warning[i]; *c != 0; c++)
            putchar((unsigned char)*c < ' ' || *c == 0x7f ? ' ' : *c); /* a column's name may hold anything */
        puts("");
    }
    puts("\n--json prints the whole bundle, --out FOLDER writes tables and a page");
}
