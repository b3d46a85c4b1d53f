/* What the readers make of a file, for `run` beside it:
 *   records FILE    CSV: a line {"delimiter", "header"}, then each record as a JSON array of texts
 *   tables FILE     any format: a line {"id", "rows", "columns", "first" (rows)} a table, or {"error"}
 *   time FILE ...   seconds that reading each takes, a line each: encoding, dialect, table */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/files/csv/csv.h"
#include "common/files/files.h"
#include "common/files/text.h"
#include "common/json/json.h"

static tab_str slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t n = 0, cap = 1 << 20;
    char *p = f != NULL ? malloc(cap) : NULL;
    while (p != NULL && (n += fread(p + n, 1, cap - n, f)) == cap)
        p = realloc(p, cap *= 2);
    if (f != NULL)
        fclose(f);
    if (p != NULL)
        p[n] = 0; /* there is room: the last read came short */
    return (tab_str){ p, n };
}

static void put_line(tab_out *o)
{
    tab_out_bytes(o, "\n", 1);
    fwrite(o->p, 1, o->n, stdout);
    tab_out_free(o);
    *o = (tab_out){ 0 };
}

static int records(const char *path)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 32);
    const char *encoding;
    tab_str bytes = slurp(path), text = tab_text_utf8(a, bytes, &encoding), s;
    char *scratch = malloc(tab_csv_scratch(text.n));
    char declared = tab_csv_declared(&text);
    tab_csv_scores scores;
    tab_csv_dialect d = tab_csv_dialect_of(text, declared, 0, scratch, &scores);
    tab_csv_notes notes;
    const tab_table *t;
    tab_error err;
    if (tab_csv_read(a, bytes, TAB_S("t"), &t, &notes, &err) != TAB_OK)
        return 1;
    tab_csv_lexer f = { .p = text.p, .end = text.p + text.n, .d = d, .scratch = scratch };
    tab_out o = { 0 };
    printf("{\"delimiter\": \"%s\", \"header\": %s, \"scores\": [%.4f, %.4f]}\n",
           d.delimiter == '\t' ? "\\t" : (char[]){ d.delimiter, 0 }, notes.header ? "true" : "false",
           scores.best, scores.next);
    for (size_t i = 0; tab_csv_record(&f, NULL); i++) {
        size_t filled = 0;
        tab_out_open(&o, '[');
        for (bool last = false; !last && tab_csv_field(&f, &s, &last); filled += s.n > 0)
            tab_out_str(&o, s);
        tab_out_close(&o, ']');
        if (i >= notes.skipped && filled > 0) {
            put_line(&o);
        } else {
            tab_out_free(&o);
            o = (tab_out){ 0 };
        }
    }
    free(scratch);
    free((void *)(uintptr_t)bytes.p);
    return 0;
}

static int tables(const char *path)
{
    const tab_file_limits most = TAB_FILE_LIMITS;
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 33);
    tab_str bytes = slurp(path);
    tab_file f;
    tab_error err = { 0 };
    tab_out o = { 0 };
    if (tab_file_read(a, tab_str_of(path), bytes, &most, &f, &err) != TAB_OK) {
        tab_out_open(&o, '{');
        tab_out_key(&o, "error");
        tab_out_cstr(&o, err.message);
        tab_out_close(&o, '}');
        put_line(&o);
        return 0;
    }
    for (size_t i = 0; i < f.n; i++) {
        const tab_table *t = f.table[i];
        tab_out_open(&o, '{');
        tab_out_key(&o, "id");
        tab_out_str(&o, t->id);
        tab_out_key(&o, "rows");
        tab_out_uint(&o, t->rows);
        tab_out_key(&o, "columns");
        tab_out_open(&o, '[');
        for (size_t k = 0; k < t->cols; k++)
            tab_out_str(&o, t->col[k].name);
        tab_out_close(&o, ']');
        tab_out_key(&o, "first");
        tab_out_open(&o, '[');
        for (size_t r = 0; r < t->rows && r < 5; r++) {
            tab_out_open(&o, '[');
            for (size_t k = 0; k < t->cols; k++)
                tab_out_cell(&o, &t->col[k], r);
            tab_out_close(&o, ']');
        }
        tab_out_close(&o, ']');
        tab_out_close(&o, '}');
        put_line(&o);
    }
    free((void *)(uintptr_t)bytes.p);
    return 0;
}

static double seconds(const char *path)
{
    struct timespec from, to;
    tab_str bytes = slurp(path);
    double best = 1e9;
    for (int i = 0; i < 3 && bytes.p != NULL; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 33);
        const tab_table *t;
        tab_error err;
        clock_gettime(CLOCK_MONOTONIC, &from);
        bool ok = tab_csv_read(a, bytes, TAB_S("t"), &t, NULL, &err) == TAB_OK;
        clock_gettime(CLOCK_MONOTONIC, &to);
        double s = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
        best = ok && s < best ? s : best;
    }
    free((void *)(uintptr_t)bytes.p);
    return best;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "records") == 0)
        return records(argv[2]);
    if (argc == 3 && strcmp(argv[1], "tables") == 0)
        return tables(argv[2]);
    for (int i = 2; i < argc && strcmp(argv[1], "time") == 0; i++)
        printf("%.6f\n", seconds(argv[i]));
    return argc < 3;
}
