#include "services/inference/engine/profile/features_internal.h"

#include <stdlib.h>

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

/* The same with lengths kept: for codes of fixed form. */
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
        [' '] = true, [','] = true, [';'] = true, ['/'] = true, ['('] = true, [')'] = true, ['|'] = true,
        ['"'] = true, ['['] = true, [']'] = true, ['{'] = true, ['}'] = true, [':'] = true,
    };
    return marks[(unsigned char)c];
}

static bool in_list(tab_str term, tab_list list)
{
    const tab_lexeme *x = tab_lexicon_find(term);
    return x != NULL && (x->lists >> list & 1) != 0;
}

/* A name as China, Japan and Korea write it, with nothing between its parts: two to four characters of
 * three bytes, the family's one or two before the given one or two. Returns the lists that the parts are
 * in, 0 for other text. */
static uint64_t unspaced_name(tab_str s)
{
    uint64_t r = 0;
    if (s.n < 6 || s.n > 12)
        return 0;
    for (size_t i = 0; i < s.n; i += 3)
        if ((unsigned char)s.p[i] < 0xe4 || (unsigned char)s.p[i] > 0xed) /* U+4000 to U+DFFF */
            return 0;
    for (size_t cut = 3; cut <= 6 && s.n - cut >= 3 && s.n - cut <= 6; cut += 3) {
        tab_str family = { s.p, cut }, given = { s.p + cut, s.n - cut };
        if (in_list(family, TAB_LIST_LAST_NAME))
            r |= UINT64_C(1) << TAB_LIST_LAST_NAME | (uint64_t)in_list(given, TAB_LIST_FIRST_NAME)
                                                         << TAB_LIST_FIRST_NAME;
    }
    return r;
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
                any |= z->lists & (UINT64_C(1) << TAB_LIST_CITY | UINT64_C(1) << TAB_LIST_COUNTRY |
                                   UINT64_C(1) << TAB_LIST_REGION | UINT64_C(1) << TAB_LIST_COMPANY |
                                   UINT64_C(1) << TAB_LIST_JOB_TITLE);
                if (z->sectors != 0)
                    sector_vote(sector, z->sectors, 0.8);
            }
        }
    }
    bool whole = false;
    if (n == 1 && x == NULL) {
        uint64_t parts = unspaced_name(folded);
        whole = parts != 0;
        family = whole;
        given = (parts >> TAB_LIST_FIRST_NAME & 1) != 0;
        any |= parts;
    }
    for (uint64_t m = any; m != 0; m &= m - 1)
        g->token[__builtin_ctzll(m)]++;
    if (sectors != 0)
        sector_vote(sector, sectors, 0.4);
    g->first_given += given && (n >= 2 || whole);
    g->last_family += family && (whole || (n >= 2 && n <= 5));
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
    g->quote +=
        memchr(s.p, '"', s.n) != NULL || memchr(s.p, '!', s.n) != NULL || memchr(s.p, '?', s.n) != NULL;
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

/* ---- the vector ------------------------------------------------------------------------------ */

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
            tab_number_gather(&x, w, &g);
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
    qsort(dates, n_dates, sizeof *dates, tab_weighted_by_x);
    double span = n_dates > 1 ? dates[n_dates - 1].x - dates[0].x : 0;
    double mid = n_dates > 0 ? tab_weighted_quantile(dates, n_dates, g.dates, 0.5) : 0;
    put(&c, log1p(span) / 2);
    put(&c, n_dates > 0 && span > 15 && mid < 35 && dates[n_dates - 1].x < 45);
    put(&c, n_dates > 0 ? mid / 50 : 0);
    put(&c, f->clock_share);
    put(&c, f->duration_share);
    tab_number_features(&c, s, &g, numbers, f->number_share >= 0.5 ? n_numbers : 0, f);
    while (c.at < f->dense + TAB_DENSE_PLAIN)
        put(&c, 0);
    c.at = f->dense + TAB_DENSE_PLAIN;
    tab_crossed_features(&c, &g, numbers, f->number_share >= 0.5 ? n_numbers : 0, f);
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
        f->sector[i] = (float)log1p((double)f->sector[i]) * (float)sqrt(share((double)f->sector[i], v + 2));
}
