/* See date_tokens.h. */
#include "services/inference/engine/profile/cells/date_tokens.h"

#include <math.h>

#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/profile/cells/ascii.h"

/* ---- tokens ---------------------------------------------------------------------------------- */

/* Chinese, Japanese and Korean write a character behind the year, the month and the day, the hour and the
 * minute. They count as the mark that would stand there. */
static size_t ideograph(tab_str s, char *kind)
{
    static const struct {
        const char *bytes;
        char kind;
    } marks[] = { { "\xe5\xb9\xb4", '-' }, { "\xe6\x9c\x88", '-' }, { "\xe6\x97\xa5", ' ' },
                  { "\xeb\x85\x84", '-' }, { "\xec\x9b\x94", '-' }, { "\xec\x9d\xbc", ' ' },
                  { "\xe6\x99\x82", ':' }, { "\xe6\x97\xb6", ':' }, { "\xec\x8b\x9c", ':' },
                  { "\xe5\x88\x86", ':' }, { "\xeb\xb6\x84", ':' }, { "\xe7\xa7\x92", ' ' },
                  { "\xec\xb4\x88", ' ' } };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (s.n >= 3 && memcmp(s.p, marks[i].bytes, 3) == 0) {
            *kind = marks[i].kind;
            return 3;
        }
    return 0;
}

int date_tokens(tab_str s, date_token *t)
{
    int n = 0;
    while (s.n > 0) {
        if (n == TAB_DATE_TOKENS)
            return -1;
        date_token k = { .text = s, .n = 1 };
        unsigned char c = (unsigned char)*s.p;
        size_t mark;
        if (digit(*s.p)) {
            k.kind = 'n';
            while (k.n < s.n && digit(s.p[k.n]))
                k.n++;
            if (k.n > 14) /* a second is 20190531143000; a longer number is no date, and would overflow */
                return -1;
            for (size_t i = 0; i < k.n; i++)
                k.value = k.value * 10 + (s.p[i] - '0');
            k.digits = (int)k.n;
        } else if ((mark = ideograph(s, &k.kind)) > 0) {
            k.n = mark;
        } else if ((c | 32) >= 'a' && (c | 32) <= 'z') {
            /* a Latin word may hold other letters, but no typographic mark (0xe2 begins those) */
            k.kind = 'w';
            while (k.n < s.n && (((s.p[k.n] | 32) >= 'a' && (s.p[k.n] | 32) <= 'z') ||
                                 ((unsigned char)s.p[k.n] >= 0x80 && (unsigned char)s.p[k.n] != 0xe2)))
                k.n++;
        } else if (c >= 0x80) {
            if (s.n >= 2 && c == 0xc2 && (unsigned char)s.p[1] == 0xa0) {
                k.kind = ' ';
                k.n = 2;
            } else if (s.n >= 3 && c == 0xe2 &&
                       (unsigned char)s.p[1] == 0x80) { /* dashes, quotes, thin blanks */
                k.kind = (unsigned char)s.p[2] <= 0x8f || (unsigned char)s.p[2] == 0xaf ? ' ' : '-';
                k.n = 3;
            } else {
                /* any other script: up to an ideograph, a digit or a Latin mark */
                k.kind = 'w';
                while (k.n < s.n && ((unsigned char)s.p[k.n] >= 0x80 || (s.p[k.n] | 32) >= 'a') &&
                       ideograph((tab_str){ s.p + k.n, s.n - k.n }, &(char){ 0 }) == 0 &&
                       !((s.p[k.n] >= '0' && s.p[k.n] <= '9')))
                    k.n++;
            }
        } else {
            k.kind = *s.p;
        }
        s.p += k.n;
        s.n -= k.n;
        /* "2020. 5. 3": blanks beside a mark say nothing */
        if (k.kind == ' ' && n > 0 && memchr("-/.,:", t[n - 1].kind, 5) != NULL)
            continue;
        if (k.kind == ' ' && (s.n == 0 || n == 0))
            continue;
        t[n++] = k;
    }
    return n;
}

tab_str date_word(const date_token *t)
{
    return (tab_str){ t->text.p, t->n };
}

bool date_is_word(const date_token *t, const char *const *words, size_t n)
{
    char buf[40];
    if (t->kind != 'w' || t->n > 16)
        return false;
    tab_str f = tab_fold(date_word(t), buf, sizeof buf);
    for (size_t i = 0; i < n; i++)
        if (tab_str_is(f, words[i]))
            return true;
    return false;
}

/* ---- clock and zone -------------------------------------------------------------------------- */

/* The zone at token i: an offset (+02:00, -0530, +02, and +2 behind UTC) is taken off *seconds; a name
 * of two to five capitals (EST, CEST) has no fixed offset and is local time. Returns the token behind
 * it, i where there is none, -1 where it is no zone. */
static int zone(const date_token *t, int i, int n, bool utc, double *seconds)
{
    /* plus or minus: hours, or hours and minutes with or without a colon */
    if (i + 1 < n && (t[i].kind == '+' || t[i].kind == '-') && t[i + 1].kind == 'n') {
        double offset;
        int sign = t[i].kind == '+' ? 1 : -1;
        if (t[i + 1].digits == 4) {
            offset = (double)(t[i + 1].value / 100 * 3600 + t[i + 1].value % 100 * 60);
            i += 2;
        } else if (t[i + 1].digits == 2 || (utc && t[i + 1].digits == 1)) {
            offset = (double)t[i + 1].value * 3600;
            i += 2;
            if (i + 1 < n && t[i].kind == ':' && t[i + 1].kind == 'n' && t[i + 1].digits == 2) {
                offset += (double)t[i + 1].value * 60;
                i += 2;
            }
        } else {
            return -1;
        }
        *seconds -= sign * offset;
    } else if (i < n && t[i].kind == 'w' && t[i].n >= 2 && t[i].n <= 5) {
        for (size_t k = 0; k < t[i].n; k++) /* capitals only: other words are no zone */
            if (t[i].text.p[k] < 'A' || t[i].text.p[k] > 'Z')
                return -1;
        i++;
    }
    return i;
}

/* UTC, an offset, both, or a name. Returns as zone does. */
static int zone_or_utc(const date_token *t, int i, int n, double *seconds)
{
    bool utc = i < n && IS_WORD(&t[i], "z", "utc", "gmt");
    return zone(t, i + utc, n, utc, seconds);
}

bool date_zone(const date_token *t, int i, int n, double *seconds)
{
    return zone_or_utc(t, i, n, seconds) == n;
}

/* AM or PM at token i, "a. m." too: the hour's part of the day as seconds that are to be added. Returns the
 * token behind it, i where there is none, -1 where the hour cannot have one. */
static int half_of_day(const date_token *t, int i, int n, int64_t hour, double *ret_more)
{
    *ret_more = 0;
    if (i >= n || !IS_WORD(&t[i], "am", "pm", "a", "p"))
        return i;
    bool pm = (*t[i].text.p | 32) == 'p', single = t[i].n == 1;
    if (hour < 1 || hour > 12)
        return -1;
    /* 12 AM is midnight, 12 PM noon */
    *ret_more = pm && hour < 12 ? 43200 : !pm && hour == 12 ? -43200 : 0;
    i++;
    if (single && i + 1 < n && t[i].kind == '.' && IS_WORD(&t[i + 1], "m"))
        i += 2;
    if (i < n && t[i].kind == '.')
        i++;
    return i < n && t[i].kind == ' ' ? i + 1 : i;
}

/* Whether tokens i to i + 2 begin a clock: hours, a mark or an h, and two digits of minutes. */
static bool clock_begins(const date_token *t, int i, int n)
{
    return i + 2 < n && t[i].kind == 'n' && t[i].digits <= 2 &&
           (t[i + 1].kind == ':' || t[i + 1].kind == '.' || IS_WORD(&t[i + 1], "h")) &&
           t[i + 2].kind == 'n' && t[i + 2].digits == 2;
}

bool date_clock(const date_token *t, int i, int n, double *seconds)
{
    /* what leads over from the date: "2019-05-31T10:20", "31 May 2019, 10:20", "at 10:20" */
    if (i < n &&
        (t[i].kind == ' ' || t[i].kind == ',' || t[i].kind == ':' || t[i].kind == '-' || IS_WORD(&t[i], "t")))
        i++;
    if (i < n && IS_WORD(&t[i], "at", "um", "a", "klo", "kl"))
        i++;
    if (i < n && t[i].kind == ' ')
        i++;
    if (!clock_begins(t, i, n))
        return false;
    double x = (double)t[i].value * 3600 + (double)t[i + 2].value * 60;
    int64_t hour = t[i].value;
    if (hour > 24 || t[i + 2].value > 59)
        return false;
    i += 3;
    if (i < n && t[i].kind == ':' && i + 1 == n)
        i++; /* a character behind the minutes */
    /* seconds and their fraction may follow; 60 is a leap second */
    if (i + 1 < n && (t[i].kind == ':' || t[i].kind == '.') && t[i + 1].kind == 'n' && t[i + 1].digits == 2) {
        if (t[i + 1].value > 60)
            return false;
        x += (double)t[i + 1].value;
        i += 2;
        if (i + 1 < n && (t[i].kind == '.' || t[i].kind == ',') && t[i + 1].kind == 'n') {
            x += (double)t[i + 1].value / pow(10, t[i + 1].digits);
            i += 2;
        }
    }
    if (i < n && t[i].kind == ' ')
        i++;
    double more = 0;
    if ((i = half_of_day(t, i, n, hour, &more)) < 0)
        return false;
    x += more;
    if (i < n && IS_WORD(&t[i], "uhr", "h", "hrs"))
        i++;
    /* nothing may be left behind the zone */
    if (!date_zone(t, i, n, &x))
        return false;
    *seconds = x;
    return true;
}

static bool of_name(char c)
{
    return ((c | 32) >= 'a' && (c | 32) <= 'z') || (unsigned char)c >= 0x80;
}

/* What is before a last word with a slash, "Europe/Berlin"; s.n where there is none. */
static size_t before_place(tab_str s)
{
    size_t i = s.n, slashes = 0;
    for (; i > 0 && (of_name(s.p[i - 1]) || s.p[i - 1] == '/' || s.p[i - 1] == '_'); i--)
        slashes += s.p[i - 1] == '/';
    return slashes > 0 && i > 0 && s.p[i - 1] == ' ' && of_name(s.p[i]) ? i : s.n;
}

/* What is before a last remark in brackets that holds no digit, where it holds a clock; s.n where there is
 * none. */
static size_t before_remark(tab_str s)
{
    char open = s.p[s.n - 1] == ')' ? '(' : '[';
    for (size_t i = s.n - 1; i > 0 && !digit(s.p[i - 1]); i--)
        if (s.p[i - 1] == open)
            return memchr(s.p, ':', i) != NULL ? i - 1 : s.n;
    return s.n;
}

tab_str date_without_zone_name(tab_str s)
{
    if (s.n > 2 && s.p[0] == '[' && s.p[s.n - 1] == ']')
        s.p++, s.n -= 2;
    if (s.n > 0)
        s.n = s.p[s.n - 1] == ')' || s.p[s.n - 1] == ']' ? before_remark(s) : before_place(s);
    while (s.n > 0 && s.p[s.n - 1] == ' ')
        s.n--;
    return s;
}
