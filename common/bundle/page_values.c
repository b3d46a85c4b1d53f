#include "common/bundle/page_values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

page_value page_of_json(const tab_json *j)
{
    if (j == NULL || j->kind == TAB_JSON_NULL)
        return (page_value){ .kind = PAGE_NULL };
    switch (j->kind) {
    case TAB_JSON_BOOL:
        return (page_value){ .kind = PAGE_BOOL, .num = j->yes };
    case TAB_JSON_NUMBER:
        return (page_value){ .kind = PAGE_NUMBER, .num = j->num };
    case TAB_JSON_STRING:
        return (page_value){ .kind = PAGE_TEXT, .text = j->text };
    case TAB_JSON_ARRAY:
        return (page_value){ .kind = PAGE_LIST, .json = j->first, .count = j->count };
    default:
        return (page_value){ .kind = PAGE_OBJECT, .json = j };
    }
}

bool page_is_number(page_value x)
{
    return x.kind == PAGE_NUMBER && isfinite(x.num);
}

page_value page_number(double x)
{
    return isfinite(x) ? (page_value){ .kind = PAGE_NUMBER, .num = x } : (page_value){ .kind = PAGE_NULL };
}

static page_value text_value(tab_str s)
{
    return (page_value){ .kind = PAGE_TEXT, .text = s };
}

page_value page_member(page_value of, page_value key)
{
    const tab_json *j = of.json;
    if (of.kind == PAGE_OBJECT && key.kind == PAGE_TEXT) {
        for (j = j->first; j != NULL; j = j->next)
            if (tab_str_eq(j->key, key.text))
                return page_of_json(j);
    } else if (of.kind == PAGE_LIST && page_is_number(key) && key.num >= 0 && key.num < (double)of.count &&
               !(floor(key.num) < key.num)) {
        for (size_t i = (size_t)key.num; i > 0; i--)
            j = j->next;
        return page_of_json(j);
    }
    return (page_value){ .kind = PAGE_NULL };
}

bool page_truth(page_value x)
{
    switch (x.kind) {
    case PAGE_NULL:
        return false;
    case PAGE_BOOL:
    case PAGE_NUMBER:
        return x.num > 0 || x.num < 0;
    case PAGE_TEXT:
        return x.text.n > 0;
    case PAGE_LIST:
        return x.count > 0;
    default:
        return true;
    }
}

bool page_equal(page_value a, page_value b)
{
    if (a.kind != b.kind)
        return false;
    if (a.kind == PAGE_TEXT)
        return tab_str_eq(a.text, b.text);
    return a.kind == PAGE_NULL ||
           ((a.kind == PAGE_NUMBER || a.kind == PAGE_BOOL) && !(a.num < b.num) && !(a.num > b.num));
}

/* ---- digits ---------------------------------------------------------------------------------- */

/* Numbers of up to 17 digits before the point and 12 behind it, with commas and signs. */
enum { DIGITS = 400 };

/* Rounded half up on |x| 10^places. */
static void fixed(double x, int places, char ret[DIGITS])
{
    double power = 1;
    for (int i = 0; i < places; i++)
        power *= 10;
    double y = floor(fabs(x) * power + 0.5);
    if (!isfinite(y)) {
        memcpy(ret, "–", sizeof "–");
        return;
    }
    char digits[DIGITS - 8];
    int n = snprintf(digits, sizeof digits, "%.0f", y); /* exact: y is whole */
    int zeros = n <= places ? places + 1 - n : 0, whole = n + zeros - places;
    size_t at = 0;
    if (x < 0 && y > 0)
        ret[at++] = '-';
    for (int i = 0; i < n + zeros; i++) {
        if (i == whole)
            ret[at++] = '.';
        ret[at++] = i < zeros ? '0' : digits[i - zeros];
    }
    ret[at] = '\0';
}

static void trim(char *s)
{
    size_t n = strlen(s);
    if (strchr(s, '.') == NULL)
        return;
    while (s[n - 1] == '0')
        n--;
    s[s[n - 1] == '.' ? n - 1 : n] = '\0';
}

/* Four significant digits. */
static void four(double x, char ret[DIGITS])
{
    double a = fabs(x), t = a;
    if (!(a > 0)) {
        memcpy(ret, "0", 2);
        return;
    }
    if (a >= 1e15 || a < 1e-6) {
        int e = 0;
        char digits[DIGITS];
        for (; a >= 10; e++)
            a /= 10;
        for (; a < 1; e--)
            a *= 10;
        fixed(a, 3, digits);
        trim(digits);
        snprintf(ret, DIGITS, "%s%.40se%d", x < 0 ? "-" : "", digits, e);
        return;
    }
    if (!(floor(a) < a)) {
        fixed(x, 0, ret);
        return;
    }
    int places = 3;
    for (; t >= 10 && places > 0; places--)
        t /= 10;
    for (; t < 1; places++)
        t *= 10;
    fixed(x, places, ret);
    trim(ret);
}

/* A comma before every three digits of the whole part. */
static tab_str grouped(tab_arena *a, const char *s)
{
    size_t n = strcspn(s, ".e"), at = 0, from = s[0] == '-';
    char *out = tab_arena_alloc(a, 2 * strlen(s) + 1, 1);
    for (size_t i = 0; out != NULL && s[i] != '\0'; i++) {
        if (i > from && i < n && (n - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = s[i];
    }
    return (tab_str){ out, out != NULL ? at : 0 };
}

tab_str page_text(tab_arena *a, page_value x)
{
    char digits[DIGITS];
    switch (x.kind) {
    case PAGE_BOOL:
        return x.num > 0 ? TAB_S("true") : TAB_S("false");
    case PAGE_TEXT:
        return x.text;
    case PAGE_NUMBER:
        if (!isfinite(x.num))
            return TAB_S("");
        four(x.num, digits);
        return tab_arena_copy(a, tab_str_of(digits));
    default:
        return TAB_S("");
    }
}

/* ---- functions ------------------------------------------------------------------------------- */

static page_value no_number(void)
{
    return text_value(TAB_S("–"));
}

static page_value count_of(tab_arena *a, const page_value *x, size_t n)
{
    char digits[DIGITS];
    if (n < 1 || !page_is_number(x[0]))
        return no_number();
    fixed(x[0].num, 0, digits);
    return text_value(grouped(a, digits));
}

static page_value number_of(tab_arena *a, const page_value *x, size_t n)
{
    char digits[DIGITS];
    if (n < 1 || !page_is_number(x[0]))
        return no_number();
    four(x[0].num, digits);
    return text_value(fabs(x[0].num) < 1e15 ? grouped(a, digits) : tab_arena_copy(a, tab_str_of(digits)));
}

/* The argument at i as a small whole number. */
static int small(const page_value *x, size_t n, size_t i, int otherwise)
{
    return i < n && page_is_number(x[i]) && x[i].num >= 0 && x[i].num < 1000 ? (int)x[i].num : otherwise;
}

static page_value percent_of(tab_arena *a, const page_value *x, size_t n)
{
    char digits[DIGITS];
    if (n < 1 || !page_is_number(x[0]))
        return no_number();
    int places = small(x, n, 1, 0);
    fixed(100 * x[0].num, places < 9 ? places : 9, digits);
    const char *text = tab_arena_printf(a, "%s%%", digits);
    return text_value(tab_str_of(text != NULL ? text : ""));
}

static page_value fix_of(tab_arena *a, const page_value *x, size_t n)
{
    char digits[DIGITS];
    if (n < 1 || !page_is_number(x[0]))
        return text_value(TAB_S("0"));
    int places = small(x, n, 1, 0);
    fixed(x[0].num, places < 9 ? places : 9, digits);
    return text_value(tab_arena_copy(a, tab_str_of(digits)));
}

static page_value text_of(tab_arena *a, const page_value *x, size_t n)
{
    return text_value(n < 1 ? TAB_S("") : page_text(a, x[0]));
}

/* A text; a number with up to six digits behind the point, as a year in decimals has them. */
static page_value plain_of(tab_arena *a, const page_value *x, size_t n)
{
    char digits[DIGITS];
    if (n < 1 || !page_is_number(x[0]))
        return text_of(a, x, n);
    fixed(x[0].num, 6, digits);
    trim(digits);
    return text_value(tab_arena_copy(a, tab_str_of(digits)));
}

/* The first letters of a text, and an ellipsis where it goes on. */
static page_value cut_of(tab_arena *a, const page_value *x, size_t n)
{
    tab_str s = n < 1 ? TAB_S("") : page_text(a, x[0]);
    size_t letters = 0, most = (size_t)small(x, n, 1, 40), keep = 0;
    for (size_t i = 0; i < s.n; i++)
        if (((unsigned char)s.p[i] & 0xc0) != 0x80) {
            if (letters + 1 == most)
                keep = i;
            letters++;
        }
    if (letters <= most)
        return text_value(s);
    const char *text = tab_arena_printf(a, "%.*s…", (int)keep, s.p);
    return text_value(tab_str_of(text != NULL ? text : ""));
}

static page_value words_of(tab_arena *a, const page_value *x, size_t n)
{
    tab_str s = n < 1 ? TAB_S("") : page_text(a, x[0]);
    char *out = tab_arena_alloc(a, s.n + 1, 1);
    for (size_t i = 0; out != NULL && i < s.n; i++)
        out[i] = s.p[i] == '_' ? ' ' : s.p[i];
    return text_value((tab_str){ out, out != NULL ? s.n : 0 });
}

/* Seconds since 1970 as a day (H. Hinnant, "chrono-compatible low-level date algorithms"). */
static page_value date_of(tab_arena *a, const page_value *x, size_t n)
{
    if (n < 1 || !page_is_number(x[0]) || fabs(x[0].num) > 1e11)
        return text_value(TAB_S(""));
    int64_t z = (int64_t)floor(x[0].num / 86400) + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097, yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    int64_t month = mp < 10 ? mp + 3 : mp - 9, year = yoe + era * 400 + (month <= 2);
    const char *text = tab_arena_printf(a, "%lld-%02d-%02d", (long long)year, (int)month,
                                        (int)(doy - (153 * mp + 2) / 5 + 1));
    return text_value(tab_str_of(text != NULL ? text : ""));
}

static page_value size_of(tab_arena *a, const page_value *x, size_t n)
{
    (void)a;
    return page_number(n > 0 && x[0].kind == PAGE_LIST ? (double)x[0].count : 0);
}

static page_value first_of(tab_arena *a, const page_value *x, size_t n)
{
    (void)a;
    page_value list = n > 0 && x[0].kind == PAGE_LIST ? x[0] : (page_value){ .kind = PAGE_LIST };
    size_t most = (size_t)small(x, n, 1, 0);
    list.count = list.count < most ? list.count : most;
    return list;
}

/* Of numbers. */
static page_value list_of(tab_arena *a, const page_value *x, size_t n)
{
    tab_json *j = tab_arena_new_of(a, tab_json, n + 1);
    for (size_t i = 0; j != NULL && i < n; i++) {
        j[i] = (tab_json){ .kind = TAB_JSON_NUMBER, .num = x[i].num };
        j[i].next = i + 1 < n ? &j[i + 1] : NULL;
    }
    return (page_value){ .kind = PAGE_LIST, .json = j, .count = j != NULL ? n : 0 };
}

static bool same(page_value x, page_value y)
{
    if (x.kind != PAGE_OBJECT || y.kind != PAGE_OBJECT)
        return page_equal(x, y);
    const tab_json *a = x.json->first, *b = y.json->first;
    while (a != NULL && b != NULL && tab_str_eq(a->key, b->key) &&
           page_equal(page_of_json(a), page_of_json(b)))
        a = a->next, b = b->next;
    return a == NULL && b == NULL;
}

/* A list in runs of neighbours that have the same member, a list each. */
static page_value groups_of(tab_arena *a, const page_value *x, size_t n)
{
    size_t items = n > 1 && x[0].kind == PAGE_LIST ? x[0].count : 0, groups = 0;
    tab_json *copy = tab_arena_new_of(a, tab_json, items + 1),
             *list = tab_arena_new_of(a, tab_json, items + 1);
    if (copy == NULL || list == NULL)
        return (page_value){ .kind = PAGE_LIST };
    page_value before = { .kind = PAGE_NULL };
    const tab_json *j = items > 0 ? x[0].json : NULL;
    for (size_t i = 0; i < items; i++, j = j->next) {
        page_value own = page_member(page_of_json(j), x[1]);
        copy[i] = *j;
        copy[i].next = NULL;
        if (i > 0 && same(own, before)) {
            copy[i - 1].next = &copy[i];
            list[groups - 1].count++;
        } else {
            list[groups] = (tab_json){ .kind = TAB_JSON_ARRAY, .first = &copy[i], .count = 1 };
            if (groups > 0)
                list[groups - 1].next = &list[groups];
            groups++;
        }
        before = own;
    }
    return (page_value){ .kind = PAGE_LIST, .json = list, .count = groups };
}

static page_value reversed_of(tab_arena *a, const page_value *x, size_t n)
{
    size_t items = n > 0 && x[0].kind == PAGE_LIST ? x[0].count : 0;
    tab_json *copy = tab_arena_new_of(a, tab_json, items + 1);
    if (copy == NULL)
        return (page_value){ .kind = PAGE_LIST };
    const tab_json *j = items > 0 ? x[0].json : NULL;
    for (size_t i = items; i > 0; i--, j = j->next) {
        copy[i - 1] = *j;
        copy[i - 1].next = i < items ? &copy[i] : NULL;
    }
    return (page_value){ .kind = PAGE_LIST, .json = copy, .count = items };
}

/* The greatest (sign 1) or least (-1) number of a list, or of a member of each of its items, by its path. */
static page_value extreme(const page_value *x, size_t n, double sign)
{
    page_value best = { .kind = PAGE_NULL };
    const tab_json *j = n > 0 && x[0].kind == PAGE_LIST ? x[0].json : NULL;
    for (size_t i = 0; j != NULL && i < x[0].count; i++, j = j->next) {
        page_value v = page_of_json(j);
        for (size_t k = 1; k < n; k++)
            v = page_member(v, x[k]);
        if (page_is_number(v) && (best.kind == PAGE_NULL || sign * v.num > sign * best.num))
            best = v;
    }
    return best;
}

static page_value most_of(tab_arena *a, const page_value *x, size_t n)
{
    (void)a;
    return extreme(x, n, 1);
}

static page_value least_of(tab_arena *a, const page_value *x, size_t n)
{
    (void)a;
    return extreme(x, n, -1);
}

static page_value max_of(tab_arena *a, const page_value *x, size_t n)
{
    (void)a;
    if (n < 2 || !page_is_number(x[0]) || !page_is_number(x[1]))
        return (page_value){ .kind = PAGE_NULL };
    return x[1].num > x[0].num ? x[1] : x[0];
}

static page_value min_of(tab_arena *a, const page_value *x, size_t n)
{
    (void)a;
    if (n < 2 || !page_is_number(x[0]) || !page_is_number(x[1]))
        return (page_value){ .kind = PAGE_NULL };
    return x[1].num < x[0].num ? x[1] : x[0];
}

bool page_call(tab_arena *a, tab_str name, const page_value *x, size_t n, page_value *ret)
{
    static const struct {
        const char *name;
        page_value (*of)(tab_arena *a, const page_value *x, size_t n);
    } functions[] = {
        { "count", count_of }, { "number", number_of }, { "percent", percent_of },
        { "fix", fix_of },     { "text", text_of },     { "cut", cut_of },
        { "words", words_of }, { "date", date_of },     { "size", size_of },
        { "first", first_of }, { "list", list_of },     { "most", most_of },
        { "least", least_of }, { "max", max_of },       { "min", min_of },
        { "plain", plain_of }, { "groups", groups_of }, { "reversed", reversed_of },
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (tab_str_eq(name, tab_str_of(functions[i].name))) {
            *ret = functions[i].of(a, x, n);
            return true;
        }
    return false;
}
