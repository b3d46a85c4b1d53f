/* Files of SAS, SPSS and Stata, written by the library's own writer, as the tables that their users expect;
 * and damaged ones. tests/suite/statistics holds others' files beside other programs. */
#include "common/files/statistics.h"

#include <criterion/criterion.h>
#include <math.h>
#include <readstat.h>
#include <stdio.h>

enum { MOST = 1 << 16 };

typedef readstat_error_t begin_fn(readstat_writer_t *, void *, long);

typedef struct {
    char bytes[MOST + 1];
    size_t n;
} memory;

static ssize_t keep(const void *data, size_t n, void *arg)
{
    memory *m = arg;
    cr_assert(m->n + n <= MOST);
    memcpy(m->bytes + m->n, data, n);
    m->n += n;
    return (ssize_t)n;
}

/* What each program calls a day and a moment, and how many units lie between its epoch and 1970. */
typedef struct {
    const char *name;
    begin_fn *begin;
    const char *day, *moment;
    double per_day, per_second, epoch_days;
    bool labels, defined_missing;
    char tag; /* of a missing value; 0: it has none */
    int version;
} program;

static const program programs[] = {
    { "sas7bdat", readstat_begin_writing_sas7bdat, "DATE9", "DATETIME20", 1, 1, 3653, false, false, 'A', 0 },
    { "xport", readstat_begin_writing_xport, "DATE9", "DATETIME20", 1, 1, 3653, false, false, 'A', 8 },
    { "sav", readstat_begin_writing_sav, "DATE11", "DATETIME20", 86400, 1, 141428, true, true, 0, 2 },
    { "zsav", readstat_begin_writing_sav, "DATE11", "DATETIME20", 86400, 1, 141428, true, true, 0, 3 },
    { "por", readstat_begin_writing_por, "DATE11", "DATETIME20", 86400, 1, 141428, true, true, 0, 0 },
    { "dta 118", readstat_begin_writing_dta, "%td", "%tc", 1, 1000, 3653, true, false, 'a', 118 },
    { "dta 114", readstat_begin_writing_dta, "%td", "%tc", 1, 1000, 3653, true, false, 'a', 114 },
};

/* One row: id, answer, score, day, moment, town. NaN: missing; "" likewise; answer 9 is declared missing
 * where the program can say so. */
typedef struct {
    double id, answer, score, day, moment;
    const char *town;
} row;

static const row rows[] = {
    { 1, 1, 0.5, 19000, 1641600000.25, "Graz" },
    { 2, 2, 7, 0, 0, "Linz" },
    { 3, NAN, NAN, NAN, NAN, "" },
    { 4, 1, 9, -1, 59, "Wien" },
    { 5, 9, 3, 11016, 951782400, "Graz" },
};
enum { ROWS = sizeof rows / sizeof *rows };

static void put(readstat_writer_t *w, const readstat_variable_t *v, double x)
{
    cr_assert_eq(isnan(x) ? readstat_insert_missing_value(w, v) : readstat_insert_double_value(w, v, x),
                 READSTAT_OK);
}

static void write_file(const program *p, memory *m)
{
    readstat_writer_t *w = readstat_writer_init();
    readstat_label_set_t *answers = NULL, *scores = NULL;
    m->n = 0;
    readstat_set_data_writer(w, keep);
    if (p->version > 0)
        readstat_writer_set_file_format_version(w, (uint8_t)p->version);
    if (p->version == 3)
        readstat_writer_set_compression(w, READSTAT_COMPRESS_BINARY);
    if (p->labels) {
        bool stata = p->begin == readstat_begin_writing_dta; /* whose labels name whole numbers */
        answers = readstat_add_label_set(w, stata ? READSTAT_TYPE_INT32 : READSTAT_TYPE_DOUBLE, "answers");
        scores = readstat_add_label_set(w, stata ? READSTAT_TYPE_INT32 : READSTAT_TYPE_DOUBLE, "scores");
        void (*name)(readstat_label_set_t *, int32_t, const char *) = readstat_label_int32_value;
        if (stata) {
            name(answers, 1, "yes");
            name(answers, 2, "no");
            name(scores, 9, "9 or more");
        } else {
            readstat_label_double_value(answers, 1, "yes");
            readstat_label_double_value(answers, 2, "no");
            readstat_label_double_value(scores, 9, "9 or more");
        }
    }
    static const char *const names[] = { "ID", "ANSWER", "SCORE", "DAY", "MOMENT" };
    readstat_variable_t *v[6];
    for (int i = 0; i < 5; i++)
        v[i] = readstat_add_variable(w, names[i], READSTAT_TYPE_DOUBLE, 8);
    v[5] = readstat_add_variable(w, "TOWN", READSTAT_TYPE_STRING, 8);
    readstat_variable_set_format(v[3], p->day);
    readstat_variable_set_format(v[4], p->moment);
    if (p->labels) {
        readstat_variable_set_label_set(v[1], answers);
        readstat_variable_set_label_set(v[2], scores);
    }
    if (p->defined_missing)
        readstat_variable_add_missing_double_value(v[1], 9);
    cr_assert_eq(p->begin(w, m, ROWS), READSTAT_OK, "%s", p->name);
    for (int i = 0; i < ROWS; i++) {
        const row *r = &rows[i];
        cr_assert_eq(readstat_begin_row(w), READSTAT_OK);
        put(w, v[0], r->id);
        if (r->answer > 8 && p->tag != 0)
            cr_assert_eq(readstat_insert_tagged_missing_value(w, v[1], p->tag), READSTAT_OK);
        else
            put(w, v[1], r->answer);
        put(w, v[2], r->score);
        put(w, v[3], (r->day + p->epoch_days) * p->per_day);
        put(w, v[4], (r->moment + p->epoch_days * 86400) * p->per_second);
        cr_assert_eq(readstat_insert_string_value(w, v[5], r->town), READSTAT_OK);
        cr_assert_eq(readstat_end_row(w), READSTAT_OK);
    }
    cr_assert_eq(readstat_end_writing(w), READSTAT_OK);
    readstat_writer_free(w);
    m->bytes[m->n] = 0;
}

static void expect_cell(const program *p, const tab_column *c, size_t i, const char *want)
{
    tab_cell x = tab_cell_at(c, i);
    char text[64] = "-";
    if (x.kind == TAB_CELL_NUMBER)
        text[tab_number_text(x.num, text)] = 0;
    else if (x.kind != TAB_CELL_NULL)
        snprintf(text, sizeof text, "%.*s", TAB_STR(x.text));
    cr_expect_str_eq(text, want, "%s, %.*s of row %zu: %s, not %s", p->name, TAB_STR(c->name), i, text, want);
}

Test(statistics, reads_what_each_program_writes)
{
    static memory m;
    static const char *const score[] = { "0.5", "7", "-", "9", "3" },
                             *const town[] = { "Graz", "Linz", "-", "Wien", "Graz" },
                             *const labels[] = { "yes", "no", "-", "yes", "-" },
                             *const codes[] = { "1", "2", "-", "1", "-" },
                             *const day[] = { "2022-01-08", "1970-01-01", "-", "1969-12-31", "2000-02-29" },
                             *const moment[] = { "2022-01-08T00:00:00.250", "1970-01-01T00:00:00", "-",
                                                 "1970-01-01T00:00:59", "2000-02-29T00:00:00" };
    for (size_t k = 0; k < sizeof programs / sizeof *programs; k++) {
        const program *p = &programs[k];
        TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
        const tab_table *t;
        tab_statistics_notes notes;
        tab_error err = { 0 };
        write_file(p, &m);
        tab_str bytes = { m.bytes, m.n };
        cr_assert(tab_statistics_is(bytes), "%s is known by its first bytes", p->name);
        cr_assert_eq(tab_statistics_read(a, bytes, TAB_S("t"), 100, 1000, &t, &notes, &err), TAB_OK, "%s: %s",
                     p->name, err.message);
        cr_assert(t->rows == ROWS && t->cols == 6, "%s: %zu x %zu", p->name, t->rows, t->cols);
        cr_expect_eq(notes.labelled, p->labels ? 1 : 0, "%s", p->name);
        cr_expect_eq(notes.partly, p->labels ? 1 : 0, "%s: a scale with one name stays numbers", p->name);
        cr_expect_eq(notes.missing, 1, "%s: %llu", p->name, (unsigned long long)notes.missing);
        for (size_t i = 0; i < ROWS; i++) {
            expect_cell(p, &t->col[1], i, (p->labels ? labels : codes)[i]);
            expect_cell(p, &t->col[2], i, score[i]);
            expect_cell(p, &t->col[3], i, day[i]);
            expect_cell(p, &t->col[4], i, moment[i]);
            expect_cell(p, &t->col[5], i, town[i]);
        }
    }
}

Test(statistics, refuses_what_is_cut_off_or_too_large)
{
    static memory m;
    for (size_t k = 0; k < sizeof programs / sizeof *programs; k++) {
        write_file(&programs[k], &m);
        for (size_t n = 0; n < m.n; n += 1 + m.n / 97) {
            TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
            const tab_table *t;
            tab_statistics_notes notes;
            tab_error err = { 0 };
            tab_status s =
                tab_statistics_read(a, (tab_str){ m.bytes, n }, TAB_S("t"), 100, 1000, &t, &notes, &err);
            cr_expect(s == TAB_OK || (s == TAB_VALIDATION && err.message[0] != 0), "%s of %zu bytes: %d",
                      programs[k].name, n, s);
        }
        TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
        const tab_table *t;
        tab_statistics_notes notes;
        tab_error err = { 0 };
        tab_str bytes = { m.bytes, m.n };
        cr_expect_eq(tab_statistics_read(a, bytes, TAB_S("t"), 5, 1000, &t, &notes, &err), TAB_VALIDATION);
        cr_expect(strstr(err.message, "columns") != NULL, "%s", err.message);
        cr_expect_eq(tab_statistics_read(a, bytes, TAB_S("t"), 100, 29, &t, &notes, &err), TAB_VALIDATION);
        cr_expect(strstr(err.message, "cells") != NULL, "%s", err.message);
    }
}

Test(statistics, knows_periods_and_times)
{
    static memory m;
    static const struct {
        const char *format;
        double x;
        const char *want;
    } cases[] = {
        { "%tm", 0, "1960-01-01" },
        { "%tm", 743, "2021-12-01" },
        { "%tq", -1, "1959-10-01" },
        { "%th", 121, "2020-07-01" },
        { "%tw", 53, "1961-01-08" },
        { "%ty", 2020, "2020" },
        { "%9.0g", 3, "3" },
        { "%tcHH:MM:SS", 36610000, "10:10:10" },
        { "%-tdD_m_Y", 1, "1960-01-02" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        readstat_writer_t *w = readstat_writer_init();
        m.n = 0;
        readstat_set_data_writer(w, keep);
        readstat_variable_t *v = readstat_add_variable(w, "x", READSTAT_TYPE_DOUBLE, 8);
        readstat_variable_set_format(v, cases[i].format);
        cr_assert_eq(readstat_begin_writing_dta(w, &m, 1), READSTAT_OK);
        readstat_begin_row(w);
        readstat_insert_double_value(w, v, cases[i].x);
        readstat_end_row(w);
        readstat_end_writing(w);
        readstat_writer_free(w);
        TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
        const tab_table *t;
        tab_statistics_notes notes;
        tab_error err = { 0 };
        cr_assert_eq(tab_statistics_read(a, (tab_str){ m.bytes, m.n }, TAB_S("t"), 9, 9, &t, &notes, &err),
                     TAB_OK, "%s", err.message);
        program p = { .name = cases[i].format };
        expect_cell(&p, &t->col[0], 0, cases[i].want);
    }
}
