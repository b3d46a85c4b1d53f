/* See column.h: reads one column, for profile.c and for the reader of a request's rows (predict/). Every
 * distinct value is read once, whatever the number of its rows. Counts of cells follow from the counts of
 * values, so the cost of parsing depends on the number of values alone.
 *
 *   distinct_levels ─> read_numbers ─> find_sentinel ─> read_bools ─> read_times
 *   (texts)            one decimal                                    one order of day
 *                      mark a column                                  and month a column
 *
 * A "level" is a distinct value of the column, trimmed; a "code" is a cell's index into the levels. A column
 * that arrives as numbers (TAB_NUMBERS) takes the short way: read_plain_numbers.
 *
 * A reading says only what the cells allow. The role is decided later (stages.c), and tab_view_column then
 * gives the values as that role's type. */
#include "services/inference/engine/profile/features/column.h"

#include <math.h>

#include "common/base/hash.h"

/* ---- distinct trimmed values ----------------------------------------------------------------- */

/* A column of marks alone ("?", "N/A", blanks, and words such as "none") holds no value and reads as one of
 * nulls (decision 0241). The cells stay nulls of their own kind (r->marks): they do not count as missing in
 * the report. */
static bool forget_marks(tab_reading *r)
{
    uint32_t *code = tab_arena_new_of(r->arena, uint32_t, r->rows);
    if (code == NULL)
        return false;
    memset(code, 0xff, r->rows * sizeof *code); /* TAB_NULL */
    r->code = code;
    r->marks = r->strict + r->words;
    r->mark_levels = r->levels;
    r->nulls = r->rows;
    r->levels = r->strict = r->words = 0;
    return true;
}

/* Two letters among codes of two letters, nearly all of them ("NA" of Namibia beside "DE" and "US", "ND"
 * among states), are a code like the others and no mark. */
static void keep_codes(tab_reading *r)
{
    enum { ENOUGH_CODES = 10 };
    size_t codes = 0, marks = 0;
    for (size_t k = 0; k < r->levels; k++) {
        const char *s = r->level[k].p;
        bool code = r->level[k].n == 2 && s[0] >= 'A' && s[0] <= 'Z' && s[1] >= 'A' && s[1] <= 'Z';
        bool mark = r->foreign[k] == TAB_FOREIGN_STRICT;
        codes += code && !mark;
        marks += mark;
    }
    if (codes < ENOUGH_CODES || codes * 20 < (r->levels - marks) * 19)
        return;
    for (size_t k = 0; k < r->levels; k++)
        if (r->level[k].n == 2 && r->level[k].p[0] >= 'A' && r->level[k].p[0] <= 'Z')
            r->foreign[k] = TAB_FOREIGN_NO;
}

/* How many cells hold each level, and how many of them are marks and words like "unknown". */
static void count_cells(tab_reading *r)
{
    for (size_t i = 0; i < r->rows; i++)
        if (r->code[i] == TAB_NULL)
            r->nulls++;
        else
            r->count[r->code[i]]++;
    for (size_t k = 0; k < r->levels; k++) {
        r->strict += r->foreign[k] == TAB_FOREIGN_STRICT ? r->count[k] : 0;
        r->words += r->foreign[k] == TAB_FOREIGN_WORD ? r->count[k] : 0;
    }
}

/* Digits as many as numbers of telephones and accounts have; `.0` behind them: what became of a column of
 * them in which a cell was missing (pandas has no other numbers then). */
static bool long_digits(tab_str s)
{
    enum { LEAST = 9 };
    size_t i = 0;
    while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9')
        i++;
    return i == s.n && i >= LEAST;
}

static bool made_float(tab_str s)
{
    return s.n > 2 && memcmp(s.p + s.n - 2, ".0", 2) == 0 && long_digits((tab_str){ s.p, s.n - 2 });
}

/* Is every level that is no mark such a float, or the digits alone? Texts of JSON come so; a file's are
 * numbers. */
static bool made_floats(const tab_column *c)
{
    size_t floats = 0;
    for (size_t i = 0; i < c->levels; i++) {
        tab_str s = tab_trim(tab_level(c, i));
        bool made = made_float(s);
        if (!made && !long_digits(s) && tab_foreign_mark(s) != TAB_FOREIGN_STRICT)
            return false;
        floats += made;
    }
    return floats > 0;
}

/* The column's levels and their counts. Trimming can make two levels one, as can a number and a text of the
 * same digits. Only then are the codes rewritten; else the column's own serve. False: the arena is full. */
static bool distinct_levels(tab_reading *r)
{
    const tab_column *c = r->column;
    /* an open-addressing table that is at most half full */
    size_t n = c->levels, slots = 16;
    while (slots < 2 * n)
        slots *= 2;
    uint32_t *map = tab_arena_new_of(r->arena, uint32_t, n);
    uint32_t *table = tab_arena_new_of(r->arena, uint32_t, slots);
    r->level = tab_arena_new_of(r->arena, tab_str, n);
    r->count = tab_arena_new_of(r->arena, uint32_t, n);
    r->foreign = tab_arena_new_of(r->arena, uint8_t, n);
    if (map == NULL || table == NULL || r->level == NULL || r->count == NULL || r->foreign == NULL)
        return false;
    /* A level that arrived as a number may equal one that arrived as text; then they must be merged. */
    bool floats = made_floats(c), changed = floats;
    for (size_t i = 0; i < n; i++)
        changed |= c->kind[i] != TAB_CELL_TEXT;
    if (!changed)
        for (size_t i = 0; i < n && !changed; i++) {
            tab_str s = tab_level(c, i);
            changed = tab_trim(s).n != s.n;
        }
    /* map: the new code of each old level. table: code + 1 of the level in a slot, 0 for an empty one. */
    for (size_t i = 0; i < n; i++) {
        tab_str s = tab_trim(tab_level(c, i));
        s.n -= floats && made_float(s) ? 2 : 0;
        size_t k = r->levels;
        if (changed) {
            size_t h = tab_place_text(s) & (slots - 1);
            while (table[h] != 0 && !tab_str_eq(r->level[table[h] - 1], s))
                h = (h + 1) & (slots - 1);
            if (table[h] != 0) {
                map[i] = table[h] - 1;
                continue;
            }
            table[h] = (uint32_t)k + 1;
        }
        map[i] = (uint32_t)k;
        r->level[k] = s;
        r->foreign[k] = (uint8_t)tab_foreign_mark(s);
        r->levels++;
    }
    if (changed) {
        uint32_t *code = tab_arena_new_of(r->arena, uint32_t, r->rows);
        if (code == NULL)
            return false;
        for (size_t i = 0; i < r->rows; i++)
            code[i] = c->code[i] == TAB_NULL ? TAB_NULL : map[c->code[i]];
        r->code = code;
    } else {
        r->code = c->code;
    }
    keep_codes(r);
    count_cells(r);
    size_t marks = r->strict + r->words;
    /* words that fill a column in several kinds may be kinds */
    bool kinds = r->strict == 0 && r->nulls == 0 && r->levels > 1;
    return marks == 0 || kinds || marks < r->rows - r->nulls || forget_marks(r);
}

/* ---- readings of levels ---------------------------------------------------------------------- */

/* Whether a reading holds: at most a fifth of the cells may fail it (TAB_FOREIGN_SHARE; a tenth and three
 * tenths change the accuracy of types by 0.002 at most, decision 0307). Words like "unknown" may stand
 * beside the numbers, as long as half of all cells are numbers. ok: the cells that the reading explains. */
static bool enough(const tab_reading *r, size_t ok)
{
    /* marks count for no reading and against none */
    size_t present = r->rows - r->nulls, all = present - r->strict;
    if (ok == 0)
        return false;
    if ((double)ok >= (1 - TAB_FOREIGN_SHARE) * (double)all)
        return true;
    return r->words > 0 && all > r->words &&
           (double)ok >= (1 - TAB_FOREIGN_SHARE) * (double)(all - r->words) &&
           (double)ok >= 0.5 * (double)all;
}

/* Remembers a unit that was not seen before; up to 9, since more than 6 already mean that these are no
 * units. */
static void note_unit(tab_reading *r, tab_str u, tab_str *seen)
{
    size_t i = 0;
    while (i < r->units && !tab_str_eq(seen[i], u))
        i++;
    if (i == r->units && r->units < 9)
        seen[r->units++] = u;
    r->unit = seen[0];
}

/* Counts how a number is written, by the cells that hold it. */
static void count_number(tab_reading *r, const tab_number *x, size_t cells, tab_str *seen)
{
    r->numbers += cells;
    r->affix[x->affix] += cells;
    r->grouped += x->grouped ? cells : 0;
    r->leading_zero += x->leading_zero ? cells : 0;
    r->exponent += x->exponent ? cells : 0;
    r->bounded += x->bound ? cells : 0;
    if (x->decimals > r->decimals)
        r->decimals = x->decimals;
    if (x->affix == TAB_AFFIX_UNIT)
        note_unit(r, x->unit, seen);
}

/* Columns of more than 4 x PROBE values are tried on about 64 of them first: where less than a quarter
 * read as numbers (or dates), the column is not read in full. A saving of time; a column that passes
 * enough() passes this too, unless the sample is very unlucky. */
enum { PROBE = 64 };

/* Values are taken at even distances, in order of first appearance. */
static bool hopeless(const tab_reading *r, bool (*reads)(tab_str))
{
    size_t tried = 0, ok = 0, step = r->levels / PROBE + 1;
    if (r->levels < 4 * PROBE)
        return false;
    for (size_t k = 0; k < r->levels; k += step)
        if (r->foreign[k] == TAB_FOREIGN_NO) {
            tried++;
            ok += reads(r->level[k]);
        }
    return tried >= PROBE / 2 && ok * 4 < tried;
}

/* A number under either decimal mark. */
static bool reads_number(tab_str s)
{
    tab_number x;
    return tab_parse_number(s, '.', &x) || tab_parse_number(s, ',', &x);
}

/* A date, a clock time or a duration. */
static bool reads_date(tab_str s)
{
    tab_date d;
    double x;
    return tab_parse_date(s, TAB_ORDER_MDY, &d) || tab_parse_clock(s, &x) || tab_parse_duration(s, &x);
}

/* Two passes: the first settles the decimal mark, the second reads. False: the arena is full. */
static bool read_numbers(tab_reading *r)
{
    if (hopeless(r, reads_number))
        return true;
    double *num = tab_arena_new_of(r->arena, double, r->levels);
    if (num == NULL)
        return false;
    /* Cells that read as numbers under each mark, and those that read under one mark only (1.5 against
     * 1,5). */
    size_t point = 0, comma = 0, only_point = 0, only_comma = 0;
    tab_number x;
    /* One decimal mark for the column: the one under which more cells are numbers. */
    for (size_t k = 0; k < r->levels; k++) {
        if (r->foreign[k] == TAB_FOREIGN_STRICT)
            continue;
        bool has_comma = memchr(r->level[k].p, ',', r->level[k].n) != NULL;
        bool has_point = memchr(r->level[k].p, '.', r->level[k].n) != NULL;
        /* a number without either mark reads alike under both */
        if (!has_comma && !has_point)
            continue;
        if (tab_parse_number(r->level[k], '.', &x)) {
            point += r->count[k];
            only_point += x.only_point ? r->count[k] : 0;
        }
        if (has_comma || has_point) {
            if (tab_parse_number(r->level[k], ',', &x)) {
                comma += r->count[k];
                only_comma += x.only_comma ? r->count[k] : 0;
            }
        }
    }
    r->decimal = comma > point || (comma == point && only_comma > only_point) ? ',' : '.';
    tab_str seen[9];
    for (size_t k = 0; k < r->levels; k++) {
        num[k] = (double)NAN;
        /* Mixed kinds, the first value a number: numbers have a point, whatever mark the texts use. */
        bool kept = r->column->kind[0] == TAB_CELL_NUMBER && r->decimal == ',';
        if (r->foreign[k] == TAB_FOREIGN_STRICT)
            continue;
        if (tab_parse_number(r->level[k], r->decimal, &x) ||
            (kept && tab_parse_number(r->level[k], '.', &x))) {
            num[k] = x.value;
            count_number(r, &x, r->count[k], seen);
        }
    }
    r->num = num;
    /* Many different words behind the digits are an address or a name, not units. */
    r->can_number = enough(r, r->numbers) && r->units <= 6;
    return true;
}

/* A long column whose sample shows dates, none of them in doubt about day and month, is read once and for
 * nothing else: clocks, durations and the order of day and month need no look at every value then. */
static bool plainly_dates(const tab_reading *r)
{
    size_t step = r->levels / (4 * PROBE) + 1, tried = 0;
    tab_date d;
    /* Below that many values, reading all of them costs little. */
    if (r->levels < 16 * PROBE)
        return false;
    for (size_t k = 0; k < r->levels; k += step)
        if (r->foreign[k] != TAB_FOREIGN_STRICT) {
            tried++;
            if (!tab_parse_date(r->level[k], TAB_ORDER_MDY, &d) || d.numeric)
                return false;
        }
    return tried > 0;
}

/* The one pass for columns that plainly_dates found. False: some value was in doubt after all, or too few
 * are dates. */
static bool read_dates_once(tab_reading *r)
{
    tab_date d;
    for (size_t k = 0; k < r->levels; k++) {
        r->time[k] = (double)NAN;
        if (r->foreign[k] == TAB_FOREIGN_STRICT)
            continue;
        if (tab_parse_date(r->level[k], TAB_ORDER_MDY, &d)) {
            if (d.numeric)
                return false; /* in doubt after all */
            r->time[k] = d.seconds;
            r->dates += r->count[k];
        }
    }
    r->can_date = enough(r, r->dates);
    return r->can_date;
}

/* Dates, clock times and durations. A first pass counts what each reading would explain and settles the
 * order of day and month; a second pass keeps the seconds of the reading that holds. A date goes before a
 * clock time, a duration before a clock time. False: the arena is full. */
static bool read_times(tab_reading *r)
{
    if (hopeless(r, reads_date))
        return true;
    r->time = tab_arena_new_of(r->arena, double, r->levels);
    if (r->time == NULL)
        return false;
    if (plainly_dates(r)) {
        if (read_dates_once(r))
            return true;
        r->dates = 0;
    }
    size_t dmy = 0, mdy = 0, dots = 0;
    tab_date d;
    double x;
    for (size_t k = 0; k < r->levels; k++) {
        if (r->foreign[k] == TAB_FOREIGN_STRICT)
            continue;
        if (tab_parse_date(r->level[k], TAB_ORDER_MDY, &d)) {
            r->dates += r->count[k];
            /* a day above 12 shows the order (only_); dots: points or dashes between the numbers */
            dmy += d.only_dmy ? r->count[k] : 0;
            mdy += d.only_mdy ? r->count[k] : 0;
            dots += d.numeric && memchr(r->level[k].p, '/', r->level[k].n) == NULL ? r->count[k] : 0;
        }
        r->clocks += tab_parse_clock(r->level[k], &x) ? r->count[k] : 0;
        r->durations += tab_parse_duration(r->level[k], &x) ? r->count[k] : 0;
    }
    /* Impossible days decide. Without any, points mean day first, as in Europe, and slashes month first, as
     * in the United States. */
    r->order_known = dmy != mdy;
    r->order = dmy > mdy || (dmy == mdy && dots > 0) ? TAB_ORDER_DMY : TAB_ORDER_MDY;
    r->can_date = enough(r, r->dates);
    r->can_clock = enough(r, r->clocks);
    r->can_duration = enough(r, r->durations);
    if (!r->can_date && !r->can_clock && !r->can_duration)
        return true;
    for (size_t k = 0; k < r->levels; k++) {
        r->time[k] = (double)NAN;
        if (r->foreign[k] == TAB_FOREIGN_STRICT)
            continue;
        /* Where both hold, the values are durations: 1:30 reads as either, and only a duration may reach a
         * day. */
        if (r->can_date) {
            if (tab_parse_date(r->level[k], r->order, &d))
                r->time[k] = d.seconds;
        } else if (r->can_clock && !r->can_duration) {
            if (tab_parse_clock(r->level[k], &x))
                r->time[k] = x;
        } else if (tab_parse_duration(r->level[k], &x) || tab_parse_clock(r->level[k], &x)) {
            r->time[k] = x;
        }
    }
    return true;
}

/* Yes or no: all values must be of one pair of words, so "yes" beside "false" is none. More than 8
 * distinct values (a pair in several spellings, and marks) are no flag. */
static void read_bools(tab_reading *r)
{
    size_t ok = 0;
    uint64_t pairs = UINT64_MAX;
    if (r->levels > 8)
        return;
    for (size_t k = 0; k < r->levels; k++) {
        bool yes;
        uint64_t p = tab_parse_bool(r->level[k], &yes);
        if (p == 0)
            continue;
        pairs &= p;
        ok += r->count[k];
    }
    r->can_bool = ok > 0 && pairs != 0 && ok == r->rows - r->nulls - r->strict - r->words;
    r->bool_pairs = r->can_bool ? pairs : 0;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* 9999 and 99999 stand for "missing" where several cells hold one and every other number is at least 0 and
 * below a tenth of it. 999 is too often a price beside smaller ones. */
static bool is_high_mark(double low, double next, double high, size_t at_high, size_t cells)
{
    enum { CELLS_LEAST = 3 };
    bool mark = high == 9999 || high == 99999;
    return mark && low >= 0 && next < high / 10 && at_high >= CELLS_LEAST && cells > 2 * at_high;
}

/* -99, -999, -9999 ... stand for "missing" where every other number is far above them: at least 0, or
 * above minus a tenth of the mark. Else a high mark may. */
static void find_sentinel(tab_reading *r, const double *num, const uint32_t *count, size_t n)
{
    double low = (double)INFINITY, next = (double)INFINITY, high = -(double)INFINITY, below = high;
    size_t at_low = 0, at_high = 0, cells = 0;
    for (size_t i = 0; i < n; i++) {
        /* the smallest number, how many cells hold it, and the next one above it */
        double x = num[i];
        if (isnan(x))
            continue;
        size_t k = count == NULL ? 1 : count[i];
        cells += k;
        if (x > high) {
            below = high;
            high = x;
            at_high = k;
        } else if (x == high) {
            at_high += k;
        } else {
            below = fmax(below, x);
        }
        if (x < low) {
            next = low;
            low = x;
            at_low = k;
        } else if (x == low) {
            at_low += k;
        } else if (x < next) {
            next = x;
        }
    }
    r->sentinel = (double)NAN;
    /* Logs of wells write -999.25. -99 may be a value, so all others must be at least 0. */
    bool mark = low == -99 || low == -999 || low == -9999 || low == -99999 || low == -999.9 ||
                low == -9999.9 || low == -999.25 || low == -99.9;
    if (mark && cells > at_low && isfinite(next) && next > low / 10 && (low != -99 || next >= 0)) {
        r->sentinel = low;
        r->sentinels = at_low;
    } else if (is_high_mark(low, below, high, at_high, cells)) {
        r->sentinel = high;
        r->sentinels = at_high;
    }
}

/* Decimals of a number that arrived as a double: the fewest under which it is whole, up to 6 and to a
 * relative error of 1e-9; beyond that the digits of its shortest decimal text. */
static int decimals_of(double x)
{
    static const double ten[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6 };
    if (x == trunc(x))
        return 0;
    for (int d = 1; d <= 6; d++) {
        double y = x * ten[d];
        if (fabs(y - nearbyint(y)) <= 1e-9 * fmax(1, fabs(y)))
            return d;
    }
    char buf[40];
    size_t n = tab_number_text(x, buf);
    const char *point = memchr(buf, '.', n);
    if (point == NULL)
        return 7;
    int d = 0;
    for (const char *q = point + 1; q < buf + n && *q >= '0' && *q <= '9'; q++)
        d++;
    return d;
}

static uint64_t number_hash(double x)
{
    uint64_t b;
    if (x == 0)
        x = 0; /* -0 is 0 */
    memcpy(&b, &x, sizeof b);
    return tab_place(b);
}

/* The distinct numbers of a column of doubles by open addressing, in order of first appearance, and each
 * row's code. The table doubles as they come and is never more than half full. False: the arena is full. */
static bool number_levels(tab_reading *r, uint32_t *code, double **values)
{
    size_t slots = 256, n = 0, cap = 128;
    r->nulls = 0;
    uint32_t *table = tab_arena_new_of(r->arena, uint32_t, slots);
    double *value = tab_arena_new_of(r->arena, double, cap);
    if (table == NULL || value == NULL)
        return false;
    for (size_t i = 0; i < r->rows; i++) {
        double x = r->column->num[i];
        if (isnan(x)) {
            code[i] = TAB_NULL;
            r->nulls++;
            continue;
        }
        size_t h = number_hash(x) & (slots - 1);
        while (table[h] != 0 && value[table[h] - 1] != x)
            h = (h + 1) & (slots - 1);
        if (table[h] == 0) {
            /* full: both arrays double, and the table is filled anew */
            if (n == cap) {
                double *more = tab_arena_new_of(r->arena, double, 2 * cap);
                uint32_t *wider = tab_arena_new_of(r->arena, uint32_t, 2 * slots);
                if (more == NULL || wider == NULL)
                    return false;
                memcpy(more, value, cap * sizeof *value);
                value = more;
                cap *= 2;
                slots *= 2;
                for (size_t k = 0; k < n; k++) {
                    size_t g = number_hash(value[k]) & (slots - 1);
                    while (wider[g] != 0)
                        g = (g + 1) & (slots - 1);
                    wider[g] = (uint32_t)k + 1;
                }
                table = wider;
                h = number_hash(x) & (slots - 1);
                while (table[h] != 0)
                    h = (h + 1) & (slots - 1);
            }
            value[n++] = x;
            table[h] = (uint32_t)n;
        }
        code[i] = table[h] - 1;
    }
    r->levels = n;
    *values = value;
    return true;
}

/* A column of doubles: one reading, and its distinct values as categories. What arrives as numbers is
 * never read as text. */
static bool read_plain_numbers(tab_reading *r)
{
    const double *num = r->column->num;
    double *values;
    uint32_t *code = tab_arena_new_of(r->arena, uint32_t, r->rows);
    if (code == NULL || !number_levels(r, code, &values))
        return false;
    r->code = code;
    r->value = values;
    r->numbers = r->rows - r->nulls;
    r->affix[TAB_AFFIX_NONE] = r->numbers;
    for (size_t k = 0; k < r->levels; k++) {
        int d = decimals_of(values[k]);
        if (d > r->decimals)
            r->decimals = d;
    }
    r->can_number = r->numbers > 0;
    r->num = num;
    /* 0 and 1, or one of them alone, may be a flag */
    r->can_bool = r->levels > 0 && r->levels <= 2;
    for (size_t k = 0; k < r->levels; k++)
        r->can_bool = r->can_bool && (values[k] == 0 || values[k] == 1);
    find_sentinel(r, num, NULL, r->rows);
    return true;
}

/* Texts of numbers are made on demand: most columns of numbers never need them. */
bool tab_read_levels(tab_reading *r)
{
    if (r->column->layout != TAB_NUMBERS || r->level != NULL)
        return true;
    r->level = tab_arena_new_of(r->arena, tab_str, r->levels);
    r->count = tab_arena_new_of(r->arena, uint32_t, r->levels);
    if (r->level == NULL || r->count == NULL)
        return false;
    for (size_t k = 0; k < r->levels; k++) {
        char buf[40];
        size_t n = tab_number_text(r->value[k], buf);
        r->level[k] = tab_arena_copy(r->arena, (tab_str){ buf, n });
        if (r->level[k].p == NULL)
            return false;
    }
    for (size_t i = 0; i < r->rows; i++)
        if (r->code[i] != TAB_NULL)
            r->count[r->code[i]]++;
    return true;
}

bool tab_read_marks(const tab_reading *r, const tab_str **ret, size_t *ret_n)
{
    tab_str *mark = tab_arena_new_of(r->arena, tab_str, TAB_MOST_MARKS);
    size_t n = 0, levels = r->levels > 0 ? r->levels : r->mark_levels;
    if (mark == NULL)
        return false;
    for (size_t k = 0; r->foreign != NULL && k < levels && n < TAB_MOST_MARKS; k++)
        if (r->foreign[k] == TAB_FOREIGN_STRICT)
            mark[n++] = r->level[k];
    if (!isnan(r->sentinel) && n < TAB_MOST_MARKS) {
        char buf[40];
        mark[n] = tab_arena_copy(r->arena, (tab_str){ buf, tab_number_text(r->sentinel, buf) });
        if (mark[n++].p == NULL)
            return false;
    }
    *ret = mark;
    *ret_n = n;
    return true;
}

/* "None", "unknown" and "missing" beside numbers are no kind of their own: nothing else there is a word. */
static void words_are_marks(tab_reading *r)
{
    for (size_t k = 0; k < r->levels; k++)
        if (r->foreign[k] == TAB_FOREIGN_WORD)
            r->foreign[k] = TAB_FOREIGN_STRICT;
    r->strict += r->words;
    r->words = 0;
}

bool tab_read_column(tab_arena *a, const tab_column *c, size_t rows, tab_reading *ret)
{
    *ret = (tab_reading){ .arena = a, .column = c, .rows = rows, .decimal = '.', .sentinel = (double)NAN };
    if (c->layout == TAB_NUMBERS)
        return read_plain_numbers(ret);
    if (!distinct_levels(ret) || !read_numbers(ret))
        return false;
    if (ret->can_number) {
        words_are_marks(ret);
        find_sentinel(ret, ret->num, ret->count, ret->levels);
    }
    read_bools(ret);
    /* 20190531 reads as a number too; anything else that is a number is no date. */
    return read_times(ret);
}

void tab_read_numbers(const tab_column *c, size_t rows, tab_reading *r)
{
    *r = (tab_reading){ .arena = r->arena, .column = c, .rows = rows, .decimal = '.', .num = c->num };
    find_sentinel(r, c->num, NULL, rows);
}
