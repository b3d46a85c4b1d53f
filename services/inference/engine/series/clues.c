/* See internal.h. Columns are read by their values alone: a number in 1500..2200 may be a year, 201704 a
 * month, 1 to 12 a month of a year told elsewhere. Whether one is, evidence.c says. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "services/inference/engine/profile/cells/parse.h"
#include "services/inference/engine/profile/roles/roles.h"
#include "services/inference/engine/series/internal.h"

/* LOOK: levels, or rows, by which a column is refused before it is read whole. SMALL: whole values of which
 * the distinct ones are counted. ALIKE: columns that are kept of one
 * reading, those that rise in the rows' order first. */
enum { LOOK = 32, SMALL = 400, ALIKE = 8, CLUES = 64 };
static const double DAY = 86400, FAR = 1e13; /* seconds; of dates, some 300,000 years */

/* ---- cells as numbers --------------------------------------------------------------------------- */

typedef enum {
    TEXT_NONE,
    TEXT_NUMBER,
    TEXT_MONTH,
    TEXT_QUARTER,
    TEXT_NTH_YEAR, /* 1-01: a month of the first year */
    TEXT_DATE_MDY,
    TEXT_DATE_DMY,
    TEXT_NUMBERED /* d_1, Week 12: letters, then a number; all with the same letters */
} text_kind;

static double read_text(tab_str t, text_kind kind)
{
    tab_number n;
    tab_date d;
    switch (kind) {
    case TEXT_NUMBER:
        return tab_parse_number(t, '.', &n) && n.affix == TAB_AFFIX_NONE && !n.grouped && !n.bound
                   ? n.value
                   : (double)NAN;
    case TEXT_MONTH: {
        int m = tab_month_name(t);
        return m > 0 ? m : (double)NAN;
    }
    case TEXT_QUARTER:
        return t.n == 2 && (t.p[0] | 32) == 'q' && t.p[1] >= '1' && t.p[1] <= '4' ? t.p[1] - '0'
                                                                                  : (double)NAN;
    case TEXT_DATE_MDY:
    case TEXT_DATE_DMY:
        return tab_parse_date(t, kind == TEXT_DATE_MDY ? TAB_ORDER_MDY : TAB_ORDER_DMY, &d) ? d.seconds
                                                                                            : (double)NAN;
    case TEXT_NTH_YEAR: {
        size_t mark = t.n > 3 ? t.n - 3 : 0;
        tab_number month;
        return mark > 0 && t.p[mark] == '-' && tab_parse_number((tab_str){ t.p, mark }, '.', &n) &&
                       tab_parse_number((tab_str){ t.p + mark + 1, 2 }, '.', &month) && n.value >= 0 &&
                       n.value < 100 && n.decimals == 0 && month.digits == 2 && month.value >= 1 &&
                       month.value <= 12
                   ? (double)tab_days_from_civil(2000 + (int64_t)n.value, (int)month.value, 1) * DAY
                   : (double)NAN;
    }
    case TEXT_NUMBERED: {
        size_t letters = t.n;
        while (letters > 0 && t.p[letters - 1] >= '0' && t.p[letters - 1] <= '9')
            letters--;
        tab_str rest = { t.p + letters, t.n - letters };
        return letters > 0 && letters <= 12 && rest.n > 0 && rest.n <= 9 && tab_parse_number(rest, '.', &n)
                   ? n.value
                   : (double)NAN;
    }
    default:
        return (double)NAN;
    }
}

/* Whether all levels begin with the letters of the first. */
static bool same_letters(const tab_column_profile *c)
{
    tab_str first = c->level[0];
    size_t letters = first.n;
    while (letters > 0 && first.p[letters - 1] >= '0' && first.p[letters - 1] <= '9')
        letters--;
    for (size_t k = 0; k < c->levels; k++)
        if (c->level[k].n <= letters || memcmp(c->level[k].p, first.p, letters) != 0)
            return false;
    return true;
}

/* How nearly all of the first levels read. */
static text_kind kind_of_levels(const tab_column_profile *c)
{
    size_t n = c->levels < LOOK ? c->levels : LOOK;
    for (text_kind k = TEXT_NUMBER; k <= TEXT_NUMBERED; k++) {
        size_t fail = 0;
        for (size_t i = 0; i < n && fail <= n / 8; i++)
            fail += isnan(read_text(c->level[i], k));
        if (n > 1 && fail <= n / 8)
            return k == TEXT_NUMBERED && !same_letters(c) ? TEXT_NONE : k;
    }
    return TEXT_NONE;
}

/* Dates and clocks as the profile read them: the year's order of day and month is settled there. */
static const double *dates_of(const tab_column_profile *c)
{
    bool coded = c->column->layout == TAB_CODED;
    return coded && c->type == TAB_DATETIME && c->number != NULL ? c->number : NULL;
}

/* (rows) the cells as numbers; NULL: they are none, or the arena is full. *ret_date: they are seconds. */
static const double *numbers_of(tab_search *s, const tab_column_profile *c, bool *ret_date, bool *ret_month)
{
    *ret_date = *ret_month = false;
    if (c->column->layout == TAB_NUMBERS)
        return c->type == TAB_NUMERIC && c->number != NULL ? c->number : c->column->num;
    if (c->code == NULL || c->level == NULL || c->levels < 1)
        return NULL;
    text_kind kind = kind_of_levels(c);
    if (dates_of(c) != NULL && kind != TEXT_NUMBER && kind != TEXT_NTH_YEAR) {
        *ret_date = true;
        return dates_of(c);
    }
    if (kind == TEXT_NONE)
        return NULL;
    double *of = tab_arena_new_of(s->scratch, double, c->levels + 1);
    double *v = tab_arena_new_of(s->scratch, double, s->rows + 1);
    if (of == NULL || v == NULL)
        return NULL;
    size_t fail = 0, fail_dmy = 0;
    for (size_t k = 0; kind == TEXT_DATE_MDY && k < c->levels; k++)
        fail += isnan(read_text(c->level[k], kind)), fail_dmy += isnan(read_text(c->level[k], TEXT_DATE_DMY));
    kind = fail_dmy < fail ? TEXT_DATE_DMY : kind;
    fail = 0;
    for (size_t k = 0; k < c->levels; k++) {
        of[k] = read_text(c->level[k], kind);
        fail += isnan(of[k]);
    }
    if (10 * fail > c->levels)
        return NULL;
    for (size_t r = 0; r < s->rows; r++)
        v[r] = c->code[r] == TAB_NULL ? (double)NAN : of[c->code[r]];
    *ret_date = kind == TEXT_DATE_MDY || kind == TEXT_DATE_DMY || kind == TEXT_NTH_YEAR;
    *ret_month = kind == TEXT_MONTH;
    return v;
}

/* ---- what the numbers may be -------------------------------------------------------------------- */

static bool day8(double v)
{
    int x = (int)v, m = x / 100 % 100, d = x % 100;
    return v >= 15000101 && v <= 22001231 && m >= 1 && m <= 12 && d >= 1 && d <= 31;
}

static int year6(double v, int most)
{
    int x = (int)v, part = x % 100;
    return v >= 150001 && v <= 220099 && part >= 1 && part <= most;
}

/* The least of the common divisions of a year of which nearly all are whole multiples; 0: none is. */
static double division(const double *v, size_t rows)
{
    static const double of[] = { 2, 4, 12, 24, 52, 365.25 };
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        /* a year to two decimals is 0.005 of a year off, a hundredth of a hundredth to four */
        double most = k < 4 ? fmax(0.02, 0.0051 * of[k]) : 0.03;
        size_t n = 0, near = 0;
        for (size_t r = 0; r < rows; r++)
            if (!isnan(v[r])) {
                double at = v[r] * of[k];
                n++, near += fabs(at - round(at)) <= most;
            }
        if (n > 0 && (double)near >= 0.98 * (double)n)
            return of[k];
    }
    return 0;
}

/* Decimals that may be years, or seconds or milliseconds since 1970. */
static bool could_be_time(const tab_clue *c)
{
    return (c->lo >= 1500 && c->hi <= 2200) || (c->lo >= 2e8 && c->hi <= 4.2e9) ||
           (c->lo >= 2e11 && c->hi <= 4.2e12);
}

/* One pass: range, wholeness, rises and falls. False: decimals that are no years and no even steps. */
static bool look(const double *v, size_t rows, tab_clue *c)
{
    double last = (double)NAN, first_step = 0;
    size_t same = 0;
    c->lo = INFINITY, c->hi = -INFINITY, c->whole = true;
    for (size_t r = 0; r < rows; r++) {
        double x = v[r];
        if (isnan(x))
            continue;
        c->present++;
        c->lo = fmin(c->lo, x), c->hi = fmax(c->hi, x);
        c->whole = c->whole && x == trunc(x); // NOLINT: whole
        c->up += x > last, c->down += x < last;
        first_step = first_step != 0 || isnan(last) ? first_step : x - last;               // NOLINT: none yet
        same += first_step != 0 && fabs(x - last - first_step) <= 1e-6 * fabs(first_step); // NOLINT: none yet
        last = x;
        if (c->present == 2 * LOOK && !c->whole && !could_be_time(c) && 4 * same < c->present)
            return false;
    }
    return c->whole || could_be_time(c) || 4 * same >= 3 * c->present;
}

/* Distinct values of a few whole ones, and the greatest step that all are apart by. */
static void count_small(const double *v, size_t rows, tab_clue *c)
{
    bool seen[SMALL + 1] = { false };
    if (!c->whole || !(c->hi - c->lo < SMALL))
        return;
    for (size_t r = 0; r < rows; r++)
        if (!isnan(v[r]))
            seen[(size_t)(v[r] - c->lo)] = true;
    c->distinct = 0;
    for (size_t k = 0; k <= SMALL; k++) {
        c->distinct += seen[k];
        for (size_t x = seen[k] ? k : 0; x > 0;) { /* Euclid */
            size_t rest = (size_t)c->unit % x;
            c->unit = (double)x;
            x = rest;
        }
    }
}

static unsigned parts_of(const tab_clue *c)
{
    size_t n = c->distinct;
    unsigned parts = 0;
    if (!c->whole || c->hi - c->lo >= SMALL)
        return 0;
    bool dense = c->hi - c->lo + 1 <= 1.3 * (double)n;
    if ((c->lo >= 1500 && c->hi <= 2200) || (c->lo >= 13 && c->hi <= 99 && dense && n >= 2))
        parts |= TAB_PART_YEAR;
    if (c->lo == 1 && c->hi == 4 && n == 4) // NOLINT: whole
        parts |= TAB_PART_QUARTER;
    if (c->lo >= 1 && c->hi <= 12 && n >= 2 && (n >= 5 || dense || c->hi - c->lo == 9)) // NOLINT: whole
        parts |= TAB_PART_MONTH;
    if (c->lo >= 1 && c->hi >= 30 && c->hi <= 53 && n >= 26 && c->hi - c->lo <= (double)n)
        parts |= TAB_PART_WEEK;
    if (c->lo >= 1 && c->lo <= 2 && c->hi >= 25 && c->hi <= 31 && n >= 22)
        parts |= TAB_PART_DAY;
    if (c->lo >= 1 && c->hi >= 360 && c->hi <= 366 && n >= 300)
        parts |= TAB_PART_YEARDAY;
    /* nearly all hours, every sixth of the day, or those that something is open */
    bool day_long = c->hi <= 23 && c->lo >= 0 && n >= 2 && (double)n * c->unit == 24; // NOLINT: whole
    bool open = dense && c->lo >= 5 && c->hi >= 15 && c->hi <= 23 && n >= 8;
    if ((c->lo == 0 && c->hi == 23 && n >= 20) || day_long || open) // NOLINT: whole
        parts |= TAB_PART_HOUR;
    if (c->lo >= 0 && c->hi >= 30 && c->hi <= 59 && (n == 2 || n == 4 || n == 6 || n == 12 || n >= 55))
        parts |= TAB_PART_MINUTE;
    return parts;
}

static bool all(const double *v, size_t rows, bool (*is)(double))
{
    for (size_t r = 0; r < rows; r++)
        if (!isnan(v[r]) && !is(v[r]))
            return false;
    return true;
}
static bool is_month6(double v)
{
    return year6(v, 12);
}
static bool is_week6(double v)
{
    return year6(v, 53);
}

/* Whether whole values are a count: of a range that most of it is seen of, in some even step. */
static bool counts(const double *v, size_t rows, tab_clue *c)
{
    double g = 0;
    for (size_t r = 0; r < rows && g != 1; r++) { // NOLINT: nothing smaller
        double d = isnan(v[r]) ? 0 : v[r] - c->lo;
        while (d > 0) {
            double rest = g > 0 ? fmod(g, d) : 0;
            g = d;
            d = rest;
        }
    }
    c->unit = g;
    size_t n = c->distinct;
    return g > 0 && n >= 3 && (c->hi - c->lo) / g + 1 <= 4 * (double)n;
}

static tab_time_reading reading_of(const double *v, size_t rows, const tab_column_profile *p, tab_clue *c)
{
    if (c->whole && c->lo >= 15000101 && c->hi <= 22001231 && all(v, rows, day8))
        return TAB_AS_DAY8;
    if (c->whole && c->lo >= 150001 && c->hi <= 220099) {
        if (all(v, rows, is_month6))
            return TAB_AS_MONTH6;
        if (all(v, rows, is_week6))
            return TAB_AS_WEEK6;
    }
    bool seconds = c->lo >= 2e8 && c->hi <= 4.2e9, milli = c->lo >= 2e11 && c->hi <= 4.2e12;
    if ((seconds || milli) && p->distinct >= 8)
        return TAB_AS_EPOCH;
    if (c->whole && c->lo >= 1500 && c->hi <= 2200)
        return c->distinct >= 3 ? TAB_AS_YEAR : TAB_AS_NOTHING;
    if (!c->whole && c->lo >= 1500 && c->hi <= 2200 && (c->per_year = division(v, rows)) > 0)
        return TAB_AS_DECIMAL_YEAR;
    if (!c->whole)
        return c->lo >= 1500 && c->hi <= 2200 ? TAB_AS_NOTHING : TAB_AS_COUNT;
    return counts(v, rows, c) ? TAB_AS_COUNT : TAB_AS_NOTHING;
}

/* ---- columns ------------------------------------------------------------------------------------ */

/* False: the column is no clue. */
static bool clue_of(tab_search *s, size_t column, tab_clue *c)
{
    const tab_column_profile *p = &s->p->col[column];
    bool date, month;
    *c = (tab_clue){ .column = column };
    if (p->use == TAB_USE_IGNORE || p->present == 0 || p->missing > 0.3)
        return false;
    const double *v = numbers_of(s, p, &date, &month);
    if (v == NULL)
        return false;
    c->v = v;
    c->distinct = p->distinct;
    c->birth = p->role == TAB_ROLE_BIRTH_DATE;
    if (date) {
        look(v, s->rows, c);
        bool clock = p->role == TAB_ROLE_TIME || (c->lo >= 0 && c->hi < DAY);
        c->as = clock || c->distinct < 3 ? TAB_AS_NOTHING : TAB_AS_DATE;
        c->parts = clock ? TAB_PART_CLOCK : 0;
        if (!(c->lo > -FAR && c->hi < FAR))
            return false;
        c->days = true;
        for (size_t r = 0; r < s->rows && c->days; r++)
            c->days = isnan(v[r]) || fmod(v[r], DAY) == 0; // NOLINT: whole days
        return clock || c->as == TAB_AS_DATE;
    }
    if (!look(v, s->rows, c))
        return false;
    count_small(v, s->rows, c);
    c->parts = month ? TAB_PART_MONTH : parts_of(c);
    c->as = month ? TAB_AS_NOTHING : reading_of(v, s->rows, p, c);
    c->days = c->as == TAB_AS_DAY8;
    return c->parts != 0 || c->as != TAB_AS_NOTHING;
}

/* How far the rows come in the order of it, one way. */
static double rising(const tab_clue *c)
{
    size_t most = c->up > c->down ? c->up : c->down, n = c->up + c->down;
    return n == 0 ? 0 : (double)most / (double)n;
}

bool tab_series_clues(tab_search *s)
{
    s->clue = tab_arena_new_of(s->scratch, tab_clue, CLUES + 1);
    size_t like[TAB_AS_COUNT + 1] = { 0 };
    for (size_t c = 0; s->clue != NULL && c < s->cols; c++) {
        tab_clue k;
        if (c == s->target || !clue_of(s, c, &k))
            continue;
        if (like[k.as] < ALIKE && s->clues < CLUES) {
            like[k.as]++;
            s->clue[s->clues++] = k;
            continue;
        }
        /* of many that read alike those that the rows come in the order of */
        size_t worst = s->clues;
        for (size_t i = 0; i < s->clues; i++)
            if (s->clue[i].as == k.as && (worst == s->clues || rising(&s->clue[i]) < rising(&s->clue[worst])))
                worst = i;
        if (worst < s->clues && rising(&k) > rising(&s->clue[worst]))
            s->clue[worst] = k;
    }
    return !tab_arena_full(s->scratch);
}
