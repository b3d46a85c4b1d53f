/* What looks like an error and is none: rows of another kind, marks that are numbers or words, tails that
 * go on to what is rare, sensors that are off or at their end. In each table one cell is wrong as well,
 * and is found. */
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

/* About normal, by Irwin and Hall. */
static double normal(uint32_t *x)
{
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += next(x) / (double)(1 << 24);
    return sum - 6;
}

/* A table that is written by `print`, and its suspects. */
typedef struct {
    char *csv;
    size_t bytes;
    FILE *f;
    uint32_t x;
} writer;

static void begin(writer *w, const char *head)
{
    *w = (writer){ .x = 7 };
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

/* Expects suspects of this row alone, and one at least. */
static void expect_only(const tab_suspect *s, size_t n, uint32_t row)
{
    cr_expect(n > 0, "row %u is not found", row);
    for (size_t i = 0; i < n; i++)
        cr_expect(s[i].row == row, "row %u, column %u: %s, %.2f", s[i].row, s[i].column,
                  tab_suspect_name(s[i].kind), s[i].confidence);
}

enum { ROWS = 600, WRONG = 246 };

Test(kinds, a_sum_that_one_month_alone_breaks_is_broken_rightly)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    writer w;
    size_t n = 0;
    begin(&w, "person,month,base,overtime,gross");
    for (unsigned r = 0; r < ROWS; r++) {
        unsigned base = 240000 + next(&w.x) % 300000, over = next(&w.x) % 20000;
        unsigned gross = base + over + (r % 12 == 10 ? base / 2 : 0);
        gross *= r == WRONG ? 10 : 1;
        fprintf(w.f, "P%03u,2024-%02u,%.2f,%.2f,%.2f\n", r / 12, r % 12 + 1, base / 100.0, over / 100.0,
                gross / 100.0);
    }
    const tab_suspect *s = suspects_in(a, &w, &n);
    expect_only(s, n, WRONG);
}

Test(kinds, a_rule_that_one_status_alone_breaks_is_broken_rightly)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    writer w;
    static const char *const name[] = { "hex bolt", "wing nut", "washer",       "wood screw", "anchor",
                                        "rivet",    "clamp",    "threaded rod", "hinge",      "bracket" };
    size_t n = 0;
    begin(&w, "code,group,drawer,name,status,stock");
    for (unsigned r = 0; r < ROWS; r++) {
        unsigned k = next(&w.x) % 10;
        bool old = r % 60 == 7;
        fprintf(w.f, "K-%u,G%u,D%u,%s,%s,%u\n", 100 + 37 * k, 11 * k, 7 * k + 3,
                old ? "discontinued" : name[r == WRONG ? (k + 3) % 10 : k], old ? "D" : "A",
                next(&w.x) % 900);
    }
    const tab_suspect *s = suspects_in(a, &w, &n);
    expect_only(s, n, WRONG);
}

Test(kinds, a_number_that_lies_out_in_many_columns_is_a_mark)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    writer w;
    size_t n = 0;
    begin(&w, "id,q1,q2,q3,q4,q5,q6");
    for (unsigned r = 0; r < ROWS; r++) {
        fprintf(w.f, "%u", 1000 + r);
        for (unsigned k = 0; k < 6; k++)
            fprintf(w.f, ",%u",
                    r == WRONG && k == 2    ? 4100
                    : next(&w.x) % 200 == 0 ? 99
                                            : 1 + next(&w.x) % 5);
        fputs("\n", w.f);
    }
    const tab_suspect *s = suspects_in(a, &w, &n);
    expect_only(s, n, WRONG);
}

Test(kinds, numbers_go_on_below_zero_and_down_to_it)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    writer w;
    size_t n = 0;
    begin(&w, "id,water,downloads");
    for (unsigned r = 0; r < 2 * ROWS; r++) {
        double heat = 8 + 7.2 * sin(r / 58.1) + 0.6 * normal(&w.x);
        double loads = floor(exp(5.5 + 2 * normal(&w.x)));
        fprintf(w.f, "%u,%.1f,%.0f\n", 1 + next(&w.x) % 90, r == WRONG ? -97.4 : heat, loads);
    }
    const tab_suspect *s = suspects_in(a, &w, &n);
    expect_only(s, n, WRONG);
}

Test(kinds, a_mark_behind_several_values_is_a_way_to_write)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    writer w;
    size_t n = 0;
    begin(&w, "package,version,size");
    for (unsigned r = 0; r < ROWS; r++)
        fprintf(w.f, "lib%c%c,%u.%u.%u%s,%u\n", 'a' + (char)(next(&w.x) % 6), 'a' + (char)(next(&w.x) % 6),
                next(&w.x) % 4, next(&w.x) % 30, next(&w.x) % 20,
                r == WRONG      ? "?!"
                : r % 150 == 33 ? "+build.5"
                                : "",
                1000 + next(&w.x) % 90000);
    const tab_suspect *s = suspects_in(a, &w, &n);
    expect_only(s, n, WRONG);
}

Test(kinds, a_dash_between_equal_signs_of_a_code_parts_them)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    writer w;
    size_t n = 0;
    begin(&w, "star,spectral,magnitude");
    for (unsigned r = 0; r < 2 * ROWS; r++) {
        unsigned k = next(&w.x) % 7, sub = next(&w.x) % 3;
        fprintf(w.f, "S%u,%c%u%s,%.2f\n", r, "OBAFGKM"[k], sub,
                r % 90 == 4 ? "I-II"
                : r % 3     ? "V"
                            : "III",
                r == WRONG ? 612.5 : 4 + k + 0.4 * normal(&w.x));
    }
    const tab_suspect *s = suspects_in(a, &w, &n);
    expect_only(s, n, WRONG);
}

Test(kinds, ratings_of_three_digits_have_lost_no_zero)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    writer w;
    size_t n = 0;
    begin(&w, "player,white_rating,club");
    for (unsigned r = 0; r < 4 * ROWS; r++) {
        unsigned player = next(&w.x) % 60, rating = 1150 + 15 * player + next(&w.x) % 60;
        rating = r % 100 == 33 ? 850 + next(&w.x) % 149 : rating;
        fprintf(w.f, r == WRONG ? "p%u,see note %u,%u\n" : "p%u,%u,%u\n", player, rating, next(&w.x) % 9);
    }
    const tab_suspect *s = suspects_in(a, &w, &n);
    expect_only(s, n, WRONG);
}

Test(kinds, a_claim_that_is_refused_is_no_broken_difference)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    writer w;
    size_t n = 0;
    begin(&w, "claim,amount,deductible,paid");
    for (unsigned r = 0; r < ROWS; r++) {
        unsigned amount = 100000 + next(&w.x) % 900000, own = 5000 * (1 + next(&w.x) % 4);
        unsigned paid = next(&w.x) % 15 == 0 ? 0 : amount - own;
        fprintf(w.f, "C%u,%.2f,%u,%.2f\n", 1000 + r, amount / 100.0, own / 100,
                (r == WRONG ? amount + 4400000 : paid) / 100.0);
    }
    const tab_suspect *s = suspects_in(a, &w, &n);
    expect_only(s, n, WRONG);
}

Test(kinds, hosts_of_both_versions_are_at_home)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    writer w;
    size_t n = 0;
    begin(&w, "host,bytes");
    for (unsigned r = 0; r < ROWS; r++) {
        unsigned b[4];
        for (int k = 0; k < 4; k++)
            b[k] = 1 + next(&w.x) % 250;
        if (r % 100 == 33)
            fprintf(w.f, "2a02:8388:%x:7f%x::1,%u\n", b[0], b[1], b[2]);
        else
            fprintf(w.f, "%u.%u.%u.%u,%u\n", b[0], b[1], b[2], b[3], r == WRONG ? 99999999 : b[1] + b[2]);
    }
    const tab_suspect *s = suspects_in(a, &w, &n);
    expect_only(s, n, WRONG);
}

Test(kinds, letters_in_three_columns_of_numbers_are_a_mark)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    writer w;
    size_t n = 0;
    begin(&w, "roll,maths,physics,music,sports");
    for (unsigned r = 0; r < ROWS; r++) {
        fprintf(w.f, "%u", 1 + r);
        for (unsigned k = 0; k < 4; k++) {
            unsigned mark = 30 + next(&w.x) % 70;
            bool away = r % 150 == 10 * k + 3;
            fprintf(w.f, away ? ",AB" : r == WRONG && k == 1 ? ",see note %u" : ",%u", mark);
        }
        fputs("\n", w.f);
    }
    const tab_suspect *s = suspects_in(a, &w, &n);
    expect_only(s, n, WRONG);
}

/* Eight inverters that are off at night and differ by about what they vary: none is below another by law. */
Test(kinds, sensors_that_are_off_at_night_are_in_no_order)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    writer w;
    double cloud = 1;
    size_t n = 0;
    begin(&w, "hour,sun,i1,i2,i3,i4,i5,i6,i7,i8");
    for (unsigned r = 0; r < 3 * ROWS; r++) {
        double light = fmax(0, sin(((r % 96) / 4.0 - 5.5) / 15 * 3.14159));
        cloud = fmin(1, fmax(0.1, cloud + 0.08 * normal(&w.x)));
        double sun = (r % 96) / 4.0 > 20.5 ? 0 : 1000 * light * cloud;
        fprintf(w.f, "%u,%.0f", r, sun);
        for (unsigned k = 0; k < 8; k++) {
            double power = sun * 4.1 * (0.95 + 0.014 * k) * (1 + 0.01 * normal(&w.x));
            fprintf(w.f, ",%.0f", r == WRONG && k == 3 ? 41000.0 : power);
        }
        fputs("\n", w.f);
    }
    const tab_suspect *s = suspects_in(a, &w, &n);
    expect_only(s, n, WRONG);
}

/* Of charts the peak of the first place is 1 for as long as there are charts; a peak of -1 ends none of
 * this. */
Test(kinds, what_stays_at_its_end_beside_a_wrong_cell_stands_rightly)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    writer w;
    size_t n = 0;
    begin(&w, "week,place,peak,weeks");
    for (unsigned r = 0; r < 4 * ROWS; r++) {
        unsigned place = r % 30 + 1, week = r / 30;
        int peak = place == 1 ? 1 : 1 + (int)(next(&w.x) % place);
        fprintf(w.f, "2019-%02u-%02u,%u,%d,%u\n", week / 28 + 1, week % 28 + 1, place, r == WRONG ? -7 : peak,
                1 + next(&w.x) % 20);
    }
    const tab_suspect *s = suspects_in(a, &w, &n);
    for (size_t i = 0; i < n; i++)
        cr_expect(s[i].row == WRONG, "row %u, column %u: %s", s[i].row, s[i].column,
                  tab_suspect_name(s[i].kind));
}
