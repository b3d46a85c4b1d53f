/* See column.h: the typed view of a column that was read (column.c), once its role and type are known.
 * profile.c asks for each column of a table, predict/read_request.c for the columns of a request. */
#include <math.h>

#include "services/inference/engine/profile/features/column.h"
#include "services/inference/engine/profile/roles/roles.h"

/* The column as categories, without marks like "?". */
static bool view_categories(tab_reading *r, tab_column_profile *p)
{
    if (!tab_read_levels(r))
        return false;
    p->level = r->level;
    p->levels = r->levels;
    if (r->foreign == NULL || r->strict == 0) {
        p->code = r->code;
        return true;
    }
    /* Marks are no category: their code is null, and the levels close up. */
    uint32_t *map = tab_arena_new_of(r->arena, uint32_t, r->levels);
    uint32_t *code = tab_arena_new_of(r->arena, uint32_t, r->rows);
    tab_str *level = tab_arena_new_of(r->arena, tab_str, r->levels);
    if (map == NULL || code == NULL || level == NULL)
        return false;
    size_t n = 0;
    for (size_t k = 0; k < r->levels; k++) {
        map[k] = r->foreign[k] == TAB_FOREIGN_STRICT ? TAB_NULL : (uint32_t)n;
        if (map[k] != TAB_NULL)
            level[n++] = r->level[k];
    }
    for (size_t i = 0; i < r->rows; i++)
        code[i] = r->code[i] == TAB_NULL ? TAB_NULL : map[r->code[i]];
    p->code = code;
    p->level = level;
    p->levels = n;
    return true;
}

/* YYMMDD; two digits of a year mean 1970 to 2069, as in dates.c. */
static double time_of_yymmdd(double x)
{
    int v = isnan(x) ? 0 : (int)x, y = v / 10000, m = v / 100 % 100, d = v % 100;
    return m >= 1 && d >= 1 ? (double)tab_days_from_civil(y < 70 ? 2000 + y : 1900 + y, m, d) * 86400
                            : (double)NAN;
}

/* What a number means as a point in time: epoch seconds or milliseconds by size, 930 as 09:30, 20190531,
 * 45356 (a spreadsheet's days). */
static double time_of_number(int role, bool yymmdd, double x)
{
    if (yymmdd)
        return time_of_yymmdd(x);
    if (x >= TAB_SERIAL_LEAST && x < TAB_SERIAL_MOST && role != TAB_ROLE_TIME)
        return (x - TAB_SERIAL_1970) * 86400;
    if (isnan(x))
        return x;
    if (role == TAB_ROLE_TIME)
        /* HHMM: the last two digits are minutes */
        return x >= 0 && x < 2400 ? floor(x / 100) * 3600 + fmod(x, 100) * 60 : (double)NAN;
    /* YYYYMMDD, where there is such a day */
    if (x >= 18000101 && x <= 21001231 && x == trunc(x)) {
        int v = (int)x, m = v / 100 % 100, d = v % 100;
        return m >= 1 && m <= 12 && d >= 1 && d <= 31 ? (double)tab_days_from_civil(v / 10000, m, d) * 86400
                                                      : (double)NAN;
    }
    if (x >= 180001 && x <= 210012 && x == trunc(x)) { /* 201905 */
        int v = (int)x, m = v % 100;
        return m >= 1 && m <= 12 ? (double)tab_days_from_civil(v / 100, m, 1) * 86400 : (double)NAN;
    }
    /* Seconds since 1970 stay below 1e11 until the year 5138; milliseconds, microseconds and nanoseconds are
     * as far apart. */
    double size = fabs(x);
    return size > 1e17 ? x / 1e9 : size > 1e14 ? x / 1e6 : size > 1e11 ? x / 1000 : x;
}

/* Boolean, datetime and numeric columns get `number`; all but TAB_NUMBERS columns of numbers and dates get
 * `code` and `level` as well. */
bool tab_view_column(tab_reading *r, tab_column_profile *p)
{
    p->decimals = r->decimals;
    p->number = NULL;
    bool timed = p->type == TAB_DATETIME || p->role == TAB_ROLE_DURATION;
    bool plain = r->column->layout == TAB_NUMBERS;
    bool yymmdd = p->type == TAB_DATETIME && !r->can_date && tab_is_yymmdd(r);
    if (p->type == TAB_NUMERIC || p->type == TAB_DATETIME || p->type == TAB_BOOLEAN) {
        /* the column's own array serves where nothing in it must change */
        if (plain && p->type != TAB_DATETIME && isnan(r->sentinel)) {
            p->number = r->column->num;
        } else {
            double *out = tab_arena_new_of(r->arena, double, r->rows);
            if (out == NULL)
                return false;
            for (size_t i = 0; i < r->rows; i++) {
                double x = (double)NAN;
                if (plain) {
                    x = r->column->num[i];
                    if (p->type == TAB_DATETIME)
                        x = time_of_number(p->role, yymmdd, x);
                } else if (r->code[i] != TAB_NULL) {
                    uint32_t k = r->code[i];
                    bool yes;
                    if (p->type == TAB_BOOLEAN)
                        x = tab_parse_bool(r->level[k], &yes) != 0 ? (double)yes : (double)NAN;
                    else if (timed && (r->can_date || r->can_clock || r->can_duration))
                        x = r->time[k];
                    else if (r->num != NULL)
                        x = p->type == TAB_DATETIME ? time_of_number(p->role, yymmdd, r->num[k]) : r->num[k];
                }
                /* The sentinel (-999) is a missing value; comparing with NaN, where there is none, is
                 * false. */
                out[i] = x == r->sentinel ? (double)NAN : x;
            }
            p->number = out;
        }
    }
    if (plain && (p->type == TAB_NUMERIC || p->type == TAB_DATETIME)) {
        p->code = NULL;
        p->level = NULL;
        p->levels = 0;
        return true;
    }
    return view_categories(r, p);
}

/* Regression may be asked for any column of numbers: of codes, of years, of what looks like an id. */
bool tab_view_as_number(tab_arena *a, tab_column_profile *c, size_t rows, bool *ret)
{
    *ret = true;
    if (c->type == TAB_NUMERIC && c->number != NULL)
        return true;
    tab_reading r;
    if (!tab_read_column(a, c->column, rows, &r))
        return false;
    *ret = r.can_number;
    if (!r.can_number)
        return true;
    c->type = TAB_NUMERIC;
    return tab_view_column(&r, c);
}

/* Few whole values are classes, unless the role says that they measure (ratings, counts, ages, money). */
bool tab_numeric_target(const tab_column_profile *c)
{
    enum { FEW = 20 };
    bool quantity = tab_role_family[c->role] == TAB_FAMILY_QUANTITY;
    if (c->type == TAB_DATETIME)
        return true;
    return c->type != TAB_BOOLEAN && c->numbers && (c->distinct > FEW || c->decimals > 0 || quantity);
}

bool tab_read_known(tab_arena *a, const tab_column *c, size_t rows, tab_reading *r, tab_column_profile *p)
{
    if (c->layout != TAB_NUMBERS || (p->type != TAB_NUMERIC && p->type != TAB_DATETIME))
        return tab_read_column(a, c, rows, r) && tab_view_column(r, p);
    r->arena = a;
    tab_read_numbers(c, rows, r);
    return tab_view_column(r, p);
}
