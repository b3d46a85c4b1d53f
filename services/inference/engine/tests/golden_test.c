/* Frozen answers: base-1 and base-2 answer four small tables as the files of golden/ say. Whatever changes
 * an answer of a base fails here; a change that is meant is written with `make golden`, and reviewed.
 *
 * Labels, columns, rows and texts are compared exactly, numbers to a thousandth: a processor's own
 * kernels of OpenBLAS round differently, and an iteration carries that on. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/engine.h"
#include "services/inference/engine/features/mix.h"

enum { ROWS = 150, COLS = 6 };
static const double TOLERANCE = 1e-3, NEAR_ZERO = 1e-3;

static double noise(size_t i, size_t j)
{
    return tab_unit(tab_mix2(i, j));
}

/* Table k: two numbers (one with gaps), a category, a flag, and an outcome of them: two classes, a measure,
 * three classes, or a count. Numbers have few digits, so that they stand in no processor's hands. */
static tab_table *table(tab_arena *a, size_t k)
{
    static const char *const names[COLS] = { "size", "load", "kind", "open", "spare", "outcome" };
    static const char *const kinds[] = { "oak", "pine", "birch", "ash" };
    static const char *const grades[] = { "low", "middle", "high" };
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, COLS);
    for (size_t j = 0; j < COLS; j++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(names[j]));
        for (size_t i = 0; i < ROWS; i++) {
            size_t r = i + 1000 * k;
            double size = round(400 * noise(r, 1)) / 10, load = round(1000 * noise(r, 2)) / 10;
            size_t kind = (size_t)(4 * noise(r, 3));
            bool open = noise(r, 4) < 0.4;
            double score = size / 10 + (kind == 2 ? 2 : 0) + (open ? load / 50 : 0) + 1.5 * noise(r, 5);
            if (j == 1 && noise(r, 6) < 0.12)
                tab_builder_null(b);
            else if (j == 0)
                tab_builder_number(b, size);
            else if (j == 1)
                tab_builder_number(b, load);
            else if (j == 2 && noise(r, 7) < 0.08)
                tab_builder_null(b);
            else if (j == 2)
                tab_builder_text(b, tab_str_of(kinds[kind]));
            else if (j == 3)
                tab_builder_text(b, open ? TAB_S("yes") : TAB_S("no"));
            else if (j == 4)
                tab_builder_number(b, round(100 * noise(r, 8)) / 4);
            else if (k == 0)
                tab_builder_text(b, score > 4 ? TAB_S("pass") : TAB_S("fail"));
            else if (k == 2)
                tab_builder_text(b, tab_str_of(grades[score > 5 ? 2 : score > 3]));
            else
                tab_builder_number(b, k == 1 ? round(100 * score) / 10 : floor(score * score / 4));
        }
        cr_assert(tab_builder_finish(b, &col[j]));
    }
    *t = (tab_table){ .id = TAB_S("t"), .rows = ROWS, .cols = COLS, .col = col };
    return t;
}

static void write_results(FILE *f, const char *name, const Tabella__Prediction *p, const Tabella__Results *r)
{
    if (r == NULL)
        return;
    size_t k = r->n_row > 0 ? r->n_probabilities / r->n_row : 0;
    for (size_t i = 0; i < r->n_row; i++) {
        fprintf(f, "%s row %u", name, r->row[i]);
        if (k > 0)
            fprintf(f, " label %u", r->label[i]);
        for (size_t c = 0; c < k; c++)
            fprintf(f, " %.6f", r->probabilities[i * k + c]);
        if (r->n_value > 0)
            fprintf(f, " value %.6f std %.6f", r->value[i], r->std[i]);
        for (size_t l = 0; r->n_quantiles > 0 && l < p->n_quantile_levels; l++)
            fprintf(f, " %.6f", r->quantiles[i * p->n_quantile_levels + l]);
        if (r->n_anomaly_score > 0)
            fprintf(f, " score %.6f", r->anomaly_score[i]);
        fprintf(f, "\n");
    }
}

static void write_bundle(FILE *f, const Tabella__Bundle *b)
{
    const Tabella__TargetSelection *s = b->target_selection;
    fprintf(f, "target %s %u task %s\n", s->mode, s->column != NULL ? s->column->column : 999,
            b->prediction->task_type);
    for (size_t i = 0; i < s->n_candidates; i++)
        fprintf(f, "candidate %u eligible %d score %.6f\n", s->candidates[i]->column->column,
                s->candidates[i]->eligible, s->candidates[i]->score);
    write_results(f, "result", b->prediction, b->prediction->results);
    write_results(f, "missing", b->prediction, b->prediction->missing_target_results);
    for (size_t i = 0; i < b->imputation->n_row; i++) {
        uint32_t code, from = 0, to;
        memcpy(&code, b->imputation->value->codes.data + 4 * i,
               4); /* numbers stand beside texts: all coded */
        if (code > 0)
            memcpy(&from, b->imputation->value->level_end.data + 4 * (code - 1), 4);
        memcpy(&to, b->imputation->value->level_end.data + 4 * code, 4);
        fprintf(f, "filled %u %u %.*s\n", b->imputation->row[i], b->imputation->column[i], (int)(to - from),
                (const char *)b->imputation->value->level_text.data + from);
    }
    for (size_t i = 0; i < b->imputation->n_confidence_row; i++)
        fprintf(f, "confidence %u %.6f\n", b->imputation->confidence_row[i],
                b->imputation->row_confidence[i]);
}

/* Compares two dumps word by word; a word with a point is a number, and so is its like. */
static void compare(const char *path, char *is, char *should)
{
    char *sa, *sb;
    size_t word = 0;
    for (char *x = strtok_r(is, " \n", &sa), *y = strtok_r(should, " \n", &sb); x != NULL || y != NULL;
         x = strtok_r(NULL, " \n", &sa), y = strtok_r(NULL, " \n", &sb), word++) {
        cr_assert(x != NULL && y != NULL, "%s: one dump ends at word %zu", path, word);
        const char *point = strchr(x, '.') != NULL ? strchr(x, '.') : strchr(y, '.');
        if (point != NULL) {
            double v = strtod(x, NULL), w = strtod(y, NULL);
            double last =
                pow(10, -(double)(strlen(point) - 1)); /* filled cells are rounded: a step may tip */
            cr_assert(fabs(v - w) <= TOLERANCE * fmax(fabs(v), fabs(w)) + fmax(NEAR_ZERO, 1.01 * last),
                      "%s, word %zu: %s, was %s", path, word, x, y);
        } else {
            cr_assert_str_eq(x, y, "%s, word %zu: %s, was %s", path, word, x, y);
        }
    }
}

static void golden(const char *base)
{
    for (size_t k = 0; k < 4; k++)
        for (size_t anomaly = 0; anomaly < (k == 0 ? 2 : 1); anomaly++) {
            TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
            tab_engine e = { .arena = a };
            const tab_table *t = table(a, k);
            tab_run_options o = { .threshold = 0.5, .base = base };
            if (anomaly)
                o.task = TAB_TASK_ANOMALY;
            else if (k != 3) { /* the last chooses for itself */
                o.target = TAB_TARGET_COLUMN;
                o.target_column = TAB_S("outcome");
            }
            Tabella__Bundle *b = NULL;
            cr_assert_eq(tab_engine_run(&e, &t, 1, &o, &b, NULL), TAB_OK);
            char path[128], *is = NULL, *should;
            size_t n = 0;
            FILE *dump = open_memstream(&is, &n);
            write_bundle(dump, b);
            fclose(dump);
            snprintf(path, sizeof path, "services/inference/engine/tests/golden/%s-%zu%s.txt", base, k,
                     anomaly ? "-anomaly" : "");
            bool writing = getenv("TAB_GOLDEN") != NULL;
            FILE *f = fopen(path, writing ? "w" : "r");
            cr_assert_not_null(f, "%s: run from the project's root", path);
            if (writing) {
                fwrite(is, 1, n, f);
            } else {
                should = calloc(1, 2 * n + 4096);
                size_t got = fread(should, 1, 2 * n + 4095, f);
                should[got] = 0;
                compare(path, is, should);
                free(should);
            }
            fclose(f);
            free(is);
        }
}

Test(golden, base_1, .timeout = 1800)
{
    golden("base-1");
}

Test(golden, base_2, .timeout = 1800)
{
    golden("base-2");
}
