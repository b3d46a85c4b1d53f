/* Columns of numbers that are wrong in many rows: two units in one column, a sensor that stands still; and
 * numbers in order. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/suspects/suspects.h"

static uint32_t next(uint32_t *x)
{
    *x = *x * 1664525u + 1013904223u; /* Knuth, Lewis: a linear congruential generator */
    return *x >> 8;
}

/* About normal: the sum of twelve even draws. */
static double normal(uint32_t *x)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)(next(x) % 10000) / 10000;
    return sum;
}

/* csv is freed. */
static tab_suspect *suspects_in(tab_arena *a, char *csv, size_t bytes, size_t *ret_n, tab_profile **ret_p)
{
    const tab_table *t;
    tab_suspect *s = NULL;
    tab_engine e = { .arena = a };
    tab_str own = tab_arena_copy(a, (tab_str){ csv, bytes });
    free(csv);
    cr_assert(tab_csv_read(a, own, TAB_S("t"), &t, NULL, NULL) == TAB_OK);
    cr_assert(tab_profile_table(&e, t, ret_p, NULL) == TAB_OK);
    cr_assert(tab_suspects_find(&e, *ret_p, 0.5, &s, ret_n, NULL) == TAB_OK);
    return s;
}

static const tab_suspect *at(const tab_suspect *s, size_t n, size_t row, size_t column)
{
    for (size_t i = 0; i < n; i++)
        if (s[i].row == row && s[i].column == column)
            return &s[i];
    return NULL;
}

/* ---- two units ----------------------------------------------------------------------------------------- */

enum { MEMBERS = 300, WEIGHT = 2, HEAT = 3 };

/* Of a third of the members the weight is in pounds, of a fourth the temperature in degrees Fahrenheit. told:
 * of the weights, and a column says which. */
static tab_suspect *members(tab_arena *a, bool mixed, bool told, size_t *ret_n, tab_profile **ret_p)
{
    char *csv = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&csv, &bytes);
    uint32_t x = 3;
    fputs(told ? "member,age,weight,heat,site\n" : "member,age,weight,heat\n", f);
    for (unsigned r = 0; r < MEMBERS; r++) {
        double weight = 72 * exp(0.12 * normal(&x)), heat = 36.8 + 0.4 * normal(&x);
        bool pounds = mixed && r % 3 == 1, fahrenheit = mixed && !told && r % 4 == 2;
        fprintf(f, "M%u,%u,%.1f,%.1f", r, 18 + next(&x) % 60, pounds ? weight * 2.20462 : weight,
                fahrenheit ? heat * 1.8 + 32 : heat);
        fprintf(f, told ? ",%s\n" : "\n", pounds ? "Leeds" : "Lyon");
    }
    fclose(f);
    return suspects_in(a, csv, bytes, ret_n, ret_p);
}

Test(units, a_third_in_another_unit_is_found_and_converted)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    size_t n = 0, pounds = 0, heats = 0;
    tab_profile *p = NULL;
    const tab_suspect *s = members(a, true, false, &n, &p);
    for (size_t i = 0; i < n; i++) {
        bool weight = s[i].column == WEIGHT && s[i].row % 3 == 1,
             heat = s[i].column == HEAT && s[i].row % 4 == 2;
        cr_expect(weight || heat, "row %u, column %u", s[i].row, s[i].column);
        pounds += weight, heats += heat;
    }
    cr_expect(pounds > 90 && heats == 75, "%zu weights, %zu temperatures", pounds, heats);
    const tab_suspect *one = at(s, n, 2, HEAT);
    cr_assert(one != NULL && one->suggestion.n > 0);
    cr_expect(atof(one->suggestion.p) > 34 && atof(one->suggestion.p) < 39);
    cr_expect(tab_suspect_told(one) == TAB_SUSPECT_OUTLIER);
    cr_expect_str_eq(tab_suspect_reason(a, p, one),
                     "75 of the column's 300 numbers look as if in another unit than the rest");
    members(a, false, false, &n, &p);
    cr_expect_eq(n, 0, "of members without an error: %zu", n);
}

Test(units, what_a_column_tells_apart_is_no_unit)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    size_t n = 0;
    tab_profile *p;
    members(a, true, true, &n, &p);
    cr_expect_eq(n, 0, "%zu", n);
}

/* Heights of `rows` persons in cm, of which the first of each `of` by `few` are `times` as much. */
static size_t heights(size_t rows, unsigned few, unsigned of, double times, size_t *ret_wrong)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    char *csv = NULL;
    size_t bytes = 0, n = 0, right = 0;
    tab_profile *p = NULL;
    FILE *f = open_memstream(&csv, &bytes);
    uint32_t x = 17;
    fputs("person,height\n", f);
    for (size_t r = 0; r < rows; r++) {
        double height = 170 * exp(0.05 * normal(&x));
        fprintf(f, "P%zu,%.1f\n", r, r * 7 % of < few ? height * times : height);
    }
    fclose(f);
    const tab_suspect *s = suspects_in(a, csv, bytes, &n, &p);
    for (size_t i = 0; i < n; i++)
        right += s[i].column == 1 && s[i].row * 7 % of < few;
    *ret_wrong = n - right;
    return right;
}

Test(units, a_few_cells_in_another_unit_are_found)
{
    size_t wrong;
    cr_expect_eq(heights(400, 1, 25, 1 / 2.54, &wrong), 16);
    cr_expect_eq(wrong, 0);
    cr_expect_eq(heights(600, 1, 50, 1 / 2.54, &wrong), 12);
    cr_expect_eq(wrong, 0);
}

Test(units, of_nearly_halves_the_lesser_one_is_said_and_of_halves_none)
{
    size_t wrong;
    cr_expect_eq(heights(400, 46, 100, 1 / 2.54, &wrong), 184);
    cr_expect_eq(wrong, 0);
    cr_expect_eq(heights(400, 1, 2, 1 / 2.54, &wrong), 0);
    cr_expect_eq(wrong, 0);
}

Test(units, a_few_cells_where_no_conversion_lies_are_left_alone)
{
    size_t wrong;
    for (double times = 0.19; times > 0.14; times -= 0.01) {
        cr_expect_eq(heights(400, 1, 25, times, &wrong), 0, "%g", times);
        cr_expect_eq(wrong, 0);
    }
}

/* ---- a sensor that stands still ------------------------------------------------------------------------ */

enum { HOURS = 480, STILL = 200, STOOD = 24 };

/* Two stations' readings, the second of which stands still for a day; ordered false: in no order of time. */
static tab_suspect *readings(tab_arena *a, bool stands, bool ordered, size_t *ret_n, tab_profile **ret_p)
{
    char *csv = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&csv, &bytes);
    uint32_t x = 5;
    double level[2] = { 10, 14 }, stood = 0;
    fputs("time,station,level,rain\n", f);
    for (unsigned h = 0; h < HOURS; h++) {
        unsigned shown = ordered ? h : (h * 217) % HOURS;
        for (int k = 0; k < 2; k++) {
            level[k] += 0.3 * normal(&x) + 0.02 * (12 - level[k]);
            stood = k == 1 && h == STILL ? level[1] : stood;
            bool still = stands && k == 1 && h >= STILL && h < STILL + STOOD;
            fprintf(f, "2024-%02u-%02u %02u:00:00,%s,%.2f,%.1f\n", 1 + shown / 24 / 28, 1 + shown / 24 % 28,
                    shown % 24, k == 0 ? "north" : "south", still ? stood : level[k],
                    fmax(0, normal(&x) - 1));
        }
    }
    fclose(f);
    return suspects_in(a, csv, bytes, ret_n, ret_p);
}

Test(units, a_sensor_that_stands_still_is_found_and_no_dry_spell)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    size_t n = 0;
    tab_profile *p;
    const tab_suspect *s = readings(a, true, true, &n, &p);
    cr_expect_eq(n, STOOD - 1, "%zu", n);
    for (size_t i = 0; i < n; i++)
        cr_expect(s[i].column == 2 && s[i].row % 2 == 1 && s[i].row > 2 * STILL &&
                  s[i].row < 2 * (STILL + STOOD));
    cr_assert(n > 0);
    cr_expect(s[0].confidence > 0.9);
    cr_expect(strstr(tab_suspect_reason(a, p, &s[0]), "the same number in 24 rows after each other") != NULL);
    readings(a, false, true, &n, &p);
    cr_expect_eq(n, 0, "of sensors that move: %zu", n);
    readings(a, true, false, &n, &p);
    cr_expect_eq(n, 0, "where rows are in no order: %zu", n);
}

/* ---- numbers in order ---------------------------------------------------------------------------------- */

enum { DAYS = 400, LEAST = 1, MOST = 3, EXCHANGED = 77, TENTH = 230 };

/* Least, mean and most of a day. law false: of two other days, one above the other as a rule. */
static tab_suspect *days(tab_arena *a, bool wrong, bool law, size_t *ret_n, tab_profile **ret_p)
{
    char *csv = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&csv, &bytes);
    uint32_t x = 8;
    fputs("day,least,mean,most\n", f);
    for (unsigned r = 0; r < DAYS; r++) {
        double mean = 40 + 8 * normal(&x),
               v[3] = { mean - 2 * fabs(normal(&x)), mean, mean + 2 * fabs(normal(&x)) };
        if (!law)
            v[0] = mean - 4 - 2 * normal(&x), v[2] = mean + 4 + 2 * normal(&x);
        if (wrong && r == EXCHANGED) {
            double t = v[0];
            v[0] = v[2], v[2] = t;
        }
        if (wrong && r == TENTH)
            v[2] /= 10;
        fprintf(f, "D%u,%.1f,%.1f,%.1f\n", r, v[0], v[1], v[2]);
    }
    fclose(f);
    return suspects_in(a, csv, bytes, ret_n, ret_p);
}

Test(units, numbers_out_of_order_are_found)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    size_t n = 0;
    tab_profile *p;
    const tab_suspect *s = days(a, true, true, &n, &p);
    for (size_t i = 0; i < n; i++)
        cr_expect(s[i].row == EXCHANGED || s[i].row == TENTH, "row %u, column %u", s[i].row, s[i].column);
    const tab_suspect *most = at(s, n, TENTH, MOST), *low = at(s, n, EXCHANGED, LEAST);
    cr_assert(low != NULL && at(s, n, EXCHANGED, MOST) != NULL && at(s, n, EXCHANGED, LEAST + 1) == NULL);
    cr_expect(low->confidence > 0.9);
    cr_expect(atof(low->suggestion.p) == tab_cell_at(&p->table->col[MOST], EXCHANGED).num);
    cr_assert(most != NULL && at(s, n, TENTH, LEAST) == NULL);
    cr_expect(most->kind == TAB_SUSPECT_INEQUALITY && tab_suspect_told(most) == TAB_SUSPECT_RULE);
    cr_expect(most->suggestion.n > 0 && atof(most->suggestion.p) > 20);
    cr_expect(strstr(tab_suspect_reason(a, p, most), "rows it is not below `") != NULL, "%s",
              tab_suspect_reason(a, p, most));
    for (int law = 0; law < 2; law++) {
        days(a, false, law, &n, &p);
        cr_expect_eq(n, 0, "without an error, law %d: %zu", law, n);
    }
}

/* ---- codes of one form --------------------------------------------------------------------------------- */

enum { CODES = 240, LETTER = 60, ZERO = 100, LONG = 140 };

/* Articles by a code of five digits and one of a letter and four. other: some codes have another form. */
static tab_suspect *articles(tab_arena *a, bool wrong, bool other, size_t *ret_n, tab_profile **ret_p)
{
    char *csv = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&csv, &bytes);
    uint32_t x = 2;
    fputs("ean,shelf,stock\n", f);
    for (unsigned r = 0; r < CODES; r++) {
        unsigned code = r == ZERO            ? 437
                        : r == LONG && other ? 123456
                                             : next(&x) % 99999,
                 shelf = next(&x) % 900;
        bool letter = wrong && r == LETTER, lost = wrong && r == ZERO;
        fprintf(f, lost ? "%u,R" : "%05u,R", code);
        fprintf(f,
                letter                 ? "O%03u,%u\n"
                : other && r % 30 == 4 ? "-%03u/X,%u\n"
                                       : "0%03u,%u\n",
                shelf, r % 70);
    }
    fclose(f);
    return suspects_in(a, csv, bytes, ret_n, ret_p);
}

Test(units, letters_for_digits_and_lost_zeros_are_found_in_codes)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    size_t n = 0;
    tab_profile *p;
    const tab_suspect *s = articles(a, true, false, &n, &p);
    const tab_suspect *letter = at(s, n, LETTER, 1), *zero = at(s, n, ZERO, 0);
    cr_assert(n == 2 && letter != NULL && zero != NULL, "%zu", n);
    cr_expect(letter->confidence > 0.9 && zero->confidence > 0.9);
    cr_expect(zero->suggestion.n == 5 && memcmp(zero->suggestion.p, "00437", 5) == 0);
    cr_expect(letter->suggestion.n == 5 && memcmp(letter->suggestion.p, "R0", 2) == 0);
    cr_expect(tab_suspect_told(zero) == TAB_SUSPECT_FORMAT);
    articles(a, false, false, &n, &p);
    cr_expect_eq(n, 0, "without an error: %zu", n);
    s = articles(a, true, true, &n, &p);
    letter = at(s, n, LETTER, 1);
    cr_expect(letter == NULL || letter->confidence < 0.9, "beside codes of other forms a slip is less sure");
}

Test(units, an_address_without_its_sign_is_found)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    char *csv = NULL;
    size_t bytes = 0, n = 0;
    tab_profile *p;
    FILE *f = open_memstream(&csv, &bytes);
    uint32_t x = 9;
    fputs("mail,visits\n", f);
    for (unsigned r = 0; r < 240; r++) {
        unsigned first = next(&x) % 26, last = next(&x) % 26;
        fprintf(f, "%canna.%ceyer%u%sfirm.example,%u\n", 'a' + (char)first, 'a' + (char)last, r % 40,
                r == 120 ? "" : "@", next(&x) % 50);
    }
    fclose(f);
    const tab_suspect *s = suspects_in(a, csv, bytes, &n, &p);
    cr_assert(n == 1 && s[0].row == 120 && s[0].column == 0 && s[0].confidence > 0.9);
    cr_expect_str_eq(tab_suspect_reason(a, p, s),
                     "239 of 240 cells in the column have an @; this one has none");
}

/* ---- 3,42 ---------------------------------------------------------------------------------------------- */

Test(units, what_is_suggested_is_written_as_the_column_writes)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    char *csv = NULL;
    size_t bytes = 0, n = 0;
    tab_profile *p;
    FILE *f = open_memstream(&csv, &bytes);
    uint32_t x = 4;
    fputs("zeit;raum;temp\n", f);
    for (unsigned r = 0; r < 300; r++) {
        double heat = 21 + normal(&x);
        int tenths = (int)(10 * (r % 4 == 1 ? heat * 1.8 + 32 : heat));
        fprintf(f, "%02u.03.2024 %02u:00;R%u;%d,%d\n", 1 + r / 24, r % 24, next(&x) % 9, tenths / 10,
                tenths % 10);
    }
    fclose(f);
    const tab_suspect *s = suspects_in(a, csv, bytes, &n, &p);
    cr_assert_eq(n, 75, "%zu", n);
    for (size_t i = 0; i < n; i++) {
        const char *comma = memchr(s[i].suggestion.p, ',', s[i].suggestion.n);
        cr_expect(comma != NULL || s[i].suggestion.n == 2, "%.*s", TAB_STR(s[i].suggestion));
        cr_expect(s[i].suggestion.p[0] == '1' || s[i].suggestion.p[0] == '2');
    }
}
