/* Which columns are said to give a target away, for tests/bench/targets/run --leaks:
 *
 *   leaks FILE.csv TARGET [FILE.csv TARGET ...]
 *
 * Each target is asked of the table as it is, and of copies of it with a column more that gives it away. A
 * line a case: "FILE TARGET CASE LEAKS REASONS" with tabs between; LEAKS: names of the columns, "|" between;
 * CASE: clean, units (the target in other units, rounded), part (the greater part of the target), after (a
 * text where the rarer class is, nothing elsewhere), noisy (the target, a fiftieth of the rows wrong), none
 * (a column of chance). CPU seconds of the leaks alone end the output. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/explain/leaks.h"

enum { CLEAN, UNITS, PART, AFTER, NOISY, NONE, CASES };
static const char *const names[CASES] = { "clean", "units", "part", "after", "noisy", "none" };

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tab_str slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t n = 0, room = 1 << 16;
    char *p = malloc(room);
    for (size_t got; f != NULL && p != NULL && (got = fread(p + n, 1, room - n, f)) > 0;)
        if ((n += got) == room)
            p = realloc(p, room *= 2);
    if (f != NULL)
        fclose(f);
    return (tab_str){ p, f == NULL ? 0 : n };
}

/* The made column's cell for row i. y: the target as a number; rare: whether it is the rarest class. */
static void made_cell(tab_builder *b, int kind, const tab_column_profile *c, size_t i, double sd,
                      uint32_t rare)
{
    double u = tab_unit(tab_mix2(i, 77)), v = tab_unit(tab_mix2(i, 78));
    bool number = c->number != NULL, there = number ? !isnan(c->number[i]) : c->code[i] != TAB_NULL;
    char text[32];
    if (kind == NONE)
        tab_builder_number(b, round(1000 * u));
    else if (!there)
        tab_builder_null(b);
    else if (kind == UNITS && number)
        tab_builder_number(b, round(c->number[i] * 453.592 / sd * 10) / 10);
    else if (kind == PART && number)
        tab_builder_number(b, c->number[i] - 0.1 * sd * v);
    else if (kind == AFTER && !number && c->code[i] == rare)
        tab_builder_text(b, v < 0.5 ? TAB_S("settled") : TAB_S("open"));
    else if (kind == NOISY && !number) {
        uint32_t code = u < 0.02 ? (uint32_t)(v * (double)c->levels) : c->code[i];
        snprintf(text, sizeof text, "K%u", code);
        tab_builder_text(b, tab_str_of(text));
    } else
        tab_builder_null(b);
}

/* The table with the made column before all others. NULL: not a case of this target. */
static const tab_table *with_made(tab_arena *a, const tab_table *t, const tab_column_profile *c, int kind)
{
    bool number = c->number != NULL && c->type == TAB_NUMERIC && tab_numeric_target(c);
    if (kind == CLEAN)
        return t;
    if ((kind == UNITS || kind == PART) ? !number
                                        : (kind == AFTER || kind == NOISY) && (number || c->code == NULL))
        return NULL;
    double sum = 0, square = 0, n = 0;
    size_t *count = tab_arena_new_of(a, size_t, c->levels + 1);
    uint32_t rare = 0;
    for (size_t i = 0; i < t->rows; i++) {
        if (number && !isnan(c->number[i]))
            sum += c->number[i], square += c->number[i] * c->number[i], n++;
        if (!number && c->code != NULL && c->code[i] != TAB_NULL)
            count[c->code[i]]++;
    }
    for (uint32_t k = 1; k < c->levels; k++)
        rare = count[k] < count[rare] ? k : rare;
    if (kind == AFTER && c->levels != 2)
        return NULL;
    double sd = n > 0 ? sqrt(fmax(1e-30, square / n - sum / n * (sum / n))) : 1;
    tab_table *m = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, t->cols + 1);
    tab_builder *b = tab_builder_new(a, TAB_S("made"));
    tab_column_profile as = *c;
    as.number = number ? c->number : NULL;
    for (size_t i = 0; i < t->rows; i++)
        made_cell(b, kind, &as, i, sd, rare);
    if (!tab_builder_finish(b, &col[0]))
        return NULL;
    memcpy(col + 1, t->col, t->cols * sizeof *col);
    *m = (tab_table){ .id = t->id, .rows = t->rows, .cols = t->cols + 1, .col = col };
    return m;
}

static double spent;

static bool print_case(const char *path, const char *target, int kind)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    tab_engine e = { .arena = a };
    tab_str bytes = slurp(path);
    const tab_table *t = NULL;
    tab_csv_notes notes;
    tab_profile *p = NULL;
    tab_error err = { 0 };
    TAB_AUTO(tab_fitted) *f = NULL;
    Tabella__Prediction m = TABELLA__PREDICTION__INIT;
    if (tab_csv_read(a, bytes, TAB_S("t"), &t, &notes, &err) != TAB_OK ||
        tab_profile_table(&e, t, &p, &err) != TAB_OK)
        return false;
    size_t of = 0;
    while (of < t->cols && !tab_str_eq(t->col[of].name, tab_str_of(target)))
        of++;
    bool ok = of < t->cols && (t = with_made(a, t, &p->col[of], kind)) != NULL;
    if (ok && kind != CLEAN)
        ok = tab_profile_table(&e, t, &p, &err) == TAB_OK;
    tab_fit_options o = { .base = "base-1", .target = of + (kind != CLEAN) };
    if (ok && tab_fit(&e, p, &o, &f, &err) != TAB_OK) {
        fprintf(stderr, "leaks: %s %s: %s\n", path, target, err.message);
        ok = false;
    }
    if (ok) {
        double began = cpu();
        ok = tab_leaks(&e, f, p, &m, &err) == TAB_OK;
        spent += cpu() - began;
        printf("%s\t%s\t%s\t", path, target, names[kind]);
        for (size_t i = 0; i < m.n_leaks; i++)
            printf("%s%.*s", i > 0 ? "|" : "", (int)m.leaks[i]->column->address.len - 2,
                   (const char *)m.leaks[i]->column->address.data + 2);
        printf("\t%s\n", m.n_leaks > 0 ? m.leaks[0]->reason : "");
        fflush(stdout);
    }
    free((void *)(uintptr_t)bytes.p);
    return true;
}

int main(int argc, char **argv)
{
    bool ok = argc > 2;
    for (int i = 1; i + 1 < argc; i += 2)
        for (int kind = 0; kind < CASES; kind++)
            ok = print_case(argv[i], argv[i + 1], kind) && ok;
    printf("cpu\t%.2f\n", spent);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
