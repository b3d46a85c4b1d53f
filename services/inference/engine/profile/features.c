#include "services/inference/engine/profile/features.h"

#include <math.h>
#include <stdlib.h>

/* ---- gathering over the sampled distinct values ---------------------------------------------- */

typedef struct {
    double distinct, cells; /* values and cells that are no marks */
    double values, looked;  /* of them, those that all looks are spent on */
    double marks, words_unknown;
    /* characters, over values */
    double len, len2, tokens, min_len, max_len;
    double letters, digits, upper, blanks, other, chars;
    double punct[12]; /* values that hold one of "-./:,_@#()'&" */
    double one_token, two_tokens, three_tokens, many_tokens;
    double starts_digit, ends_digit, starts_upper, all_upper, all_lower, title, mixed, all_digits,
        all_letters, long_text;
    double lead_zero, same_len;
    double full[TAB_LISTS], token[TAB_LISTS], check[TAB_CHECK_COUNT];
    double month, weekday, bool_cells, first_given, last_family, sep_comma, sep_semicolon, sep_pipe,
        bracket, quote;
    uint64_t bool_pairs;
    /* numbers, over cells */
    double num, affix[TAB_AFFIXES], grouped, exponent, bounded, decimal[8], dec_max;
    double integer, negative, zero, m5, m10, m100, m1000, cents99, half, len_digits_same;
    double dates, date_only, datetime, midnight, period, compact, clock, duration, weekend, year_lo,
        year_hi, first_of_month;
    double top, entropy;
} gather;

typedef struct {
    double x, w;
} weighted;

static int by_x(const void *a, const void *b)
{
    double x = ((const weighted *)a)->x, y = ((const weighted *)b)->x;
    return (x > y) - (x < y);
}

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
    return tab_hash_bytes(buf, n, 3);
}

/* The same with lengths kept: for codes of fixed form. */
static uint64_t exact_shape_of(tab_str s)
{
    char buf[48];
    size_t n = s.n < sizeof buf ? s.n : sizeof buf;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        buf[i] = c >= '0' && c <= '9' ? '0' : (c | 32) >= 'a' && (c | 32) <= 'z' ? 'A' : (char)c;
    }
    return tab_hash_bytes(buf, n, 4);
}

/* Share of the commonest, share of the three commonest, number of different ones; n <= TAB_LOOKED_AT. */
static void common(const uint64_t *h, size_t n, double *first, double *three, double *kinds)
{
    enum { SLOTS = 512 }; /* thrice the hashes there can be */
    uint64_t seen[TAB_LOOKED_AT];
    uint16_t slot[SLOTS] = { 0 }, count[TAB_LOOKED_AT] = { 0 };
    double best[3] = { 0 };
    size_t different = 0;
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

/* A term that few sectors share says more; a whole cell more than a word in it. */
static void sector_vote(float *sector, uint32_t set, double weight)
{
    int n = __builtin_popcount(set);
    for (int s = 0; s < TAB_SECTORS; s++)
        if ((set >> s & 1) != 0)
            sector[s] += (float)(weight / (n * sqrt(n)));
}

static bool separates(char c)
{
    static const bool marks[256] = {
        [' '] = true, [','] = true, [';'] = true, ['/'] = true, ['('] = true,
        [')'] = true, ['|'] = true, ['"'] = true, ['['] = true, [']'] = true,
        ['{'] = true, ['}'] = true, [':'] = true,
    };
    return marks[(unsigned char)c];
}

static void look_up(tab_str folded, gather *g, float *sector)
{
    const tab_lexeme *x = tab_lexicon_find(folded);
    uint64_t any = 0;
    uint32_t sectors = 0;
    if (x != NULL) {
        for (uint64_t m = x->lists; m != 0; m &= m - 1)
            g->full[__builtin_ctzll(m)]++;
        if (x->sectors != 0)
            sector_vote(sector, x->sectors, 1);
    }
    /* words and pairs of words */
    size_t from[24], to[24], n = 0;
    for (size_t i = 0; i < folded.n && n < 24;) {
        while (i < folded.n && separates(folded.p[i]))
            i++;
        size_t b = i;
        while (i < folded.n && !separates(folded.p[i]))
            i++;
        size_t e = i;
        while (e > b && memchr(".!?'", folded.p[e - 1], 4) != NULL)
            e--;
        if (e > b) {
            from[n] = b;
            to[n++] = e;
        }
    }
    bool given = false, family = false;
    for (size_t k = 0; k < n; k++) {
        tab_str w = { folded.p + from[k], to[k] - from[k] };
        const tab_lexeme *y = n == 1 && w.n == folded.n ? x : tab_lexicon_find(w);
        if (y != NULL) {
            any |= y->lists;
            sectors |= n > 1 && w.n > 2 ? y->sectors : 0;
            given |= k == 0 && (y->lists >> TAB_LIST_FIRST_NAME & 1) != 0;
            family |= k + 1 == n && k > 0 && (y->lists >> TAB_LIST_LAST_NAME & 1) != 0;
        }
        if (k + 1 < n && to[k + 1] - from[k] < 48) {
            tab_str two = { folded.p + from[k], to[k + 1] - from[k] };
            const tab_lexeme *z = two.n == folded.n ? NULL : tab_lexicon_find(two);
            if (z != NULL) {
                any |=
                    z->lists & (UINT64_C(1) << TAB_LIST_CITY | UINT64_C(1) << TAB_LIST_COUNTRY |
                                UINT64_C(1) << TAB_LIST_REGION | UINT64_C(1) << TAB_LIST_COMPANY |
                                UINT64_C(1) << TAB_LIST_JOB_TITLE);
                if (z->sectors != 0)
                    sector_vote(sector, z->sectors, 0.8);
            }
        }
    }
    for (uint64_t m = any; m != 0; m &= m - 1)
        g->token[__builtin_ctzll(m)]++;
    if (sectors != 0)
        sector_vote(sector, sectors, 0.4);
    g->first_given += given && n >= 2;
    g->last_family += family && n >= 2 && n <= 5;
}

static void characters(tab_str s, gather *g)
{
    static const char marks[] = "-./:,_@#()'&";
    double letters = 0, digits = 0, upper = 0, blanks = 0, n = 0;
    unsigned seen = 0;
    size_t tokens = 0;
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
        } else if (c >= '0' && c <= '9') {
            digits++;
        } else {
            const char *m = memchr(marks, c, 12);
            if (m != NULL)
                seen |= 1u << (m - marks);
        }
    }
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
    g->sep_comma += (seen >> 4 & 1) != 0 && blanks > 0;
    g->sep_semicolon += memchr(s.p, ';', s.n) != NULL;
    g->sep_pipe += memchr(s.p, '|', s.n) != NULL;
    g->bracket += a == '[' || a == '{' || a == '(';
    g->quote += memchr(s.p, '"', s.n) != NULL || memchr(s.p, '!', s.n) != NULL ||
                memchr(s.p, '?', s.n) != NULL;
}

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

/* ---- numbers --------------------------------------------------------------------------------- */

static void number_cell(const tab_number *x, tab_str s, double w, gather *g)
{
    double v = x->value;
    (void)s;
    g->num += w;
    g->affix[x->affix] += w;
    g->grouped += x->grouped ? w : 0;
    g->exponent += x->exponent ? w : 0;
    g->bounded += x->bound ? w : 0;
    g->decimal[x->decimals < 7 ? x->decimals : 7] += w;
    g->dec_max = fmax(g->dec_max, x->decimals);
    g->integer += v == floor(v) ? w : 0;
    g->negative += v < 0 ? w : 0;
    g->zero += v == 0 ? w : 0;
    if (v == floor(v)) {
        int rest = fabs(v) < 0x1p62 ? (int)((int64_t)v % 1000) : (int)fmod(v, 1000);
        g->m5 += rest % 5 == 0 ? w : 0;
        g->m10 += rest % 10 == 0 ? w : 0;
        g->m100 += rest % 100 == 0 ? w : 0;
        g->m1000 += rest == 0 ? w : 0;
    }
    double c = fabs(v) * 100;
    if (fabs(c - nearbyint(c)) < 1e-6 * fmax(1, c)) {
        int cents = (int)fmod(nearbyint(c), 100);
        g->cents99 += cents == 99 || cents == 95 || cents == 49 || cents == 98 ? w : 0;
        g->half += cents == 50 || cents == 25 || cents == 75 ? w : 0;
    }
}

static double quantile(const weighted *v, size_t n, double total, double q)
{
    double at = q * total, sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += v[i].w;
        if (sum >= at)
            return v[i].x;
    }
    return n > 0 ? v[n - 1].x : 0;
}

static double signed_log(double x)
{
    return copysign(log1p(fabs(x)), x) / 2;
}

/* ---- the vector ------------------------------------------------------------------------------ */

typedef struct {
    float *at, *end;
} cursor;

static void put(cursor *c, double x)
{
    if (c->at < c->end)
        *c->at++ = (float)(isnan(x) ? 0 : x > 16 ? 16 : x < -16 ? -16 : x);
}

static double share(double a, double b)
{
    return b > 0 ? a / b : 0;
}

/* How the numbers are spread and written: v (n) sorted, in whole numbers of their last decimal. */
static void put_habits(cursor *c, const tab_summary *s, const gather *g, const weighted *v,
                       size_t n, double var, tab_features *f)
{
    double total = 0, log1 = 0, log2 = 0, log3 = 0, digit[10] = { 0 }, positive = 0;
    double lo = n > 0 ? v[0].x : 0, hi = n > 0 ? v[n - 1].x : 0, span = hi - lo + 1;
    double scale = g->dec_max <= 6 ? pow(10, g->dec_max) : 0;
    for (size_t i = 0; i < n; i++) {
        double x = fabs(v[i].x) * scale;
        total += v[i].w;
        if (scale > 0 && x < 1e15)
            digit[(int)fmod(nearbyint(x), 10)] += v[i].w;
        if (v[i].x > 0) {
            double l = log10(v[i].x);
            positive += v[i].w;
            log1 += v[i].w * l;
            log2 += v[i].w * l * l;
            log3 += v[i].w * l * l * l;
        }
    }
    /* the last digit: people round to fives, prices end in nine, instruments in anything */
    put(c, share(digit[0], total));
    put(c, share(digit[5], total));
    put(c, share(digit[9], total));
    /* over how many decades, and leaning where */
    double mean = share(log1, positive), sd2 = share(log2, positive) - mean * mean,
           sd = sd2 > 0 ? sqrt(sd2) : 0;
    put(c, fmin(4, sd * 2));
    put(c, sd > 1e-3
               ? fmax(-4, fmin(4, (share(log3, positive) - 3 * mean * sd2 - mean * mean * mean) /
                                      (sd2 * sd)))
               : 0);
    /* how much a row has of the row before: the correlation of neighbours, by the ratio of von Neumann (1941) */
    double steps = (double)(s->up + s->down + s->same);
    put(c, var > 0 && steps > 4 ? fmax(-1, fmin(1, 1 - s->steps_squared / (2 * steps * var))) : 0);
    /* Whole numbers that repeat as often as draws from their range would by chance are no keys: keys do not
     * repeat, and references to keys repeat far more. */
    bool whole = n > 1 && g->integer >= total * 0.999 && span > 30;
    double by_chance = whole ? span * -expm1(-f->present / span) : 1,
           odd = whole ? log(fmax(1, f->distinct) / by_chance) : 0;
    put(c, fmax(-4, fmin(1, 2 * odd)));
    bool repeats = whole && f->distinct < f->present;
    put(c, repeats && fabs(odd) < 0.08);
    /* of the cells most end alike, yet not all: a key's digits are even, or go step by step */
    double liked = share(digit[0] + digit[5] + digit[9], total);
    f->heaped = repeats && n > 40 && liked > 0.6 && share(digit[0] + digit[5], total) < 0.98;
}

static void put_numbers(cursor *c, const tab_summary *s, const gather *g, weighted *v, size_t n,
                        tab_features *f)
{
    qsort(v, n, sizeof *v, by_x);
    double total = g->num, mean = share(s->sum, (double)s->numbers);
    double var = share(s->sum_squares, (double)s->numbers) - mean * mean,
           sd = var > 0 ? sqrt(var) : 0;
    double q[9];
    static const double at[] = { 0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1 };
    for (int i = 0; i < 9; i++) {
        q[i] = n > 0 ? quantile(v, n, total, at[i]) : 0;
        put(c, n > 0 ? signed_log(q[i]) : 0);
    }
    double lo = n > 0 ? v[0].x : 0, hi = n > 0 ? v[n - 1].x : 0;
    bool any = n > 0, whole = g->integer >= total * 0.999 && any;
    f->min = lo;
    f->max = hi;
    f->q50 = q[4];
    put(c, signed_log(mean));
    put(c, log1p(sd) / 2);
    put(c, sd > 0 ? fmax(-4, fmin(4, (mean - q[4]) / sd)) * 2 : 0);
    put(c, any && mean != 0 ? fmin(4, sd / fabs(mean)) : 0);
    put(c, any && q[4] != 0 ? fmax(-4, fmin(8, log1p(fabs(q[8] / q[4])))) : 0);
    put(c, q[7] - q[1] > 0 ? fmin(6, log1p((hi - lo) / (q[7] - q[1]))) : 0);
    put(c, share(g->integer, total));
    put(c, share(g->negative, total));
    put(c, share(g->zero, total));
    put(c, share(g->m5, total));
    put(c, share(g->m10, total));
    put(c, share(g->m100, total));
    put(c, share(g->m1000, total));
    put(c, share(g->cents99, total));
    put(c, share(g->half, total));
    put(c, g->dec_max / 4);
    for (int i = 0; i < 8; i++)
        put(c, share(g->decimal[i], total));
    put(c, any && lo >= 0 && hi <= 1 && !whole);
    put(c, any && lo >= 0 && hi <= 1 && whole);
    put(c, any && lo >= 0 && hi <= 100 && hi > 1);
    put(c, any && lo >= 1 && hi <= 5 && hi >= 3);
    put(c, any && lo >= 0 && hi <= 10 && hi > 1);
    put(c, any && lo >= 0 && hi <= 110 && hi > 30 && lo < 60);
    put(c, any && lo >= 14 && hi <= 100 && whole && hi - lo > 10);
    put(c, any && lo >= -90 && hi <= 90 &&
               g->decimal[3] + g->decimal[4] + g->decimal[5] + g->decimal[6] + g->decimal[7] >
                   total / 2);
    put(c, any && lo >= -180 && hi <= 180 &&
               g->decimal[3] + g->decimal[4] + g->decimal[5] + g->decimal[6] + g->decimal[7] >
                   total / 2);
    put(c, any && lo >= 1500 && hi <= 2100 && whole);
    put(c, any && lo >= 1900 && hi <= 2030 && whole);
    put(c, any && lo == 1 && hi == 12 && whole);
    put(c, any && lo >= 1 && hi <= 12 && hi > 2 && whole);
    put(c, any && lo >= 1 && hi <= 31 && hi > 12 && whole);
    put(c, any && lo == 1 && hi == 31 && whole);
    put(c, any && lo >= 0 && hi <= 23 && hi > 10 && whole);
    put(c, any && lo >= 1 && hi <= 7 && hi > 4 && whole);
    put(c, any && lo >= 0 && hi <= 59 && hi > 31 && whole);
    put(c, any && lo > 6e8 && hi < 4.2e9 && whole);
    put(c, any && lo > 6e11 && hi < 4.2e12 && whole);
    put(c, any && lo >= 0 && hi <= 2359 && hi > 1200 && whole);
    put(c, any && lo == 0);
    put(c, any && lo == 1);
    double distinct = f->distinct, span = hi - lo + 1;
    put(c, whole && span > 0 ? fmin(1, distinct / span) : 0);
    put(c, whole && lo == 1 && distinct == f->present && span == distinct);
    put(c, whole && (lo == 0 || lo == 1) && span == distinct && distinct <= 12);
    double steps = (double)(s->up + s->down + s->same);
    put(c, share((double)s->up, steps));
    put(c, share((double)s->down, steps));
    put(c, share((double)s->same, steps));
    put(c, share((double)s->unit_steps, steps));
    put(c, steps > 0 && (s->down == 0 || s->up == 0));
    double sum = s->sum;
    put(c, any && (fabs(sum - 1) < 0.01 || fabs(sum - 100) < 0.5) && lo >= 0);
    put(c, whole && any ? floor(log10(fabs(hi) + 1)) == floor(log10(fabs(lo) + 1)) : 0);
    put(c, whole && hi > 0 ? log10(hi + 1) / 4 : 0);
    put_habits(c, s, g, v, n, var, f);
}

/* Soft bins: x in 0..n-1 shares its weight between the two bins beside it. */
static void put_hat(cursor *c, double x, int n, double weight)
{
    x = fmax(0, fmin(n - 1, x));
    for (int i = 0; i < n; i++)
        put(c, weight * fmax(0, 1 - fabs(x - i)));
}

/* Statistics that only speak together, for models that are linear: a median of 30 with two decimals is a price, with
 * none a count, with five a measure. `v` is sorted. */
static void put_crossed(cursor *c, const gather *g, const weighted *v, size_t n,
                        const tab_features *f)
{
    double total = g->num, q05 = 0, q50 = 0, q95 = 0, whole = share(g->integer, total), few = 0;
    if (n > 0) {
        q05 = quantile(v, n, total, 0.05);
        q50 = fabs(quantile(v, n, total, 0.5));
        q95 = quantile(v, n, total, 0.95);
        few = v[0].x;
    }
    double size = log10(fmax(1e-4, fmax(q50, fabs(q95) / 8))) + 2,
           wide = q05 > 0   ? log10(fmax(1, q95 / q05)) * 2
                  : few < 0 ? 5
                            : 4;
    double two = share(g->decimal[2], total),
           more = share(total - g->decimal[0] - g->decimal[1] - g->decimal[2], total),
           one = share(g->decimal[1], total);
    bool any = n > 0;
    double kind[4] = { any * (whole >= 0.999),
                       any * (whole < 0.999) * (one > 0.3 && two + more < 0.05),
                       any * (whole < 0.999) * (two >= 0.05) * (more < 0.05),
                       any * (more >= 0.05) };
    for (int k = 0; k < 4; k++)
        put_hat(c, size, 9, kind[k]);
    for (int k = 0; k < 4; k++)
        put_hat(c, wide, 6, kind[k]);
    /* whole numbers: how often they repeat, by size */
    double repeat = f->present > 0 ? 3 * f->distinct / f->present : 0;
    for (int k = 0; k < 4; k++)
        put_hat(c, log10(fmax(1, fabs(q95))), 7, kind[0] * fmax(0, 1 - fabs(repeat - k)));
    /* texts: distinct share by tokens */
    double words = share(g->tokens, g->values);
    for (int k = 0; k < 2; k++)
        put_hat(c, fmin(4, words) - 1 + (words > 4), 5,
                (n == 0) * (k == 0 ? repeat / 3 : 1 - repeat / 3));
}

void tab_features_of(const tab_summary *s, tab_features *f)
{
    gather g = { .min_len = 1e9, .bool_pairs = UINT64_MAX, .year_lo = 1e9, .year_hi = -1e9 };
    weighted numbers[TAB_SAMPLE], dates[TAB_SAMPLE];
    uint64_t shapes[TAB_SAMPLE], exact[TAB_SAMPLE];
    size_t n_numbers = 0, n_dates = 0, n = 0;
    memset(f, 0, sizeof *f);
    f->present = (double)(s->rows - s->nulls);
    f->distinct = tab_summary_distinct(s);

    /* The decimal mark and the day/month order of the sample, as column.c decides them for the column. */
    double point = 0, comma = 0, dmy = 0, mdy = 0, bools = 0;
    for (size_t i = 0; i < s->n; i++) {
        tab_str t = s->value[i].text;
        tab_number x;
        if (t.n > 0 && t.n < 32 && memchr(t.p, ',', t.n) != NULL) {
            point += tab_parse_number(t, '.', &x);
            comma += tab_parse_number(t, ',', &x);
        }
    }
    char decimal = comma > point ? ',' : '.';
    double sample_cells = 0;
    for (size_t i = 0; i < s->n; i++) {
        tab_str t = s->value[i].text;
        double w = (double)s->value[i].count;
        tab_foreign foreign = tab_foreign_mark(t);
        sample_cells += w;
        if (foreign == TAB_FOREIGN_STRICT) {
            g.marks += w;
            continue;
        }
        g.words_unknown += foreign == TAB_FOREIGN_WORD ? w : 0;
        if (t.n == 0)
            continue;
        g.cells += w;
        g.top = fmax(g.top, w);
        g.entropy -= w > 1 ? w * log(w) : 0;
        g.distinct++;
        tab_number x;
        bool number = t.n <= 64 && tab_parse_number(t, decimal, &x);
        if (number) {
            number_cell(&x, t, w, &g);
            numbers[n_numbers++] = (weighted){ x.value, w };
        }
        bool plain = number && x.affix == TAB_AFFIX_NONE && !x.grouped && !x.leading_zero;
        /* The looks that cost most are spent on the values of the smallest hashes: a sample of the sample. */
        if (g.values >= TAB_LOOKED_AT)
            continue;
        char buf[512];
        tab_str folded = tab_fold(t, buf, sizeof buf);
        if (folded.n == 0)
            continue;
        g.values++;
        g.looked += w;
        shapes[n] = shape_of(t);
        exact[n++] = exact_shape_of(t);
        characters(t, &g);
        tab_date d;
        if (t.n <= 64 && !(plain && x.digits != 8 && x.digits != 14) &&
            tab_parse_date(t, TAB_ORDER_MDY, &d)) {
            g.dates += w;
            g.date_only += d.form == TAB_FORM_DATE ? w : 0;
            g.datetime += d.form == TAB_FORM_DATETIME ? w : 0;
            g.period += d.form == TAB_FORM_PERIOD ? w : 0;
            g.midnight += d.midnight ? w : 0;
            g.compact += d.compact ? w : 0;
            dmy += d.only_dmy;
            mdy += d.only_mdy;
            g.year_lo = fmin(g.year_lo, d.year);
            g.year_hi = fmax(g.year_hi, d.year);
            int64_t day = (int64_t)floor(d.seconds / 86400);
            int yy, mm, dd;
            tab_civil_from_days(day, &yy, &mm, &dd);
            g.weekend += (day + 3) % 7 >= 5 || (day + 3) % 7 < 0 ? w : 0;
            g.first_of_month += dd == 1 ? w : 0;
            dates[n_dates++] = (weighted){ d.seconds / 86400 / 365.25, w };
        }
        double secs;
        if (!plain && t.n <= 40) {
            g.clock += tab_parse_clock(t, &secs) ? w : 0;
            g.duration += tab_parse_duration(t, &secs) ? w : 0;
        }
        bool yes;
        uint64_t pairs = tab_parse_bool(t, &yes);
        if (pairs != 0) {
            bools += w;
            g.bool_pairs &= pairs;
        }
        for (uint64_t m = tab_checks_of(t); m != 0; m &= m - 1)
            g.check[__builtin_ctzll(m)]++;
        if (!plain || x.leading_zero) {
            g.month += tab_month_name(t) > 0;
            g.weekday += tab_weekday_name(t) > 0;
        }
        if (!plain)
            look_up(folded, &g, f->sector);
        grams(folded, f->gram);
    }
    double v = g.values, cells = g.cells, present = f->present;
    f->values = (size_t)v;
    f->marks = g.marks;
    if (g.min_len > 1e8)
        g.min_len = 0;
    double top, three, kinds, etop, ethree, ekinds;
    common(shapes, n, &top, &three, &kinds);
    common(exact, n, &etop, &ethree, &ekinds);

    cursor c = { f->dense, f->dense + TAB_DENSE_OTHER };
    put(&c, share((double)s->nulls, (double)s->rows));
    put(&c, log1p((double)s->rows) / 4);
    put(&c, share(f->distinct, present));
    put(&c, log1p(f->distinct) / 4);
    put(&c, f->distinct <= 1);
    put(&c, f->distinct == 2);
    put(&c, f->distinct <= 6);
    put(&c, f->distinct <= 15);
    put(&c, f->distinct <= 40);
    put(&c, present > 2 && f->distinct == present);
    put(&c, share(g.marks, sample_cells));
    put(&c, share(g.words_unknown, sample_cells));
    put(&c, share(g.top, cells));
    put(&c, cells > 0 && g.distinct > 1 ? (g.entropy / cells + log(cells)) / log(g.distinct) : 0);
    double mean_len = share(g.len, v);
    put(&c, log1p(mean_len) / 2);
    put(&c, log1p(sqrt(fmax(0, share(g.len2, v) - mean_len * mean_len))) / 2);
    put(&c, log1p(g.min_len) / 2);
    put(&c, log1p(g.max_len) / 2);
    put(&c, g.max_len == g.min_len && v > 1);
    put(&c, log1p(share(g.tokens, v)));
    put(&c, share(g.letters, v));
    put(&c, share(g.digits, v));
    put(&c, share(g.upper, v));
    put(&c, share(g.blanks, v));
    put(&c, share(g.other, v));
    for (int i = 0; i < 12; i++)
        put(&c, share(g.punct[i], v));
    put(&c, share(g.one_token, v));
    put(&c, share(g.two_tokens, v));
    put(&c, share(g.three_tokens, v));
    put(&c, share(g.many_tokens, v));
    put(&c, share(g.starts_digit, v));
    put(&c, share(g.ends_digit, v));
    put(&c, share(g.starts_upper, v));
    put(&c, share(g.all_upper, v));
    put(&c, share(g.all_lower, v));
    put(&c, share(g.title, v));
    put(&c, share(g.mixed, v));
    put(&c, share(g.all_digits, v));
    put(&c, share(g.all_letters, v));
    put(&c, share(g.long_text, v));
    put(&c, share(g.lead_zero, v));
    put(&c, top);
    put(&c, three);
    put(&c, log1p(kinds) / 3);
    put(&c, etop);
    put(&c, ethree);
    put(&c, log1p(ekinds) / 3);
    put(&c, share(g.month, v));
    put(&c, share(g.weekday, v));
    put(&c, share(bools, g.looked) * (g.bool_pairs != 0));
    put(&c, share(g.first_given, v));
    put(&c, share(g.last_family, v));
    put(&c, share(g.sep_comma, v));
    put(&c, share(g.sep_semicolon, v));
    put(&c, share(g.sep_pipe, v));
    put(&c, share(g.bracket, v));
    put(&c, share(g.quote, v));
    f->number_share = share(g.num, cells);
    f->date_share = share(g.dates, g.looked);
    f->clock_share = share(g.clock, g.looked);
    f->duration_share = share(g.duration, g.looked);
    put(&c, f->number_share);
    for (int i = 1; i < TAB_AFFIXES; i++)
        put(&c, share(g.affix[i], cells));
    put(&c, share(g.grouped, cells));
    put(&c, share(g.exponent, cells));
    put(&c, share(g.bounded, cells));
    put(&c, f->date_share);
    put(&c, share(g.date_only, g.looked));
    put(&c, share(g.datetime, g.looked));
    put(&c, share(g.midnight, g.looked));
    put(&c, share(g.period, g.looked));
    put(&c, share(g.compact, g.looked));
    put(&c, share(g.weekend, g.dates));
    put(&c, share(g.first_of_month, g.dates));
    qsort(dates, n_dates, sizeof *dates, by_x);
    double span = n_dates > 1 ? dates[n_dates - 1].x - dates[0].x : 0;
    double mid = n_dates > 0 ? quantile(dates, n_dates, g.dates, 0.5) : 0;
    put(&c, log1p(span) / 2);
    put(&c, n_dates > 0 && span > 15 && mid < 35 && dates[n_dates - 1].x < 45);
    put(&c, n_dates > 0 ? mid / 50 : 0);
    put(&c, f->clock_share);
    put(&c, f->duration_share);
    put_numbers(&c, s, &g, numbers, f->number_share >= 0.5 ? n_numbers : 0, f);
    while (c.at < f->dense + TAB_DENSE_PLAIN)
        put(&c, 0);
    c.at = f->dense + TAB_DENSE_PLAIN;
    put_crossed(&c, &g, numbers, f->number_share >= 0.5 ? n_numbers : 0, f);
    while (c.at < c.end)
        put(&c, 0);

    c = (cursor){ f->dense + TAB_DENSE_OTHER, f->dense + TAB_DENSE };
    for (int i = 0; i < TAB_LISTS; i++)
        put(&c, share(g.full[i], v));
    for (int i = 0; i < TAB_LISTS; i++)
        put(&c, share(g.token[i], v));
    for (int i = 0; i < TAB_CHECK_COUNT; i++)
        put(&c, f->check[i] = share(g.check[i], v));

    double norm = 0;
    for (int i = 0; i < TAB_GRAMS; i++) {
        if (f->gram[i] == 0)
            continue;
        f->gram[i] = sqrtf(f->gram[i]);
        norm += (double)f->gram[i] * (double)f->gram[i];
    }
    norm = norm > 0 ? 1 / sqrt(norm) : 0;
    for (int i = 0; i < TAB_GRAMS; i++)
        f->gram[i] *= (float)norm;
    /* Evidence over a column grows with its logarithm: one long list of cars is not thirty of them. */
    for (int i = 0; i < TAB_SECTORS; i++)
        f->sector[i] =
            (float)log1p((double)f->sector[i]) * (float)sqrt(share((double)f->sector[i], v + 2));
}
