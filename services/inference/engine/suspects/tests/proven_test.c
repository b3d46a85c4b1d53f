/* Cells that stand in the wrong column by their forms, and cells that prove by themselves that they are
 * wrong; and what looks like either and is right. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/suspects/suspects.h"

enum { ROWS = 200 };

static uint32_t next(uint32_t *x)
{
    *x = *x * 1664525u + 1013904223u; /* Knuth, Lewis: a linear congruential generator */
    return *x >> 8;
}

typedef struct {
    char *csv;
    size_t bytes;
    FILE *f;
    uint32_t x;
} writer;

static void begin(writer *w, const char *head)
{
    *w = (writer){ .x = 11 };
    w->f = open_memstream(&w->csv, &w->bytes);
    fprintf(w->f, "%s\n", head);
}

static const tab_suspect *suspects_in(tab_arena *a, writer *w, size_t *ret_n)
{
    tab_engine e = { .arena = a };
    const tab_table *t;
    tab_profile *p;
    tab_suspect *s;
    fclose(w->f);
    tab_str bytes = tab_arena_copy(a, (tab_str){ w->csv, w->bytes });
    free(w->csv);
    cr_assert(tab_csv_read(a, bytes, TAB_S("t"), &t, NULL, NULL) == TAB_OK);
    cr_assert(tab_profile_table(&e, t, &p, NULL) == TAB_OK);
    cr_assert(tab_suspects_find(&e, p, 0.5, &s, ret_n, NULL) == TAB_OK);
    return s;
}

/* The cell is said at 0.8 and more, and would be `meant`; NULL: whatever. */
static void expect_said(const tab_suspect *s, size_t n, uint32_t row, uint32_t column, const char *meant)
{
    for (size_t i = 0; i < n; i++)
        if (s[i].row == row && s[i].column == column) {
            cr_expect_geq(s[i].confidence, 0.8, "row %u, column %u: %g", row, column, s[i].confidence);
            cr_expect(meant == NULL || tab_str_eq(s[i].suggestion, tab_str_of(meant)), "row %u: %.*s", row,
                      TAB_STR(s[i].suggestion));
            return;
        }
    cr_expect(false, "row %u, column %u is not said", row, column);
}

/* ---- the wrong column -------------------------------------------------------------------------- */

typedef enum { RIGHT, EXCHANGED, SHIFTED } row_kind;

/* Customers; of the rows of `wrong` town and postcode are exchanged, or the street is lost. */
static const tab_suspect *customers(tab_arena *a, row_kind kind, size_t wrong, size_t *ret_n)
{
    static const char *const town[] = { "Jena", "Bonn", "Kiel", "Ulm", "Trier", "Mainz" };
    static const char *const street[] = { "Main Road", "High Street", "Park Lane" };
    writer w;
    begin(&w, "name,street,postcode,town,born,points");
    for (size_t i = 0; i < ROWS; i++) {
        uint32_t t = next(&w.x) % 6, post = 10000 + next(&w.x) % 80000, day = next(&w.x) % 28 + 1;
        uint32_t house = next(&w.x) % 9 + 1, k = next(&w.x) % 3, points = 100 + next(&w.x) % 900;
        bool is = i % 37 == 5 && i / 37 < wrong;
        if (is && kind == EXCHANGED)
            fprintf(w.f, "n%zu,%s %u,%s,%u,1980-05-%02u,%u\n", i, street[k], house, town[t], post, day,
                    points);
        else if (is && kind == SHIFTED)
            fprintf(w.f, "n%zu,%u,%s,1980-05-%02u,%u,\n", i, post, town[t], day, points);
        else
            fprintf(w.f, "n%zu,%s %u,%u,%s,1980-05-%02u,%u\n", i, street[k], house, post, town[t], day,
                    points);
    }
    return suspects_in(a, &w, ret_n);
}

Test(misplaced, two_cells_exchanged_are_told_by_their_forms)
{
    for (size_t wrong = 1; wrong <= 3; wrong += 2) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 28);
        size_t n;
        const tab_suspect *s = customers(a, EXCHANGED, wrong, &n);
        cr_expect_eq(n, 2 * wrong);
        for (size_t k = 0; k < wrong; k++) {
            expect_said(s, n, (uint32_t)(37 * k + 5), 2, NULL);
            expect_said(s, n, (uint32_t)(37 * k + 5), 3, NULL);
        }
        cr_expect_eq(tab_suspect_told(&s[0]), TAB_SUSPECT_SWAPPED);
    }
}

Test(misplaced, cells_of_a_line_that_lost_a_field_are_shifted)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 28);
    size_t n;
    const tab_suspect *s = customers(a, SHIFTED, 2, &n);
    cr_expect_eq(n, (size_t)8, "%zu", n);
    for (size_t k = 0; k < 2; k++)
        for (uint32_t c = 1; c <= 4; c++)
            expect_said(s, n, (uint32_t)(37 * k + 5), c, NULL);
}

Test(misplaced, where_nothing_is_wrong_nothing_is_said)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 28);
    size_t n;
    (void)customers(a, RIGHT, 3, &n);
    cr_expect_eq(n, (size_t)0);
}

/* ---- check digits ------------------------------------------------------------------------------ */

/* The check digit of the twelve before it (ISO/IEC 15420). */
static uint32_t check_digit(const char *digits)
{
    uint32_t sum = 0;
    for (int i = 0; i < 12; i++)
        sum += (uint32_t)(digits[i] - '0') * (i % 2 == 0 ? 1 : 3);
    return (10 - sum % 10) % 10;
}

/* Articles, whose numbers have check digits or do not; with slips four of them are wrong. */
static const tab_suspect *articles(tab_arena *a, bool checked, bool slips, size_t *ret_n)
{
    writer w;
    begin(&w, "article,ean,price");
    for (size_t i = 0; i < ROWS; i++) {
        char digits[16];
        snprintf(digits, sizeof digits, "40%05u%05u", next(&w.x) % 100000, next(&w.x) % 100000);
        uint32_t check = checked ? check_digit(digits) : next(&w.x) % 10;
        if (slips && i % 60 == 7)
            check = (check + 1 + next(&w.x) % 9) % 10;
        fprintf(w.f, "thing %zu,%s%u,%u.%02u\n", i, digits, check, next(&w.x) % 90 + 1, next(&w.x) % 100);
    }
    return suspects_in(a, &w, ret_n);
}

Test(proven, a_wrong_check_digit_among_right_ones_is_said)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 28);
    size_t n;
    const tab_suspect *s = articles(a, true, true, &n);
    cr_expect_eq(n, (size_t)4);
    for (uint32_t r = 7; r < ROWS; r += 60)
        expect_said(s, n, r, 1, NULL);
}

Test(proven, numbers_without_check_digits_have_no_wrong_ones)
{
    for (int checked = 0; checked < 2; checked++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 28);
        size_t n;
        (void)articles(a, checked, false, &n);
        cr_expect_eq(n, (size_t)0, "checked %d: %zu", checked, n);
    }
}

/* ---- misread letters ----------------------------------------------------------------------------- */

static const tab_suspect *of_texts(tab_arena *a, const char *const *odd, size_t odds, size_t *ret_n)
{
    static const char *const names[] = { "Müller", "Schäfer", "Krüger", "Weiß", "Berg", "São João" };
    writer w;
    begin(&w, "no,name,size");
    for (size_t i = 0; i < ROWS; i++) {
        const char *name = i % 50 == 9 && i / 50 < odds ? odd[i / 50] : names[next(&w.x) % 6];
        fprintf(w.f, "%zu,%s,%u\n", i + 1, name, next(&w.x) % 100);
    }
    return suspects_in(a, &w, ret_n);
}

Test(proven, letters_of_another_encoding_are_read_back)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 28);
    static const char *const odd[] = { "MÃ¼ller", "O\xe2\x82\xac", "naÃ¯ve cafÃ©", "SÃO" };
    size_t n;
    const tab_suspect *s = of_texts(a, odd, 4, &n);
    expect_said(s, n, 9, 1, "Müller");
    expect_said(s, n, 109, 1, "naïve café");
    for (size_t i = 0; i < n; i++)
        cr_expect(s[i].row == 9 || s[i].row == 109, "row %u: what no encoding explains is no misreading",
                  s[i].row);
}

/* ---- dates --------------------------------------------------------------------------------------- */

Test(proven, a_date_has_the_sign_of_its_column)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 28);
    writer w;
    begin(&w, "patient,sex,visit");
    for (size_t i = 0; i < ROWS; i++) {
        uint32_t day = next(&w.x) % 28 + 1, month = next(&w.x) % 12 + 1;
        fprintf(w.f, i % 80 == 5 ? "%zu,%c,%02u/%02u/2024\n" : "%zu,%c,%02u.%02u.2024\n", 1000 + i,
                next(&w.x) % 2 == 0 ? 'f' : 'm', day, month);
    }
    size_t n;
    const tab_suspect *s = suspects_in(a, &w, &n);
    cr_expect_eq(n, (size_t)3, "%zu", n);
    for (uint32_t r = 5; r < ROWS; r += 80)
        expect_said(s, n, r, 2, NULL);
}
