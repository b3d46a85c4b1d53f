/* What the summary says of the question itself: in which regimes rows are asked, what linked tables leave
 * out, and the steps ahead. */
#include "tools/tabella/summary_question.h"

#include <stdio.h>
#include <string.h>

#include "common/bundle/bundle_json.h"
#include "tools/tabella/distribution.h"

static const struct {
    const char *regime, *words;
} REGIMES[] = { { "alike", "like the rows with a target" },
                { "later", "later than all rows with a target" },
                { "new_group", "in groups without any row with a target" },
                { "out_of_range", "with values outside those of the rows with a target" } };

static const char *words_of(const char *regime)
{
    for (size_t i = 0; i < sizeof REGIMES / sizeof *REGIMES; i++)
        if (strcmp(REGIMES[i].regime, regime) == 0)
            return REGIMES[i].words;
    return regime;
}

/* time: errors are seconds, which are said as days. */
static void print_regime(const Tabella__RegimeQuality *q, bool time)
{
    printf("  rows to predict: %llu %s", (unsigned long long)q->rows, words_of(q->regime));
    if (q->has_distance)
        printf(", evaluated %.10g steps ahead", q->distance);
    if (q->judged == 0) {
        puts("; too few rows to evaluate predictions there");
        return;
    }
    printf("; %s there %.4g, baseline %.4g%s", strcmp(q->metric, "log_loss") == 0 ? "log-loss" : "error",
           q->score / (time ? 86400 : 1), q->baseline / (time ? 86400 : 1), time ? " days" : "");
    if (q->has_coverage)
        printf(", 80%% intervals covered %.0f%%", 100 * q->coverage);
    printf(" (%llu rows judged)\n", (unsigned long long)q->judged);
}

void print_regimes(const Tabella__Prediction *p)
{
    for (size_t i = 0; i < p->n_regimes; i++)
        if (p->regimes[i]->rows > 0)
            print_regime(p->regimes[i], p->time);
}

static void print_text(const char *s)
{
    for (; *s != 0; s++) /* a column's name may hold anything */
        putchar((unsigned char)*s < ' ' || *s == 0x7f ? ' ' : *s);
}

void print_linked(const tab_table *const *tables, const Tabella__Prediction *p)
{
    for (size_t i = 0; i < p->n_linked; i++) {
        const Tabella__LinkedTable *l = p->linked[i];
        printf("  rows of %.*s: %llu used", TAB_STR(tables[l->table]->id), (unsigned long long)l->rows_used);
        if (l->as_of != NULL)
            printf(" as of %.*s, %llu are later", (int)l->as_of->address.len,
                   (const char *)l->as_of->address.data, (unsigned long long)l->rows_left_out);
        fputs(": ", stdout);
        print_text(l->reason);
        puts("");
    }
}

static void print_cell(const tab_column *c, size_t row, int width)
{
    tab_cell x = tab_cell_at(c, row);
    char buf[40];
    tab_str s = x.text;
    if (x.kind == TAB_CELL_NUMBER && s.n == 0)
        s = (tab_str){ buf, tab_number_text(x.num, buf) };
    print_padded(x.kind == TAB_CELL_NULL ? TAB_S("-") : s, width);
}

/* How times and series were read, in a line. */
static void print_structure(const Tabella__Forecast *f)
{
    printf("\nforecast: %zu rows", f->n_value);
    for (size_t i = 0; i < f->n_series; i++)
        printf("%s%.*s", i == 0 ? ", for each " : ", ", (int)f->series[i]->address.len,
               (const char *)f->series[i]->address.data);
    for (size_t i = 0; i < f->n_time; i++)
        printf("%s%.*s", i == 0 ? ", times in " : ", ", (int)f->time[i]->address.len,
               (const char *)f->time[i]->address.data);
    if (f->step != NULL && f->step[0] != 0)
        printf(", step %s%s", f->step, f->regular ? "" : " (irregular)");
    for (size_t i = 0; i < f->n_seasons; i++)
        printf("%s%.10g", i == 0 ? ", seasons of " : ", ", f->seasons[i]);
    if (f->n_seasons > 0)
        fputs(" steps", stdout);
    fputs("\n  ", stdout);
    print_text(f->method);
    puts("");
    for (size_t i = 0; i < f->n_notes; i++) {
        fputs("  ", stdout);
        print_text(f->notes[i]);
        puts("");
    }
}

void print_forecast(const Tabella__Forecast *f)
{
    enum { SHOWN = 12, KEYS = 4 };
    tab_column at, key[KEYS];
    size_t keys = f->n_series < KEYS ? f->n_series : KEYS;
    print_structure(f);
    if (!tab_column_view(f->at, f->n_value, &at))
        return;
    for (size_t k = 0; k < keys; k++)
        if (!tab_column_view(f->series_value[k], f->n_value, &key[k]))
            return;
    for (size_t i = 0; i < f->n_value && i < SHOWN; i++) {
        fputs("  ", stdout);
        for (size_t k = 0; k < keys; k++) {
            print_cell(&key[k], i, 16);
            putchar(' ');
        }
        print_cell(&at, i, 20);
        printf(" %12.6g   80%% within %.6g to %.6g\n", f->value[i], f->low[i], f->high[i]);
    }
    if (f->n_value > SHOWN)
        printf("  ... and %zu more; --out writes them as forecast.csv\n", f->n_value - SHOWN);
}
