/* See top.h. */
#include "common/files/csv/top.h"

#include <strings.h>

#include "common/base/hash.h"
#include "common/files/csv/dialect.h"

static double whole(tab_str s)
{
    double x = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9' || s.n > 9)
            return -1;
        x = 10 * x + (s.p[i] - '0');
    }
    return s.n == 0 ? -1 : x;
}

/* Blanks alone, the one that does not break among them, are nothing to see. */
static tab_str seen(tab_str s)
{
    size_t i = 0;
    while (i < s.n && (s.p[i] == ' ' || s.p[i] == '\t' || (i + 1 < s.n && memcmp(s.p + i, "\u00a0", 2) == 0)))
        i += s.p[i] == ' ' || s.p[i] == '\t' ? 1 : 2;
    return i == s.n ? TAB_S("") : s;
}

/* What stands in a cell that is not known: no name of a column. */
static bool is_mark(tab_str s)
{
    static const char *const marks[] = { "n/a", "na",   "nan", "null",    "none",          "nil",
                                         "k.a", "k.A.", "tbd", "missing", "not available", "unknown" };
    size_t letters = 0;
    for (size_t i = 0; i < s.n; i++)
        letters += ((unsigned char)s.p[i] | 32) >= 'a'; /* bytes of other scripts as well */
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (s.n == strlen(marks[i]) && strncasecmp(s.p, marks[i], s.n) == 0)
            return true;
    return letters == 0;
}

/* "65+" and "18-24" are names of classes. */
static bool is_class(tab_str s)
{
    enum { DIGITS = 3 };
    size_t a = 0, b = 0;
    while (a < s.n && s.p[a] >= '0' && s.p[a] <= '9')
        a++;
    if (a == 0 || a > DIGITS || a == s.n)
        return false;
    if (s.p[a] == '+')
        return a + 1 == s.n;
    while (s.p[a] == '-' && a + 1 + b < s.n && s.p[a + 1 + b] >= '0' && s.p[a + 1 + b] <= '9')
        b++;
    return b > 0 && b <= DIGITS && a + 1 + b == s.n;
}

tab_top_kind tab_top_kind_of(tab_str s)
{
    s = seen(s);
    if (s.n == 0)
        return TAB_TOP_EMPTY;
    return is_class(s)        ? TAB_TOP_TEXT
           : tab_csv_value(s) ? TAB_TOP_VALUE
           : is_mark(s)       ? TAB_TOP_MARK
                              : TAB_TOP_TEXT;
}

static bool is_sentence(tab_str s)
{
    enum { WORDS = 4 };
    size_t n = 0;
    for (size_t i = 0; i < s.n && n < WORDS; i++)
        n += s.p[i] != ' ' && (i == 0 || s.p[i - 1] == ' ');
    return n == WORDS;
}

void tab_top_cell(tab_top_record *r, size_t k, tab_str s)
{
    s = seen(s);
    if (r->width <= k)
        r->width = k + 1;
    r->after_gap |= s.n > 0 && r->filled != k;
    r->filled += s.n > 0;
    r->sentence |= is_sentence(s);
    if (k < TAB_TOP_COLS) {
        r->kind[k] = (uint8_t)tab_top_kind_of(s);
        r->text[k] = tab_fnv1a(TAB_FNV1A, s.p, s.n);
        r->number[k] = whole(s);
    }
}

static size_t median_filled(const tab_top_record *r, size_t n)
{
    size_t count[TAB_TOP_COLS + 1] = { 0 }, all = 0, seen = 0, m = 0;
    for (size_t i = 0; i < n; i++)
        if (r[i].filled > 0) {
            count[r[i].filled < TAB_TOP_COLS ? r[i].filled : TAB_TOP_COLS]++;
            all++;
        }
    for (size_t k = 1; k <= TAB_TOP_COLS && 2 * seen <= all && all > 0; k++)
        if (count[k] > 0) {
            seen += count[k];
            m = k;
        }
    return m;
}

/* Are the whole numbers of a header years, or counted up by one, and the record's below it not? */
static bool counts_up(const tab_top_record *h, const tab_top_record *body)
{
    bool years = true, steps = true, body_years = true, body_steps = true;
    double before = -1, body_before = -1;
    size_t n = 0;
    for (size_t k = 0; k < h->width && k < TAB_TOP_COLS; k++) {
        if (h->kind[k] != TAB_TOP_VALUE)
            continue;
        double x = h->number[k], y = body->number[k];
        years &= x >= 1800 && x <= 2100;
        body_years &= y >= 1800 && y <= 2100;
        steps &= x >= 0 && (n == 0 || x == before + 1);
        body_steps &= y >= 0 && (n == 0 || y == body_before + 1);
        before = x;
        body_before = y;
        n++;
    }
    return (years && !body_years) || (n > 1 && steps && !body_steps);
}

/* Do texts of the first record stand in their columns twice again, in two columns and half of all? A record
 * that equals the first is the header again. */
static bool texts_return(const tab_top_record *r, size_t n)
{
    size_t cols = r[0].width < TAB_TOP_COLS ? r[0].width : TAB_TOP_COLS, again = 0;
    for (size_t k = 0; k < cols; k++) {
        size_t found = 0;
        for (size_t i = 1; i < n && r[0].kind[k] == TAB_TOP_TEXT; i++)
            found +=
                r[i].text[k] == r[0].text[k] && memcmp(r[i].text, r[0].text, cols * sizeof *r->text) != 0;
        again += found > 1;
    }
    return again >= 2 && 2 * again >= r[0].filled;
}

/* The first record is data where the columns below hold values, and so does it: no name is a value there. */
static bool is_header(const tab_top_record *r, size_t n)
{
    size_t names = 0, values = 0;
    for (size_t k = 0; k < r[0].width && k < TAB_TOP_COLS; k++) {
        size_t filled = 0, value = 0;
        for (size_t i = 1; i < n; i++) {
            filled += r[i].kind[k] != TAB_TOP_EMPTY;
            value += r[i].kind[k] == TAB_TOP_VALUE;
        }
        if (filled == 0 || value * 10 < filled * 9 || r[0].kind[k] == TAB_TOP_EMPTY)
            continue; /* a tenth may be marks of what is missing */
        names += r[0].kind[k] >= TAB_TOP_TEXT;
        values += r[0].kind[k] == TAB_TOP_VALUE;
    }
    return names > 0 || (values == 0 ? !texts_return(r, n) : counts_up(&r[0], &r[1]));
}

/* Is the last of h records a row of names, above columns of values in the n records behind it? Each of these
 * columns has a name in one of them, none a value in the last. The number of columns that the last names; 0:
 * it is no such row. */
static size_t names_values(const tab_top_record *r, size_t h, size_t n)
{
    size_t over = 0;
    for (size_t k = 0; k < TAB_TOP_COLS; k++) {
        size_t filled = 0, value = 0, above = 0;
        for (size_t i = h; i < h + n; i++) {
            filled += k < r[i].width && r[i].kind[k] != TAB_TOP_EMPTY;
            value += k < r[i].width && r[i].kind[k] == TAB_TOP_VALUE;
        }
        if (filled == 0 || value * 10 < filled * 9)
            continue;
        tab_top_kind own = k < r[h - 1].width ? (tab_top_kind)r[h - 1].kind[k] : TAB_TOP_EMPTY;
        for (size_t i = 0; i + 1 < h; i++)
            above += k < r[i].width && r[i].kind[k] == TAB_TOP_TEXT;
        if (own != TAB_TOP_TEXT && (own != TAB_TOP_EMPTY || above == 0))
            return 0;
        over += own == TAB_TOP_TEXT;
    }
    return over;
}

/* A row above the last of a header holds texts, and no values besides years. */
static bool is_upper(const tab_top_record *r)
{
    for (size_t k = 0; k < r->width && k < TAB_TOP_COLS; k++)
        if (r->kind[k] == TAB_TOP_VALUE && !(r->number[k] >= 1800 && r->number[k] <= 2100))
            return false;
    return r->filled > 0;
}

/* Is the second record a name of the first column alone, below years? Statistics offices name what stands in
 * the rows and what in the columns so. */
static bool is_corner(const tab_top_record *r, size_t n)
{
    size_t years = 0;
    if (n < 4 || r[1].filled != 1 || r[1].kind[0] != TAB_TOP_TEXT || r[1].below_gap)
        return false;
    for (size_t k = 1; k < r->width && k < TAB_TOP_COLS; k++)
        years += r->number[k] >= 1800 && r->number[k] <= 2100;
    for (size_t i = 2; i < 4; i++)
        if (2 * r[i].filled <= r->filled)
            return false;
    return years > 1 && years + 1 >= r->filled;
}

/* Of n records of which the first is known to be of the header. */
static size_t head_rows(const tab_top_record *r, size_t n)
{
    enum { ROWS_LEAST = 3, NAMED_LEAST = 2 };
    for (size_t h = TAB_TOP_HEADS; h > 1; h--) {
        bool upper = n >= h + ROWS_LEAST;
        for (size_t i = 0; i + 1 < h && upper; i++)
            upper = is_upper(&r[i]) && !r[i + 1].below_gap;
        if (upper && names_values(r, h, n - h) >= NAMED_LEAST)
            return h;
    }
    return is_corner(r, n) ? 2 : 1;
}

/* The end of what stands together from record i on; one line alone with what follows it. */
static size_t block_end(const tab_top_record *r, size_t i, size_t n)
{
    size_t end = i + 1;
    while (end < n && ((r[end].filled > 0 && !r[end].below_gap) || end == i + 1))
        end++;
    return end;
}

/* Among the first n records of all, which look like titles: the one at which a table of its own begins, which
 * a gap ends; n: there is none. */
static size_t table_above(const tab_top_record *r, size_t n, size_t all)
{
    enum { RECORDS_LEAST = 4 };
    for (size_t i = 0; i < n; i++) {
        size_t end = i;
        while (end < n && r[end].filled > 1 && (end == i || !r[end].below_gap))
            end++;
        size_t least = r[i].filled > 2 ? RECORDS_LEAST : RECORDS_LEAST + 1;
        bool gap = end < all && (r[end].below_gap || r[end].filled == 0);
        if (end - i >= least && gap && names_values(r + i, 1, end - i - 1) > 0)
            return i;
        i = end > i ? end - 1 : i;
    }
    return n;
}

/* A title fills the first of many fields, or is alone on its line; or a gap sets it off, or names of three
 * columns stand right below. m: the usual number of filled fields. */
static bool is_title(const tab_top_record *r, size_t n, size_t m)
{
    bool gap = n > 2 && (r[1].filled == 0 || r[1].below_gap);
    if ((!r[0].after_gap || gap) && 2 * r[0].filled <= m && (m > 2 || r[0].width < m || gap))
        return true;
    if (r[0].filled != 1 || r[0].kind[0] != TAB_TOP_TEXT || n < 3 || r[0].width < r[1].width ||
        r[1].filled < 3)
        return false;
    for (size_t k = 0; k < r[1].width && k < TAB_TOP_COLS; k++)
        if (r[1].kind[k] == TAB_TOP_VALUE || r[1].kind[k] == TAB_TOP_MARK)
            return false;
    return true;
}

/* The end of the first records where they are pairs of a name and what belongs to it, texts and values mixed,
 * up to a gap; 0: they are none. m: as above. */
static size_t pairs_above(const tab_top_record *r, size_t n, size_t m)
{
    size_t end = 0, texts = 0, values = 0;
    for (; end < n && r[end].filled > 0 && (end == 0 || !r[end].below_gap); end++) {
        if (r[end].filled > 2 || r[end].kind[0] != TAB_TOP_TEXT)
            return 0;
        texts += r[end].kind[1] == TAB_TOP_TEXT && end > 0;
        values += r[end].kind[1] == TAB_TOP_VALUE;
    }
    return m > 2 && end < n && texts > 0 && values > 0 ? end : 0;
}

/* Is the first record a program's own (DATEV's "EXTF";700;21;...), which holds values above names? The second
 * names every column of values, each by another text, and holds none. */
static bool is_preamble(const tab_top_record *r, size_t n)
{
    enum { VALUES_LEAST = 3, RECORDS_LEAST = 5 };
    size_t values = 0;
    if (n < RECORDS_LEAST || names_values(r + 1, 1, n - 2) < 2 || r[1].filled < r[0].filled)
        return false;
    for (size_t k = 0; k < r[0].width && k < TAB_TOP_COLS; k++)
        values += r[0].kind[k] == TAB_TOP_VALUE && !(r[0].number[k] >= 1800 && r[0].number[k] <= 2100);
    for (size_t k = 0; k < r[1].width && k < TAB_TOP_COLS; k++) {
        if (r[1].kind[k] != TAB_TOP_TEXT)
            return false;
        for (size_t i = 0; i < k; i++)
            if (r[1].text[i] == r[1].text[k])
                return false;
    }
    return values >= VALUES_LEAST;
}

/* Records that stand above the table; n: all do. */
static size_t titles(const tab_top_record *r, size_t n)
{
    size_t m = median_filled(r, n), skip = 0;
    while (skip < n && (r[skip].filled == 0 || is_title(r + skip, n - skip, m)))
        skip++;
    skip = table_above(r, skip, n);
    skip += pairs_above(r + skip, n - skip, m);
    skip += n > skip && is_preamble(r + skip, n - skip);
    while (skip < n && r[skip].filled == 0)
        skip++;
    return skip;
}

tab_top tab_top_find(const tab_top_record *r, size_t n, int skip_known, int heads_known)
{
    size_t skip = skip_known >= 0 ? (size_t)skip_known : titles(r, n);
    if (heads_known >= 0)
        return (tab_top){ skip < n ? skip : 0, (size_t)heads_known };
    if (skip >= n)
        return (tab_top){ 0, 1 };
    size_t end = block_end(r, skip, n);
    if (end - skip < 3)
        end = n;
    size_t heads = is_header(r + skip, end - skip) ? head_rows(r + skip, end - skip) : 0;
    for (; skip_known < 0 && heads > 1 && r[skip].filled == 1 &&
           (r[skip].kind[0] == TAB_TOP_TEXT || r[skip].sentence);
         heads--)
        skip++; /* a title right above the names */
    return (tab_top){ skip, heads };
}
