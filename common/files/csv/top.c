/* See top.h. */
#include "common/files/csv/top.h"

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

void tab_top_cell(tab_top_record *r, size_t k, tab_str s)
{
    s = seen(s);
    if (r->width <= k)
        r->width = k + 1;
    r->after_gap |= s.n > 0 && r->filled != k;
    r->filled += s.n > 0;
    if (k < TAB_TOP_COLS) {
        r->kind[k] = s.n == 0 ? 0 : tab_csv_value(s) ? 1 : 2;
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
        if (h->kind[k] != 1)
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

/* The first record is data where the columns below hold values, and so does it: no name is a value there. */
static bool is_header(const tab_top_record *r, size_t n)
{
    size_t names = 0, values = 0;
    for (size_t k = 0; k < r[0].width && k < TAB_TOP_COLS; k++) {
        size_t filled = 0, value = 0;
        for (size_t i = 1; i < n; i++) {
            filled += r[i].kind[k] != 0;
            value += r[i].kind[k] == 1;
        }
        if (filled == 0 || value * 10 < filled * 9 || r[0].kind[k] == 0)
            continue; /* a tenth may be marks of what is missing */
        names += r[0].kind[k] == 2;
        values += r[0].kind[k] == 1;
    }
    return names > 0 || values == 0 || counts_up(&r[0], &r[1]);
}

tab_top tab_top_find(const tab_top_record *r, size_t n)
{
    size_t m = median_filled(r, n), skip = 0;
    /* A title fills the first of many fields, or is alone on its line; or a blank line sets it off. */
    while (skip < n &&
           (r[skip].filled == 0 || ((!r[skip].after_gap || (skip + 2 < n && r[skip + 1].filled == 0)) &&
                                    2 * r[skip].filled <= m && (m > 2 || r[skip].width < m))))
        skip++;
    return skip < n ? (tab_top){ skip, is_header(r + skip, n - skip) } : (tab_top){ 0, true };
}
