/* Fits on the T rows of a CSV table and answers its E rows: the engine's part of `make bench-predict`.
 *
 *   answers CSV TARGET TASK BASE SPLIT     CSV: file or - ; TARGET: column name, "" for none;
 *                                          TASK: classification, regression, anomaly, impute;
 *                                          SPLIT: a file with one character a row, T / E / -, or "" for all T
 * Prints one line "cpu FIT SCORE" (CPU seconds), then "weights ...", then a line a row. An empty cell is
 * missing; a column is numeric when all its cells are. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "services/inference/engine/impute/impute.h"
#include "services/inference/engine/predict/fitted.h"
#include "services/inference/engine/profile/roles/roles.h"

typedef struct {
    char *text;
    size_t rows, cols, room;
    tab_str *cell; /* header first, row-major */
    size_t cells;
} csv;

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static char *slurp(FILE *f, size_t *n)
{
    size_t room = 1 << 20;
    char *p = malloc(room);
    *n = 0;
    for (size_t got; p != NULL && (got = fread(p + *n, 1, room - *n - 1, f)) > 0;) {
        *n += got;
        if (room - *n < 2)
            p = realloc(p, room *= 2);
    }
    if (p != NULL)
        p[*n] = 0;
    return p;
}

/* RFC 4180, quotes and doubled quotes; the text is cut in place. */
static bool read_csv(csv *c, char *p, size_t n)
{
    char *end = p + n;
    while (p < end) {
        char *to = p, *from = p;
        bool quoted = *p == '"';
        if (quoted)
            p++;
        for (; p < end; p++) {
            if (quoted && *p == '"' && p + 1 < end && p[1] == '"')
                p++;
            else if (quoted && *p == '"') {
                quoted = false;
                continue;
            } else if (!quoted && (*p == ',' || *p == '\n' || *p == '\r'))
                break;
            *to++ = *p;
        }
        if (c->cells == c->room) {
            c->room = c->room * 2 + 1024;
            c->cell = realloc(c->cell, c->room * sizeof *c->cell);
            if (c->cell == NULL)
                return false;
        }
        c->cell[c->cells++] = (tab_str){ from, (size_t)(to - from) };
        bool line = p >= end || *p != ',';
        if (p < end && *p == '\r')
            p++;
        p++;
        if (line && c->cols == 0)
            c->cols = c->cells;
    }
    c->rows = c->cols > 0 ? c->cells / c->cols - 1 : 0;
    return c->cols > 0 && c->cells % c->cols == 0;
}

static bool number_of(tab_str s, double *v)
{
    char buf[64], *stop;
    if (s.n == 0 || s.n >= sizeof buf || isspace((unsigned char)s.p[0]))
        return false;
    memcpy(buf, s.p, s.n);
    buf[s.n] = 0;
    if (strpbrk(buf, "xXnNiI") != NULL)
        return false;
    *v = strtod(buf, &stop);
    return *stop == 0;
}

/* The rows whose split character is `which`, as a table. */
static bool table_of(tab_arena *a, const csv *c, const char *split, char which, size_t target, bool as_text,
                     tab_table *ret)
{
    tab_column *col = tab_arena_new_of(a, tab_column, c->cols);
    size_t rows = 0;
    for (size_t j = 0; j < c->cols; j++) {
        bool numbers = true;
        for (size_t i = 1; i <= c->rows && numbers; i++) {
            double v;
            tab_str s = c->cell[i * c->cols + j];
            numbers = s.n == 0 || number_of(s, &v);
        }
        if (j == target && as_text)
            numbers = false;
        tab_builder *b = tab_builder_new(a, c->cell[j]);
        rows = 0;
        for (size_t i = 1; b != NULL && i <= c->rows; i++) {
            double v;
            tab_str s = c->cell[i * c->cols + j];
            if (split != NULL && split[i - 1] != which)
                continue;
            rows++;
            if (s.n == 0)
                tab_builder_null(b);
            else if (numbers && number_of(s, &v))
                tab_builder_number(b, v);
            else
                tab_builder_text(b, s);
        }
        if (b == NULL || !tab_builder_finish(b, &col[j]))
            return false;
    }
    *ret = (tab_table){ .id = TAB_S("t"), .rows = rows, .cols = c->cols, .col = col };
    return true;
}

static void print_member(const tab_stack *s)
{
    printf("weights");
    for (size_t l = 0; l < s->members; l++)
        printf(" %s/%zu=%.2f(%.4f,t%.2f)", s->member[l].learner->name, s->member[l].config,
               s->member[l].weight, s->member[l].loss, s->member[l].temperature);
    printf(" prior=%.2f oof=%.4f t=%.2f folds=%zu", s->prior_weight, s->loss, s->temperature, s->folds);
    for (size_t i = 0; i < s->skips; i++)
        printf(" skipped[%s]", s->skipped[i]);
    printf("\n");
}

static void print_results(const Tabella__Prediction *m, const Tabella__Results *r)
{
    size_t classes = r->n_row > 0 ? r->n_probabilities / r->n_row : 0;
    if (classes > 0) { /* the classes' texts: they are all coded here */
        printf("classes");
        for (size_t k = 0; k < classes; k++) {
            uint32_t code, from = 0, to;
            memcpy(&code, m->classes->codes.data + 4 * k, 4);
            if (code > 0)
                memcpy(&from, m->classes->level_end.data + 4 * (code - 1), 4);
            memcpy(&to, m->classes->level_end.data + 4 * code, 4);
            printf("\t%.*s", (int)(to - from), (const char *)m->classes->level_text.data + from);
        }
        printf("\n");
    }
    for (size_t i = 0; i < r->n_row; i++) {
        for (size_t k = 0; k < classes; k++)
            printf("%s%.9g", k > 0 ? "\t" : "", r->probabilities[i * classes + k]);
        if (r->n_value > 0) {
            printf("%.9g", r->value[i]);
            for (size_t l = 0; l < m->n_quantile_levels; l++)
                printf("\t%.9g", r->quantiles[i * m->n_quantile_levels + l]);
        }
        if (r->n_anomaly_score > 0)
            printf("%.9g", r->anomaly_score[i]);
        printf("\n");
    }
}

static int impute(const tab_engine *e, tab_profile *p)
{
    tab_impute_target none = { 0 };
    Tabella__Imputation *m;
    tab_error err = { 0 };
    double before = cpu();
    if (tab_impute(e, &p, 1, NULL, &none, &m, &err) != TAB_OK)
        return fprintf(stderr, "%s\n", err.message), 1;
    printf("cpu %.3f 0\n", cpu() - before);
    for (size_t i = 0; i < m->n_row; i++) {
        uint32_t code = 0, from = 0, to = 0;
        printf("%u\t%u\t", m->row[i], m->column[i]);
        if (!m->value->coded) {
            double v;
            memcpy(&v, m->value->numbers.data + 8 * i, 8);
            printf("%.9g\n", v);
            continue;
        }
        memcpy(&code, m->value->codes.data + 4 * i, 4);
        if (code > 0)
            memcpy(&from, m->value->level_end.data + 4 * (code - 1), 4);
        memcpy(&to, m->value->level_end.data + 4 * code, 4);
        printf("%.*s\n", (int)(to - from), (const char *)m->value->level_text.data + from);
    }
    for (size_t i = 0; i < m->n_confidence_row; i++)
        printf("confidence\t%u\t%.6f\n", m->confidence_row[i], m->row_confidence[i]);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return fprintf(stderr, "usage: answers CSV TARGET TASK BASE SPLIT\n"), 2;
    const char *task = argv[3];
    size_t n, split_n = 0;
    FILE *in = strcmp(argv[1], "-") == 0 ? stdin : fopen(argv[1], "rb");
    char *text = in == NULL ? NULL : slurp(in, &n), *split = NULL;
    csv c = { 0 };
    if (text == NULL || !read_csv(&c, text, n))
        return fprintf(stderr, "cannot read %s\n", argv[1]), 1;
    if (argv[5][0] != 0) {
        FILE *f = fopen(argv[5], "rb");
        split = f == NULL ? NULL : slurp(f, &split_n);
        if (split == NULL || split_n < c.rows)
            return fprintf(stderr, "the split is shorter than the table\n"), 1;
    }
    size_t target = c.cols;
    for (size_t j = 0; j < c.cols; j++)
        if (tab_str_eq(c.cell[j], tab_str_of(argv[2])))
            target = j;
    bool classify = strcmp(task, "classification") == 0;
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)16 << 30);
    tab_engine e = { .arena = a, .seed = 0 };
    tab_table train, test;
    if (!table_of(a, &c, split, 'T', target, classify, &train) ||
        !table_of(a, &c, split, 'E', target, classify, &test))
        return fprintf(stderr, "out of memory\n"), 1;
    tab_error err = { 0 };
    tab_profile *p = NULL;
    double start = cpu();
    if (tab_profile_table(&e, &train, &p, &err) != TAB_OK)
        return fprintf(stderr, "%s\n", err.message), 1;
    if (getenv("TAB_SHOW") != NULL)
        for (size_t j = 0; j < c.cols; j++)
            fprintf(stderr, "%.*s: %s, levels %zu, distinct %zu, missing %.3f%s, %s\n", TAB_STR(c.cell[j]),
                    tab_type_name(p->col[j].type), p->col[j].levels, p->col[j].distinct, p->col[j].missing,
                    p->col[j].identifying ? " IDENTIFYING" : "", tab_role_names[p->col[j].role]);
    if (strcmp(task, "impute") == 0)
        return impute(&e, p);
    tab_fit_options o = { .base = argv[4], .target = target };
    o.task = classify                       ? TAB_TASK_CLASSIFICATION
             : strcmp(task, "anomaly") == 0 ? TAB_TASK_ANOMALY
                                            : TAB_TASK_REGRESSION;
    if (o.task == TAB_TASK_ANOMALY) { /* the label only scores */
        bool *use = tab_arena_new_of(a, bool, c.cols);
        for (size_t j = 0; j < c.cols; j++)
            use[j] = j != target;
        o.use = use;
    }
    TAB_AUTO(tab_fitted) *f = NULL;
    Tabella__Prediction *m;
    if (tab_fit(&e, p, &o, &f, &err) != TAB_OK)
        return fprintf(stderr, "%s\n", err.message), 1;
    double fitted = cpu();
    tab_status st = o.task == TAB_TASK_ANOMALY ? tab_fitted_results(&e, f, false, &m, &err)
                                               : tab_score_any(&e, f, &test, false, &m, &err);
    if (st != TAB_OK)
        return fprintf(stderr, "%s\n", err.message), 1;
    printf("cpu %.3f %.3f\n", fitted - start, cpu() - fitted);
    if (tab_fitted_stack(f) != NULL)
        print_member(tab_fitted_stack(f));
    print_results(m, m->results);
    free(text), free(split), free(c.cell);
    return 0;
}
