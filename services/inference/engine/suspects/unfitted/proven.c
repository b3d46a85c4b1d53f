/* Cells that prove by themselves that they are wrong:
 *
 *   a check digit   nearly all cells of the column have one that is right (articles, accounts, cards); this
 *                   one is of the form of those, and its is not
 *   a date          nearly all are three numbers with one sign between; this one has another sign
 *   misread text    UTF-8 that was read as Windows-1252: "MÃ¼ller". Read back as bytes it is UTF-8 again,
 *                   which texts of no language are
 *
 * Nothing is fitted: odds are ODDS, for a column may hold numbers that are given out without a check digit.
 * Decision 0882. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/profile/cells/checksum.h"
#include "services/inference/engine/suspects/parts.h"

enum { LONGEST = 512, DIGITS = 15 };
static const double ODDS = 20, NEARLY_ALL = 0.95;

/* ---- check digits ---------------------------------------------------------------------------- */

static const tab_check CHECKS[] = { TAB_CHECK_CARD, TAB_CHECK_IMEI, TAB_CHECK_IBAN,
                                    TAB_CHECK_ISBN, TAB_CHECK_GTIN, TAB_CHECK_VIN,
                                    TAB_CHECK_LEI,  TAB_CHECK_ISIN, TAB_CHECK_NPI };
enum { KINDS = sizeof CHECKS / sizeof *CHECKS };

/* The cell's text; of numbers that are whole their digits, in buf. n = 0: there is none. */
static tab_str text_of(const tab_seen *v, size_t row, char buf[DIGITS + 2])
{
    if (v->code != NULL)
        return v->code[row] == TAB_NULL ? TAB_S("") : v->text[v->code[row]];
    double x = v->col->column->layout == TAB_NUMBERS ? v->col->column->num[row] : (double)NAN;
    if (!(x >= 1e7 && x < 1e15) || x != floor(x))
        return TAB_S("");
    return (tab_str){ buf, (size_t)snprintf(buf, DIGITS + 2, "%.0f", x) };
}

/* The check that nearly all cells pass, none below; *ret_passed: how many. KINDS: there is none. */
static size_t check_of(const tab_search *s, const tab_seen *v, size_t *ret_passed)
{
    size_t passed[KINDS] = { 0 }, seen = 0, best = 0;
    for (size_t i = 0; i < s->rows; i++) {
        char buf[DIGITS + 2];
        tab_str t = text_of(v, i, buf);
        uint64_t of = t.n == 0 || t.n > LONGEST ? 0 : tab_checks_of(t);
        seen += t.n > 0;
        for (size_t k = 0; of != 0 && k < KINDS; k++)
            passed[k] += of >> CHECKS[k] & 1;
        if (seen == 4 * TAB_SUSPECT_ROWS) { /* most columns end here */
            size_t most = 0;
            for (size_t k = 0; k < KINDS; k++)
                most = passed[k] > most ? passed[k] : most;
            if (most < 3 * TAB_SUSPECT_ROWS)
                return KINDS;
        }
    }
    for (size_t k = 1; k < KINDS; k++)
        best = passed[k] > passed[best] ? k : best;
    *ret_passed = passed[best];
    bool nearly = passed[best] >= TAB_SUSPECT_ROWS && passed[best] < v->present &&
                  (double)passed[best] >= NEARLY_ALL * (double)v->present;
    return nearly ? best : KINDS;
}

static void put(tab_search *s, size_t row, size_t column, int feature, size_t agree, tab_str meant)
{
    tab_suspect *c = tab_suspects_add(s, row, column, TAB_SUSPECT_CODE);
    if (c == NULL)
        return;
    c->f[0] = (float)log(ODDS);
    c->f[feature] = 1;
    c->suggestion = meant;
    c->agree = (uint32_t)agree;
    c->of = (uint32_t)s->seen[column].present;
}

static int by_form(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Cells that fail the check of the column and have the form of one that passes. */
static void check_digits(tab_search *s, size_t column)
{
    const tab_seen *v = &s->seen[column];
    size_t passed = 0, kind = check_of(s, v, &passed), n = 0;
    if (kind == KINDS)
        return;
    uint64_t *form = tab_arena_new_of(s->scratch, uint64_t, passed + 1);
    if (form == NULL) {
        s->failed = true;
        return;
    }
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < s->rows && !s->failed; i++) {
            char buf[DIGITS + 2];
            tab_str t = text_of(v, i, buf);
            bool right = t.n > 0 && t.n <= LONGEST && (tab_checks_of(t) >> CHECKS[kind] & 1) != 0;
            uint64_t own = tab_suspects_form(t, true);
            if (again == 0 && right)
                form[n++] = own;
            else if (again == 1 && t.n > 0 && !right && bsearch(&own, form, n, sizeof own, by_form) != NULL)
                put(s, i, column, TAB_CODE_FAILS_CHECK, passed, TAB_S(""));
        }
        qsort(form, n, sizeof *form, by_form);
    }
}

/* ---- dates ----------------------------------------------------------------------------------- */

/* The sign that stands twice between three numbers of one to four digits; 0: it is no such date. */
static char sign_of(tab_str t)
{
    size_t digits = 0, signs = 0;
    char sign = 0;
    for (size_t i = 0; i < t.n; i++) {
        bool digit = t.p[i] >= '0' && t.p[i] <= '9';
        if (digit ? ++digits > 4 : digits == 0 || (sign != 0 && t.p[i] != sign) || ++signs > 2)
            return 0;
        if (!digit)
            sign = t.p[i], digits = 0;
    }
    return signs == 2 && digits > 0 && memchr("./- ", sign, 4) != NULL ? sign : 0;
}

static void dates(tab_search *s, size_t column)
{
    const tab_seen *v = &s->seen[column];
    size_t of[128] = { 0 }, best = 0;
    for (size_t l = 0; l < v->levels; l++)
        of[(unsigned char)sign_of(v->text[l])] += v->count[l];
    of[0] = 0; /* no such dates */
    for (size_t k = 1; k < 128; k++)
        best = of[k] > of[best] ? k : best;
    if (of[best] < TAB_SUSPECT_ROWS || (double)of[best] < NEARLY_ALL * (double)v->present)
        return;
    for (size_t i = 0; i < s->rows && !s->failed; i++) {
        char sign = v->code[i] == TAB_NULL ? 0 : sign_of(v->text[v->code[i]]);
        if (sign != 0 && (size_t)sign != best)
            put(s, i, column, TAB_CODE_OTHER_SIGN, of[best], TAB_S(""));
    }
}

/* ---- texts that were misread ----------------------------------------------------------------- */

/* The letters that Windows-1252 has for the bytes 0x80 to 0x9f; 0: none. */
static const uint16_t HIGH[32] = { 0x20ac, 0,      0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
                                   0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017d, 0,
                                   0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                   0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,      0x017e, 0x0178 };

/* The letter at t[*i], behind which *i is moved; 0: there is none. */
static uint32_t letter(tab_str t, size_t *i)
{
    uint8_t c = (uint8_t)t.p[*i];
    size_t n = c < 0x80                ? 1
               : c >= 0xc2 && c < 0xe0 ? 2
               : c >= 0xe0 && c < 0xf0 ? 3
               : c >= 0xf0 && c < 0xf5 ? 4
                                       : 0;
    if (n == 0 || *i + n > t.n)
        return 0;
    uint32_t x = n == 1 ? c : c & (0x7fu >> n);
    for (size_t k = 1; k < n; k++) {
        if (((uint8_t)t.p[*i + k] & 0xc0) != 0x80)
            return 0;
        x = x << 6 | ((uint8_t)t.p[*i + k] & 0x3f);
    }
    *i += n;
    return x;
}

/* The byte that a letter was; 0: none. */
static uint8_t byte_of(uint32_t x)
{
    if (x < 0x100)
        return (uint8_t)x;
    for (size_t k = 0; k < 32; k++)
        if (HIGH[k] == x)
            return (uint8_t)(0x80 + k);
    return 0;
}

/* t as it was before it was misread, in buf (LONGEST); n = 0: it was not. */
static tab_str read_back(tab_str t, char *buf)
{
    size_t n = 0, high = 0, plain = 0;
    tab_str none = { buf, 0 };
    while (plain < t.n && (uint8_t)t.p[plain] < 0x80)
        plain++;
    if (plain == t.n)
        return none;
    for (size_t i = 0; t.n <= LONGEST && i < t.n;) {
        uint8_t b = byte_of(letter(t, &i));
        if (b == 0)
            return none;
        high += b >= 0x80;
        buf[n++] = (char)b;
    }
    if (high < 2)
        return none;
    tab_str was = { buf, n };
    for (size_t i = 0; i < n;) {
        size_t from = i;
        uint32_t x = letter(was, &i);
        if (x == 0 || (i > from + 1 && x < 0xa0)) /* no UTF-8, or control characters */
            return none;
    }
    return was;
}

static void misread(tab_search *s, size_t column)
{
    const tab_seen *v = &s->seen[column];
    char buf[LONGEST];
    tab_str *meant = NULL;
    size_t cells = 0;
    for (size_t l = 0; l < v->levels && !s->failed; l++) {
        tab_str was = read_back(v->text[l], buf);
        if (was.n == 0)
            continue;
        if (meant == NULL)
            meant = tab_arena_new_of(s->scratch, tab_str, v->levels + 1);
        bool lost = memmem(was.p, was.n, "\xef\xbf\xbd", 3) != NULL; /* U+FFFD: letters were lost before */
        was = lost ? v->text[l] : was;
        if (meant == NULL || (meant[l] = tab_arena_copy(s->arena, was)).p == NULL)
            s->failed = true;
        cells += v->count[l];
    }
    for (size_t i = 0; meant != NULL && i < s->rows && !s->failed; i++)
        if (v->code[i] != TAB_NULL && meant[v->code[i]].n > 0)
            put(s, i, column, TAB_CODE_MISREAD, v->present - cells,
                tab_str_eq(meant[v->code[i]], v->text[v->code[i]]) ? TAB_S("") : meant[v->code[i]]);
}

void tab_suspects_proven(tab_search *s)
{
    for (size_t c = 0; c < s->p->table->cols && !s->failed && !tab_engine_cancelled(s->e); c++) {
        const tab_seen *v = &s->seen[c];
        if (v->col == NULL || v->present < TAB_SUSPECT_ROWS)
            continue;
        check_digits(s, c);
        if (v->code != NULL && v->col->type == TAB_DATETIME && !s->failed)
            dates(s, c);
        if (v->code != NULL && !s->failed)
            misread(s, c);
    }
}
