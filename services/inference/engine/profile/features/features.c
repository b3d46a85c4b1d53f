/* See features.h: turns a column's summary into the vector that the models of roles and sectors see.
 * profile.c calls tab_features_of once a column. tools/train does the same for the training tables, so that
 * both build their inputs alike. One pass over the sampled distinct values gathers counts; the vector is
 * written from them.
 *
 *   value ─> marks, numbers                     all of the sample
 *         ─> shapes, characters, dates, tests,
 *            words of the lexicon, n-grams      its first TAB_LOOKED_AT values */
#include "services/inference/engine/profile/features/features_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "services/inference/engine/profile/cells/ascii.h"
#include "services/inference/engine/profile/cells/mentions.h"
#include "services/inference/engine/profile/cells/pattern.h"
#include "services/inference/engine/profile/cells/plate.h"
#include "services/inference/engine/profile/cells/street.h"
#include "services/inference/engine/sector/affinity.h"

/* ---- gathering over the sampled distinct values ---------------------------------------------- */

/* A value's template: runs of letters, digits and others, "Aa0-". */
static uint64_t shape_of(tab_str s)
{
    char buf[48];
    size_t n = 0;
    char last = 0;
    for (size_t i = 0; i < s.n && n < sizeof buf; i++) {
        unsigned char c = (unsigned char)s.p[i];
        char k = c >= '0' && c <= '9'   ? '0'
                 : c >= 'A' && c <= 'Z' ? 'A'
                 : c >= 'a' && c <= 'z' ? 'a'
                 : c >= 0x80            ? 'a'
                                        : (char)c;
        if (k == 'a' && last == 'A' && n > 0 && buf[n - 1] == 'A')
            buf[n - 1] = 'T'; /* Title */
        else if (k != last || !(k == 'a' || k == 'A' || k == '0'))
            if (!(k == 'a' && n > 0 && buf[n - 1] == 'T'))
                buf[n++] = k;
        last = k;
    }
    return tab_wyhash(buf, n, 3);
}

/* The same with lengths kept and letters of one kind: for codes of fixed form. */
static uint64_t exact_shape_of(tab_str s)
{
    char buf[48];
    size_t n = s.n < sizeof buf ? s.n : sizeof buf;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        buf[i] = c >= '0' && c <= '9' ? '0' : (c | 32) >= 'a' && (c | 32) <= 'z' ? 'A' : (char)c;
    }
    return tab_wyhash(buf, n, 4);
}

/* Share of the commonest, share of the three commonest, number of different ones; n <= TAB_LOOKED_AT. */
static void common(const uint64_t *h, size_t n, double *first, double *three, double *kinds)
{
    enum { SLOTS = 512 }; /* thrice the hashes there can be */
    uint64_t seen[TAB_LOOKED_AT];
    uint16_t slot[SLOTS] = { 0 }, count[TAB_LOOKED_AT] = { 0 };
    /* counts of hashes by open addressing */
    double best[3] = { 0 };
    size_t different = 0;
    assert(n <= TAB_LOOKED_AT);
    *first = *three = *kinds = 0;
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++) {
        size_t at = h[i] % SLOTS;
        while (slot[at] != 0 && seen[slot[at] - 1] != h[i])
            at = (at + 1) % SLOTS;
        if (slot[at] == 0) {
            seen[different] = h[i];
            slot[at] = (uint16_t)++different;
        }
        count[slot[at] - 1]++;
    }
    *kinds = (double)different;
    /* the three greatest counts: each pushes the ones below it down */
    for (size_t i = 0; i < different; i++) {
        double c = count[i];
        for (int k = 0; k < 3; k++)
            if (c > best[k]) {
                double t = best[k];
                best[k] = c;
                c = t;
            }
    }
    *first = best[0] / (double)n;
    *three = (best[0] + best[1] + best[2]) / (double)n;
}

/* How a text of n characters begins, ends and is capitalised. title: no word begins with a small letter. */
static void note_form(tab_str s, double letters, double upper, double digits, double n, bool title, gather *g)
{
    unsigned char a = (unsigned char)s.p[0], z = (unsigned char)s.p[s.n - 1];
    g->starts_digit += a >= '0' && a <= '9';
    g->ends_digit += z >= '0' && z <= '9';
    g->starts_upper += a >= 'A' && a <= 'Z';
    g->all_upper += letters > 0 && upper == letters;
    g->all_lower += letters > 0 && upper == 0;
    g->title += letters > 0 && title && upper > 0 && upper < letters;
    g->mixed += letters > 0 && digits > 0;
    g->all_digits += digits == n;
    g->all_letters += letters == n;
    g->long_text += n > 60;
    g->lead_zero += s.n > 1 && a == '0' && digits == n;
    g->sep_semicolon += memchr(s.p, ';', s.n) != NULL;
    g->sep_pipe += memchr(s.p, '|', s.n) != NULL;
    g->bracket += a == '[' || a == '{' || a == '(';
    g->quote +=
        memchr(s.p, '"', s.n) != NULL || memchr(s.p, '!', s.n) != NULL || memchr(s.p, '?', s.n) != NULL;
}

/* Counts kinds of characters, words, and marks of one text of at least one byte. Bytes of a character
 * after its first are skipped, so lengths are in characters. */
static void characters(tab_str s, gather *g)
{
    static const char marks[] = "-./:,_@#()'&";
    double letters = 0, digits = 0, upper = 0, blanks = 0, n = 0;
    unsigned seen = 0;
    size_t tokens = 0, ascii = 0;
    bool in_token = false, title = true;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if ((c & 0xc0) == 0x80)
            continue;
        n++;
        if (c == ' ') {
            blanks++;
            in_token = false;
            continue;
        }
        bool up = c >= 'A' && c <= 'Z', low = c >= 'a' && c <= 'z';
        if (!in_token) {
            tokens++;
            title = title && !low;
        }
        in_token = true;
        if (up || low || c >= 0x80) {
            letters++;
            upper += up;
            ascii += c < 0x80;
        } else if (c >= '0' && c <= '9') {
            digits++;
        } else {
            const char *m = memchr(marks, c, 12);
            if (m != NULL)
                seen |= 1u << (m - marks);
        }
    }
    g->beyond_ascii += digits == 0 && letters > 2 * (double)ascii;
    g->len += n;
    g->len2 += n * n;
    g->min_len = fmin(g->min_len, n);
    g->max_len = fmax(g->max_len, n);
    g->tokens += (double)tokens;
    g->letters += letters / n;
    g->digits += digits / n;
    g->upper += letters > 0 ? upper / letters : 0;
    g->blanks += blanks / n;
    g->other += (n - letters - digits - blanks) / n;
    for (int i = 0; i < 12; i++)
        g->punct[i] += seen >> i & 1;
    g->one_token += tokens == 1;
    g->two_tokens += tokens == 2;
    g->three_tokens += tokens == 3;
    g->many_tokens += tokens > 5;
    note_form(s, letters, upper, digits, n, title, g);
    g->sep_comma += (seen >> 4 & 1) != 0 && blanks > 0;
}

/* Hashed n-grams of one to three bytes of the first 40 bytes, all digits as one: the shape of "2019-05-31"
 * counts, not the year. 2,048 buckets (TAB_GRAMS); the hash's upper 11 bits are the bucket. */
static void grams(tab_str f, float *gram)
{
    if (f.n > 40)
        f.n = 40;
    for (size_t i = 0; i < f.n; i++) {
        unsigned char c[3] = { (unsigned char)f.p[i], 0, 0 };
        uint32_t h = c[0];
        for (int k = 0; k < 3; k++) {
            if (i + (size_t)k >= f.n)
                break;
            c[k] = (unsigned char)f.p[i + (size_t)k];
            if (c[k] >= '0' && c[k] <= '9')
                c[k] = '0';
            h = (h * 16777619u ^ c[k]) * 2654435761u + (uint32_t)k;
            gram[h >> 21] += 1;
        }
    }
}

/* ---- one sampled value ------------------------------------------------------------------------ */

/* What one pass over the sampled values collects. */
typedef struct {
    gather g;
    weighted number[TAB_SAMPLE], date[TAB_SAMPLE]; /* numbers; years since 1970 of dates, with their cells */
    size_t numbers, dates;
    uint64_t shape[TAB_SAMPLE], exact[TAB_SAMPLE]; /* hashed shapes of the values that are looked at */
    size_t shapes;
    tab_identity identity;
    tab_plates plates;
    uint64_t street[TAB_LOOKED_AT], house[TAB_LOOKED_AT]; /* hashed names and numbers of tab_housed */
    uint64_t phone[TAB_LOOKED_AT];                        /* hashed telephone numbers within texts */
    size_t houses, phones;
    uint32_t numbered_initials; /* letters that names with numbers begin with, a bit each */
    uint32_t vin_alphabet;      /* letters of values of a VIN's shape, a bit each */
    double cells;               /* of all sampled values, marks among them */
    double bools;               /* cells that read as yes or no */
    char decimal;
} sampled;

/* The decimal mark of the sample: the one that more values with a comma allow, as column.c decides it for the
 * column. Texts of 32 bytes and more are no numbers worth a second reading. */
static char decimal_mark(const tab_summary *s)
{
    double point = 0, comma = 0;
    for (size_t i = 0; i < s->n; i++) {
        tab_str t = s->value[i].text;
        tab_number x;
        if (t.n > 0 && t.n < 32 && memchr(t.p, ',', t.n) != NULL) {
            point += tab_parse_number(t, '.', &x);
            comma += tab_parse_number(t, ',', &x);
        }
    }
    return comma > point ? ',' : '.';
}

/* Counts a value that reads as a date and that w cells hold. */
static void gather_date(sampled *q, const tab_date *d, double w)
{
    gather *g = &q->g;
    g->dates += w;
    g->date_only += d->form == TAB_FORM_DATE ? w : 0;
    g->datetime += d->form == TAB_FORM_DATETIME ? w : 0;
    g->period += d->form == TAB_FORM_PERIOD ? w : 0;
    g->midnight += d->midnight ? w : 0;
    g->compact += d->compact ? w : 0;
    int64_t day = (int64_t)floor(d->seconds / 86400);
    int year, month, of_month;
    tab_civil_from_days(day, &year, &month, &of_month);
    /* 1970-01-01 was a Thursday: with 3 added, Saturday is 5 and Sunday 6. A remainder is negative before. */
    g->weekend += (day + 3) % 7 >= 5 || (day + 3) % 7 < 0 ? w : 0;
    g->first_of_month += of_month == 1 ? w : 0;
    q->date[q->dates++] = (weighted){ d->seconds / 86400 / 365.25, w };
}

/* Dates, clocks, durations and yes or no. plain: the value is a bare number, which is a date only where it
 * has the 8 digits of a day or the 14 of a second. A text is no clock beyond 40 bytes. */
static void read_time(sampled *q, tab_str t, const tab_number *x, bool plain, double w)
{
    gather *g = &q->g;
    tab_date d;
    if (t.n <= TAB_DATE_BYTES && !(plain && x->digits != 8 && x->digits != 14) &&
        tab_parse_date(t, TAB_ORDER_MDY, &d))
        gather_date(q, &d, w);
    double seconds;
    if (!plain && t.n <= 40) {
        g->clock += tab_parse_clock(t, &seconds) ? w : 0;
        g->duration += tab_parse_duration(t, &seconds) ? w : 0;
    }
    bool yes;
    uint64_t pairs = tab_parse_bool(t, &yes);
    if (pairs != 0) {
        q->bools += w;
        g->bool_pairs &= pairs;
    }
}

/* Forms of names: with initials, with a patronym, with a number behind each word. */
static void read_names(sampled *q, tab_str t, bool plain, tab_features *f)
{
    uint64_t lists[2];
    size_t words = plain ? 0 : tab_numbered_names(t, lists);
    f->initials += tab_has_initials(t);
    if (tab_has_patronym(t)) {
        f->patronyms++;
        f->patronym_words += memchr(t.p, ' ', t.n) != NULL;
    }
    if (words == 0)
        return;
    f->numbered++;
    f->numbered_words += words > 1;
    q->numbered_initials |= 1U << (t.p[0] & 31);
    f->numbered_given += (lists[0] >> TAB_LIST_FIRST_NAME & 1) != 0;
    f->numbered_family += (lists[1] >> TAB_LIST_LAST_NAME & 1) != 0;
}

/* One sampled value t, held by w cells. Every value is read as a number. The looks that cost most (words,
 * characters, patterns, dates) are spent on the first TAB_LOOKED_AT, which have the smallest hashes and so
 * are a uniform sample of the sample (decision 0060). */
static void look_at(sampled *q, tab_str t, double w, tab_features *f)
{
    gather *g = &q->g;
    tab_foreign foreign = tab_foreign_mark(t);
    q->cells += w;
    if (foreign == TAB_FOREIGN_STRICT) {
        g->marks += w;
        return;
    }
    g->words_unknown += foreign == TAB_FOREIGN_WORD ? w : 0;
    if (t.n == 0)
        return;
    g->cells += w;
    g->top = fmax(g->top, w);
    g->entropy -= w > 1 ? w * log(w) : 0;
    g->distinct++;
    tab_number x;
    bool number = t.n <= 64 && tab_parse_number(t, q->decimal, &x);
    if (number) {
        tab_number_gather(&x, w, g);
        q->number[q->numbers++] = (weighted){ x.value, w };
    }
    bool plain = number && x.affix == TAB_AFFIX_NONE && !x.grouped && !x.leading_zero;
    if (g->values >= TAB_LOOKED_AT)
        return;
    char buf[512];
    tab_str folded = tab_fold(t, buf, sizeof buf);
    if (folded.n == 0)
        return;
    g->values++;
    g->looked += w;
    q->shape[q->shapes] = shape_of(t);
    q->exact[q->shapes++] = exact_shape_of(t);
    characters(t, g);
    read_time(q, t, &x, plain, w);
    uint64_t checks = tab_checks_of(t);
    for (uint64_t m = checks; m != 0; m &= m - 1)
        g->check[__builtin_ctzll(m)]++;
    if ((checks >> TAB_CHECK_VIN_SHAPE & 1) != 0)
        for (size_t i = 0; i < t.n; i++)
            q->vin_alphabet |= letter(t.p[i]) ? 1U << ((t.p[i] | 32) - 'a') : 0;
    tab_identity_show(&q->identity, t);
    tab_plates_show(&q->plates, t);
    f->contacts += tab_holds_contact(t);
    uint64_t house, street = plain ? 0 : tab_housed(t, &house);
    if (street != 0) {
        q->street[q->houses] = street;
        q->house[q->houses++] = house;
    }
    uint64_t phone = tab_holds_phone(t);
    if (phone != 0)
        q->phone[q->phones++] = phone;
    f->compared += tab_is_compared(t);
    read_names(q, t, plain, f);
    if (!plain || x.leading_zero) {
        g->month += tab_month_name(t) > 0;
        g->weekday += tab_weekday_name(t) > 0;
    }
    if (!plain) {
        double named = g->named;
        tab_look_up(folded, g, f->sector);
        f->named += g->named > named && tab_holds_name(t);
        tab_affinity_of_text(folded, f->affinity);
    }
    grams(folded, f->gram);
}

static size_t distinct_of(const uint64_t *hash, size_t n)
{
    size_t distinct = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < i && hash[k] != hash[i])
            k++;
        distinct += k == i;
    }
    return distinct;
}

/* ---- the vector ------------------------------------------------------------------------------ */

/* How full the column is and how its values repeat. */
static void put_repetition(cursor *c, const tab_summary *s, const sampled *q, const tab_features *f)
{
    const gather *g = &q->g;
    const double present = f->present, distinct = f->distinct, cells = g->cells;
    const double rows[] = {
        share((double)s->nulls, (double)s->rows), /* missing cells */
        log1p((double)s->rows) / 4,               /* size of the table */
        share(distinct, present),                 /* 1 for keys, near 0 for categories */
        log1p(distinct) / 4,                      /* how many values there are, whatever the rows */
        distinct <= 1,                            /* constant */
        distinct == 2,                            /* a flag, a sex */
        distinct <= 6,                            /* a rating, a small enumeration */
        distinct <= 15,                           /* months, grades */
        distinct <= 40,                           /* a longer enumeration */
        present > 2 && distinct == present,       /* no value twice */
        share(g->marks, q->cells),                /* "?", "N/A" */
        share(g->words_unknown, q->cells),        /* "unknown" */
        share(g->top, cells),                     /* of the commonest value */
                                                  /* entropy over that of as many equally common values */
        cells > 0 && g->distinct > 1 ? (g->entropy / cells + log(cells)) / log(g->distinct) : 0,
    };
    PUT_ROWS(c, rows);
}

/* How the values are written: lengths, kinds of characters, words. */
static void put_writing(cursor *c, const gather *g)
{
    const double v = g->values, mean = share(g->len, v);
    const double lengths[] = {
        log1p(mean) / 2,                                           /* characters a value */
        log1p(sqrt(fmax(0, share(g->len2, v) - mean * mean))) / 2, /* their standard deviation */
        log1p(g->min_len) / 2,                                     /* the shortest */
        log1p(g->max_len) / 2,                                     /* the longest */
        g->max_len == g->min_len && v > 1,                         /* all of one length: codes */
        log1p(share(g->tokens, v)),                                /* words a value */
        share(g->letters, v),                                      /* mean share of letters in a value */
        share(g->digits, v),                                       /* of digits */
        share(g->upper, v),                                        /* of capitals among its letters */
        share(g->blanks, v),                                       /* of blanks */
        share(g->other, v),                                        /* of anything else */
    };
    PUT_ROWS(c, lengths);
    for (int i = 0; i < 12; i++) /* values that hold one of "-./:,_@#()'&" */
        put(c, share(g->punct[i], v));
    const double forms[] = {
        share(g->one_token, v),    /* values of one word: codes, first names */
        share(g->two_tokens, v),   /* of two: names of persons */
        share(g->three_tokens, v), /* of three */
        share(g->many_tokens, v),  /* of more than five: text */
        share(g->starts_digit, v), /* addresses in America, dates */
        share(g->ends_digit, v),   /* addresses in Europe, codes */
        share(g->starts_upper, v), /* names, titles */
        share(g->all_upper, v),    /* codes, tickers */
        share(g->all_lower, v),    /* categories, user names */
        share(g->title, v),        /* every word with a capital: names, places */
        share(g->mixed, v),        /* letters and digits: codes, addresses */
        share(g->all_digits, v),   /* numbers, keys */
        share(g->all_letters, v),  /* one bare word */
        share(g->long_text, v),    /* beyond 60 characters */
        share(g->lead_zero, v),    /* digits that begin with 0: a code, no quantity */
    };
    PUT_ROWS(c, forms);
}

/* Templates, and words with a meaning of their own. */
static void put_shapes(cursor *c, const sampled *q)
{
    const gather *g = &q->g;
    const double v = g->values;
    double top, three, kinds, exact_top, exact_three, exact_kinds;
    common(q->shape, q->shapes, &top, &three, &kinds);
    common(q->exact, q->shapes, &exact_top, &exact_three, &exact_kinds);
    const double rows[] = {
        top,                                               /* share of the commonest shape */
        three,                                             /* of the three commonest */
        log1p(kinds) / 3,                                  /* how many shapes there are */
        exact_top,                                         /* the same with lengths kept */
        exact_three,                                       /* codes have few exact shapes, */
        log1p(exact_kinds) / 3,                            /* names have many */
        share(g->month, v),                                /* names of months */
        share(g->weekday, v),                              /* names of weekdays */
        share(q->bools, g->looked) * (g->bool_pairs != 0), /* yes and no, of one pair */
        share(g->first_given, v),                          /* the first word is a given name */
        share(g->last_family, v),                          /* the last word is a family name */
        share(g->sep_comma, v),                            /* commas and blanks: lists, addresses */
        share(g->sep_semicolon, v),                        /* lists */
        share(g->sep_pipe, v),                             /* lists */
        share(g->bracket, v),                              /* JSON, lists */
        share(g->quote, v),                                /* quotation, exclamation, question: prose */
    };
    PUT_ROWS(c, rows);
}

/* How many cells read as a number, a date, a clock or a duration, and in which notation. */
static void put_readings(cursor *c, sampled *q, tab_features *f)
{
    const gather *g = &q->g;
    f->number_share = share(g->num, g->cells);
    f->date_share = share(g->dates, g->looked);
    f->clock_share = share(g->clock, g->looked);
    f->duration_share = share(g->duration, g->looked);
    put(c, f->number_share);
    for (int i = 1; i < TAB_AFFIXES; i++) /* currency, percent, scale, unit, ordinal */
        put(c, share(g->affix[i], g->cells));
    qsort(q->date, q->dates, sizeof *q->date, tab_weighted_by_x);
    const bool any = q->dates > 0;
    const double last = any ? q->date[q->dates - 1].x : 0;
    const double span = q->dates > 1 ? last - q->date[0].x : 0;
    const double middle = any ? tab_weighted_quantile(q->date, q->dates, g->dates, 0.5) : 0;
    const double rows[] = {
        share(g->grouped, g->cells),        /* 1,200: amounts, counts */
        share(g->exponent, g->cells),       /* 1.2e-5: measures */
        share(g->bounded, g->cells),        /* <5, >10 */
        f->date_share,                      /* cells that are dates */
        share(g->date_only, g->looked),     /* a day */
        share(g->datetime, g->looked),      /* a day and a time */
        share(g->midnight, g->looked),      /* a time that is always 00:00:00 says nothing */
        share(g->period, g->looked),        /* a month, a quarter, a week */
        share(g->compact, g->looked),       /* 20190531 */
        share(g->weekend, g->dates),        /* 2/7 for births, near 0 for business */
        share(g->first_of_month, g->dates), /* reporting dates */
        log1p(span) / 2,                    /* years between first and last */
        any && span > 15 && middle < 35 &&
            last < 45,         /* births: decades, mostly before 2005, none past 2015 */
        any ? middle / 50 : 0, /* how recent */
        f->clock_share,        /* cells that are clock times */
        f->duration_share,     /* cells that are durations */
    };
    PUT_ROWS(c, rows);
}

/* Counts of n-grams to square roots of unit length: a common n-gram does not drown the rest. */
static void scale_grams(float *gram)
{
    double norm = 0;
    for (int i = 0; i < TAB_GRAMS; i++) {
        if (gram[i] == 0)
            continue;
        gram[i] = sqrtf(gram[i]);
        norm += (double)gram[i] * (double)gram[i];
    }
    norm = norm > 0 ? 1 / sqrt(norm) : 0;
    for (int i = 0; i < TAB_GRAMS; i++)
        gram[i] *= (float)norm;
}

/* What was counted of names becomes shares of the values. */
static void share_names(const sampled *q, tab_features *f)
{
    const gather *g = &q->g;
    f->org_forms = share(g->token[TAB_LIST_ORG_FORM], g->values);
    f->numbered_initials = __builtin_popcount(q->numbered_initials);
    f->numbered = share(f->numbered, g->values);
    f->numbered_words = share(f->numbered_words, g->values);
    f->numbered_given = share(f->numbered_given, g->values);
    f->numbered_family = share(f->numbered_family, g->values);
    f->compared = share(f->compared, g->values);
    f->families = share(g->families, g->values);
    f->initials = share(f->initials, g->values);
    f->patronyms = share(f->patronyms, g->values);
    f->patronym_words = share(f->patronym_words, g->values);
}

void tab_features_of(const tab_summary *s, tab_features *f)
{
    sampled q = { .g = { .min_len = 1e9, .bool_pairs = UINT64_MAX }, .decimal = decimal_mark(s) };
    gather *g = &q.g;
    memset(f, 0, sizeof *f);
    f->present = (double)(s->rows - s->nulls);
    f->distinct = tab_summary_distinct(s);
    for (size_t i = 0; i < s->n; i++)
        look_at(&q, s->value[i].text, (double)s->value[i].count, f);
    f->values = (size_t)g->values;
    f->marks = g->marks;
    if (g->min_len > 1e8) /* no value was looked at */
        g->min_len = 0;

    cursor c = { f->dense, f->dense + TAB_DENSE_OTHER };
    put_repetition(&c, s, &q, f);
    put_writing(&c, g);
    put_shapes(&c, &q);
    put_readings(&c, &q, f);
    /* Quantiles of a column whose cells are mostly no numbers say nothing. */
    size_t numbers = f->number_share >= 0.5 ? q.numbers : 0;
    tab_number_features(&c, s, g, q.number, numbers, f);
    while (c.at < f->dense + TAB_DENSE_PLAIN)
        put(&c, 0);
    assert(c.at == f->dense + TAB_DENSE_PLAIN);
    tab_crossed_features(&c, g, q.number, numbers, f);
    while (c.at < c.end)
        put(&c, 0);

    c = (cursor){ f->dense + TAB_DENSE_OTHER, f->dense + TAB_DENSE };
    for (int i = 0; i < TAB_LISTS; i++) /* whole values in each word list */
        put(&c, share(g->full[i], g->values));
    for (int i = 0; i < TAB_LISTS; i++) /* values with a word in each word list */
        put(&c, share(g->token[i], g->values));
    for (int i = 0; i < TAB_CHECK_COUNT; i++) /* values that pass each test of checksum.h */
        put(&c, f->check[i] = share(g->check[i], g->values));
    assert(c.at == c.end); /* each number has its place, which the models know */
    tab_identity_weigh(&q.identity, f->identity);
    double *plate = &f->identity[TAB_IDENTITY_PLATE];
    *plate = fmax(*plate, tab_plates_weigh(&q.plates));
    f->beyond_ascii = share(g->beyond_ascii, g->values);
    f->housed = share((double)q.houses, g->values);
    f->streets = share((double)distinct_of(q.street, q.houses), (double)q.houses);
    f->houses = share((double)distinct_of(q.house, q.houses), (double)q.houses);
    f->phones = (double)distinct_of(q.phone, q.phones);
    f->phone_texts = (double)q.phones;
    f->vin_letters = __builtin_popcount(q.vin_alphabet);
    share_names(&q, f);

    scale_grams(f->gram);
    /* Evidence over a column grows with its logarithm: one long list of cars is not thirty of them. Where the
     * values name places or persons, a word of a trade among them (Porto, a club; Baker) is an accident. */
    static const tab_list names[] = { TAB_LIST_CITY, TAB_LIST_COUNTRY, TAB_LIST_REGION, TAB_LIST_FIRST_NAME,
                                      TAB_LIST_LAST_NAME };
    double named = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        named = fmax(named, share(g->full[names[i]], g->values));
    named = fmax(named, fmax(f->check[TAB_CHECK_STREET], f->housed)); /* "via" is no word of transport here */
    /* A value that no word of is known says that its column speaks of something else; two such stand for what
     * few values can tell. */
    for (int i = 0; i < TAB_SECTORS; i++)
        f->affinity[i] *= (float)((1 - named) / (g->values + 2));
    for (int i = 0; i < TAB_SECTORS; i++)
        f->sector[i] = (float)((1 - named) * log1p((double)f->sector[i])) *
                       (float)sqrt(share((double)f->sector[i], g->values + 2));
}
