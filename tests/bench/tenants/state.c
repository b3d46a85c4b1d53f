/* What a fitted state takes and how soon it is there: memory as fitted and as read, bytes as kept, time to
 * write and to read, and that it answers the same.
 *
 *   usage: state ROWS COLUMNS [BASE [classes|number|days [FILE]]]
 *
 * days: a number whose rows are a day each, so that those that are asked come later than all fitted ones.
 * FILE is given the body of the state, before it is compressed: a seed of tests/fuzz/corpus/state. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/proto.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/states/state_pack.h"

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double normal(size_t i, size_t j)
{
    double a = tab_unit(tab_mix2(i, 2 * j)), b = tab_unit(tab_mix2(i, 2 * j + 1));
    return sqrt(-2 * log(a + 1e-12)) * cos(6.283185307179586 * b);
}

static tab_str day(tab_arena *a, size_t i)
{
    time_t at = 1704067200 + 86400 * (time_t)i;
    struct tm tm;
    char text[16];
    strftime(text, sizeof text, "%Y-%m-%d", gmtime_r(&at, &tm));
    return tab_arena_copy(a, tab_str_of(text));
}

/* Numbers of three decimals, one category, and a target of both. */
static const tab_table *made(tab_arena *a, size_t from, size_t rows, size_t cols, bool number, bool days)
{
    static const char *const colours[] = { "red", "green", "blue", "black" };
    tab_column *col = tab_arena_new_of(a, tab_column, cols);
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    for (size_t c = 0; c < cols; c++) {
        char name[16];
        snprintf(name, sizeof name, c + 1 < cols ? "f%zu" : "y", c);
        tab_builder *b = tab_builder_new(a, tab_arena_copy(a, tab_str_of(name)));
        for (size_t r = from; r < from + rows; r++) {
            double z = normal(r, 1000) * 0.4;
            for (size_t k = 0; k + 2 < cols; k++)
                z += normal(r, k) * normal(k, 7777);
            z += tab_mix2(r, 5) % 4 % 2 == 0;
            if (c == 0 && days)
                tab_builder_text(b, day(a, r));
            else if (c + 2 == cols)
                tab_builder_text(b, tab_str_of(colours[tab_mix2(r, 5) % 4]));
            else if (c + 1 < cols)
                tab_builder_number(b, round(1000 * normal(r, c)) / 1000);
            else if (number)
                tab_builder_number(b, round(1000 * z) / 1000);
            else
                tab_builder_text(b, z > 0.5 ? TAB_S("a") : TAB_S("b"));
        }
        if (!tab_builder_finish(b, &col[c]))
            exit(1);
    }
    *t = (tab_table){ .id = TAB_S("t"), .rows = rows, .cols = cols, .col = col };
    return t;
}

static serve_state *fitted(tab_arena *a, const tab_table *t, const char *base, bool number)
{
    tab_error err = { 0 };
    serve_state *st = NULL;
    Tabella__Bundle *b = NULL;
    tab_run_options run = { .base = base, .explain = true };
    run.target_column = TAB_S("y");
    run.target = TAB_TARGET_COLUMN;
    run.task = number ? TAB_TASK_REGRESSION : TAB_TASK_CLASSIFICATION;
    tab_engine e = { .arena = a };
    if (serve_state_new(1, &run, &st, &err) != TAB_OK)
        exit(1);
    tab_pass_parts parts = { .arena = st->arena, .profile = st->profile };
    st->table[0] = t;
    tab_status s = tab_engine_pass(&e, &t, 1, &run, &parts, &b, &err);
    st->linked = parts.linked;
    st->fitted = parts.fitted;
    st->sel = parts.selection;
    st->key = parts.key;
    if (s != TAB_OK || (s = serve_state_ready(st, &err)) != TAB_OK) {
        fprintf(stderr, "%s %s\n", err.param, err.message);
        exit(1);
    }
    return st;
}

static tab_str answer(tab_arena *a, const serve_state *st, const tab_table *t)
{
    Tabella__Prediction *m = NULL;
    tab_engine e = { .arena = a };
    tab_error err = { 0 };
    if (tab_score(&e, st->fitted, t, true, &m, &err) != TAB_OK)
        exit(1);
    return tab_proto_write(a, &m->base);
}

static bool keep_body(serve_state *st, const char *path)
{
    uint8_t *body = NULL;
    size_t n = 0;
    tab_error err = { 0 };
    FILE *f = state_body_write(st, &body, &n, &err) == TAB_OK ? fopen(path, "wb") : NULL;
    bool ok = f != NULL && fwrite(body, 1, n, f) == n && fclose(f) == 0;
    free(body);
    return ok;
}

int main(int argc, char **argv)
{
    size_t rows = argc > 1 ? strtoul(argv[1], NULL, 10) : 300,
           cols = argc > 2 ? strtoul(argv[2], NULL, 10) : 9;
    bool days = argc > 4 && strcmp(argv[4], "days") == 0;
    bool number = days || (argc > 4 && strcmp(argv[4], "number") == 0);
    static const uint8_t key[STATE_KEY];
    tab_arena *a = tab_arena_new((size_t)8 << 30);
    const tab_table *t = made(a, 0, rows, cols, number, days), *asked = made(a, rows, 50, cols, number, days);
    double at = seconds();
    serve_state *st = fitted(a, t, argc > 3 ? argv[3] : "base-2", number), *again = NULL;
    double fit = seconds() - at;
    tab_error err = { 0 };
    uint8_t *bytes = NULL;
    size_t n = 0;
    at = seconds();
    if (state_write(st, TAB_S("x"), key, &bytes, &n, &err) != TAB_OK)
        return 1;
    double write = seconds() - at, read = INFINITY;
    if (argc > 5 && !keep_body(st, argv[5]))
        return 1;
    for (int i = 0; i < 5; i++) {
        serve_state_free(again);
        at = seconds();
        if (state_read((tab_str){ (char *)bytes, n }, TAB_S("x"), key, &again, &err) != TAB_OK) {
            fprintf(stderr, "%s\n", err.message);
            return 1;
        }
        read = fmin(read, seconds() - at);
    }
    bool same = tab_str_eq(answer(a, st, asked), answer(a, again, asked));
    printf("state: %zu x %zu, %s, %s: pass %.0f ms; memory as fitted %.2f MB, as read %.2f; kept %.3f MB; "
           "written in %.1f ms, read in %.1f; answers %s\n",
           rows, cols, st->base,
           days     ? "a number of days"
           : number ? "a number"
                    : "two classes",
           1e3 * fit, (double)serve_state_bytes(st) / 1e6, (double)serve_state_bytes(again) / 1e6,
           (double)n / 1e6, 1e3 * write, 1e3 * read, same ? "the same" : "NOT the same");
    serve_state_free(again);
    serve_state_free(st);
    free(bytes);
    tab_arena_free(a);
    return same ? 0 : 1;
}
