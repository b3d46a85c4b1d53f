/* See dialect.h. */
#include "common/files/csv/dialect.h"

#include <endian.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <strings.h>

enum { SNIFF_RECORDS = 100, SNIFF_BYTES = 1 << 18, WIDTHS = 256 };

/* ---- fields ---------------------------------------------------------------------------------- */

static bool ends(const tab_csv_lexer *f, char c)
{
    return c == f->d.delimiter || c == '\n' || c == '\r';
}

static void end_line(tab_csv_lexer *f)
{
    f->line++;
    if (*f->p == '\r' && f->p + 1 < f->end && f->p[1] == '\n')
        f->p++;
    f->p++;
}

bool tab_csv_record(tab_csv_lexer *f, size_t *blank)
{
    while (f->p < f->end) {
        bool empty = *f->p == '\n' || *f->p == '\r';
        if (!empty && (f->d.comment == 0 || *f->p != f->d.comment))
            return true;
        if (empty && blank != NULL)
            ++*blank;
        f->comments += !empty;
        while (f->p < f->end && *f->p != '\n' && *f->p != '\r')
            f->p++;
        if (f->p < f->end)
            end_line(f);
    }
    return false;
}

/* At a quote in a field with undoubled ones: the last quote here where they close the field, else NULL and p
 * at the last. */
static const char *closing(const tab_csv_lexer *f, const char **p, const char *stop, bool *plain)
{
    const char *last = *p;
    while (last + 1 < stop && last[1] == f->d.quote)
        last++;
    *plain = *plain && last == *p;
    *p = last;
    return last + 1 == f->end || (last + 1 < f->end && ends(f, last[1])) ? last : NULL;
}

/* From behind the opening quote to behind the closing one, and what follows it up to the delimiter. */
static tab_str quoted(tab_csv_lexer *f)
{
    const char *open = f->p, *stop = f->end - open > TAB_CSV_FIELD_MOST ? open + TAB_CSV_FIELD_MOST : f->end;
    const char quote = f->d.quote, escape = f->d.escape;
    bool plain = true;
    f->quote_line = f->line;
    for (; f->p < stop; f->p++) {
        f->line += *f->p == '\n';
        bool escapes = escape != 0 && *f->p == escape;
        if (*f->p != quote && !escapes)
            continue;
        if (!escapes && f->d.inner) {
            if (closing(f, &f->p, stop, &plain) != NULL)
                break;
            continue;
        }
        if (!escapes && (f->p + 1 == stop || f->p[1] != quote))
            break;
        plain = false;
        if (f->p + 1 < stop)
            f->p++;
    }
    f->too_long |= f->p == stop && stop < f->end;
    f->unclosed |= f->p == f->end;
    const char *close = f->p;
    f->p += f->p < f->end;
    f->torn = f->p < f->end && !ends(f, *f->p);
    if (plain && !f->torn)
        return (tab_str){ open, (size_t)(close - open) };
    size_t n = 0;
    for (const char *q = open; q < close; q++) {
        if (q + 1 < close && ((*q == quote && q[1] == quote) || (escape != 0 && *q == escape)))
            q++;
        f->scratch[n++] = *q;
    }
    for (; f->p < f->end && !ends(f, *f->p); f->p++)
        if (n < TAB_CSV_FIELD_MOST)
            f->scratch[n++] = *f->p;
        else
            f->too_long = true;
    return (tab_str){ f->scratch, n };
}

/* A field without quotes in which the character behind an escape is itself. */
static tab_str escaped(tab_csv_lexer *f)
{
    size_t n = 0;
    for (; f->p < f->end && !ends(f, *f->p); f->p++) {
        if (*f->p == f->d.escape && f->p + 1 < f->end)
            f->line += *++f->p == '\n';
        if (n < TAB_CSV_FIELD_MOST)
            f->scratch[n++] = *f->p;
        else
            f->too_long = true;
    }
    return (tab_str){ f->scratch, n };
}

/* Where the next delimiter or end of a line stands: 16 bytes at a time where the processor has them, then
 * eight: x ^ c has a zero byte where x has c, and of the zero bytes that v - 01.. & ~v & 80.. tells the
 * lowest is one (Mycroft 1987). */
static const char *field_end(const tab_csv_lexer *f)
{
    const char *p = f->p;
#ifdef __SSE2__
    const __m128i delimiter = _mm_set1_epi8(f->d.delimiter), feed = _mm_set1_epi8('\n'),
                  back = _mm_set1_epi8('\r');
    for (; f->end - p >= 16; p += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)p);
        __m128i hit = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(x, delimiter), _mm_cmpeq_epi8(x, feed)),
                                   _mm_cmpeq_epi8(x, back));
        unsigned which = (unsigned)_mm_movemask_epi8(hit);
        if (which != 0)
            return p + __builtin_ctz(which);
    }
#endif
    const uint64_t ones = 0x0101010101010101u, high = ones << 7;
    const uint64_t d = ones * (uint8_t)f->d.delimiter, n = ones * '\n', r = ones * '\r';
    for (uint64_t x; f->end - p >= 8; p += 8) {
        memcpy(&x, p, sizeof x);
        x = le64toh(x);
        uint64_t hit =
            ((((x ^ d) - ones) & ~(x ^ d)) | (((x ^ n) - ones) & ~(x ^ n)) | (((x ^ r) - ones) & ~(x ^ r))) &
            high;
        if (hit != 0)
            return p + __builtin_ctzll(hit) / 8;
    }
    while (p < f->end && !ends(f, *p))
        p++;
    return p;
}

bool tab_csv_field(tab_csv_lexer *f, tab_str *ret, bool *ret_last)
{
    while (f->d.space && f->p < f->end && *f->p == ' ')
        f->p++;
    const char *from = f->p;
    f->quoted = f->p < f->end && *f->p == f->d.quote;
    if (f->quoted) {
        f->p++;
        *ret = quoted(f);
    } else if (f->d.escape != 0) {
        *ret = escaped(f);
    } else {
        f->p = field_end(f);
        *ret = (tab_str){ from, (size_t)(f->p - from) };
        while (f->d.space && ret->n > 0 && ret->p[ret->n - 1] == ' ')
            ret->n--;
    }
    *ret_last = true;
    if (f->too_long)
        return false;
    if (f->p == f->end)
        return true;
    if (*f->p == f->d.delimiter) {
        f->p++;
        *ret_last = false;
    } else {
        end_line(f);
    }
    return true;
}

/* ---- consistency ------------------------------------------------------------------------------- */

/* RARE ones also stand in texts, so they are taken only where they cut clearly better than the others. */
static const char DELIMITERS[] = ",;\t|", RARE[] = "#~^* ";
static const double RARE_LEAST = 0.74, RARE_BETTER = 1.15;

bool tab_csv_value(tab_str s)
{
    static const char *const signs[] = { "\u20ac", "\u00a3", "\u00a5", "\u2212" };
    size_t digits = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool letter = digits > 0 && (c == 'T' || c == 'Z' || c == 'e' || c == 'E');
        digits += c >= '0' && c <= '9';
        if ((c >= '0' && c <= '9') || letter || (c != 0 && strchr("+-.,/:%$ ()'", c) != NULL))
            continue;
        size_t k = 0;
        while (k < sizeof signs / sizeof *signs &&
               (s.n - i < strlen(signs[k]) || memcmp(s.p + i, signs[k], strlen(signs[k])) != 0))
            k++;
        if (k == sizeof signs / sizeof *signs)
            return false;
        i += strlen(signs[k]) - 1;
    }
    return digits > 0;
}

/* Does a field without quotes need no other dialect? A delimiter before a space is a text's own mark. */
static bool at_home(tab_str s)
{
    if (s.n == 0)
        return true;
    if (s.p[0] == '"' || s.p[0] == '\'' || s.p[s.n - 1] == '"' || s.p[s.n - 1] == '\\')
        return false;
    size_t spaces = 0;
    while (spaces < s.n && s.p[spaces] == ' ')
        spaces++;
    tab_str bare = { s.p + spaces, s.n - spaces };
    if (tab_csv_value(bare))
        return spaces == 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"' || s.p[i] == '\t')
            return false;
        if (s.p[i] != 0 && strchr(DELIMITERS, s.p[i]) != NULL && (i + 1 == s.n || s.p[i + 1] != ' '))
            return false;
    }
    return true;
}

/* *torn: whether some field went on behind its closing quote; stays true. */
static double consistency(tab_str text, bool cut, tab_csv_dialect d, char *scratch, bool *torn)
{
    size_t count[WIDTHS] = { 0 }, n = 0, fields = 0, good = 0, head = 0;
    double pattern = 0;
    tab_csv_lexer f = { .p = text.p, .end = text.p + text.n, .d = d, .scratch = scratch };
    while (n < SNIFF_RECORDS && tab_csv_record(&f, NULL)) {
        size_t width = 0, bytes = 0, home = 0;
        bool last = false;
        tab_str s;
        while (!last && tab_csv_field(&f, &s, &last)) {
            width++;
            bytes += s.n;
            home += f.quoted ? !f.torn : at_home(s);
            *torn = *torn || (f.quoted && f.torn);
        }
        if (f.too_long || (f.unclosed && !cut))
            return 0;
        if (bytes == 0 || (cut && f.p == f.end && n > 0)) /* the last record may be half of one */
            continue;
        count[width < WIDTHS ? width : WIDTHS - 1]++;
        head = n++ == 0 ? width : head;
        fields += width;
        good += home;
    }
    if (n > 2 && head > 1 && head + 2 < WIDTHS && count[head + 1] + 1 == n) { /* names of rows have no name */
        count[head + 1]++;
        count[head]--;
    }
    for (size_t w = 1; w < WIDTHS && n > 0; w++) {
        double p = (double)count[w] / (double)n;
        pattern += p * p * (w == 1 ? 0.4 : (double)(w - 1) / (double)w);
    }
    return fields == 0 ? 0 : pattern * (double)good / (double)fields;
}

/* Do most lines that begin with # have as many fields as the other lines have? Then # is of their values
 * ("#1001" is an order's name) and they are no comments. */
static bool hash_begins_records(tab_str text, tab_csv_dialect d, char *scratch)
{
    size_t other[WIDTHS] = { 0 }, hash[WIDTHS] = { 0 }, hashes = 0, usual = 1;
    tab_csv_lexer f = { .p = text.p, .end = text.p + text.n, .d = d, .scratch = scratch };
    for (size_t n = 0; n < SNIFF_RECORDS && tab_csv_record(&f, NULL); n++) {
        bool begins = *f.p == '#', last = false;
        size_t width = 0;
        tab_str s;
        while (!last && tab_csv_field(&f, &s, &last))
            width++;
        (begins ? hash : other)[width < WIDTHS ? width : WIDTHS - 1]++;
        hashes += begins;
    }
    for (size_t w = 1; w < WIDTHS; w++)
        usual = other[w] > other[usual] ? w : usual;
    return usual > 1 && 2 * hash[usual] > hashes;
}

/* Is there a (or the start of a line, for a = '\n') right before b? */
static bool adjacent(tab_str s, char a, char b)
{
    for (const char *p = s.p, *end = s.p + s.n; (p = memchr(p, b, (size_t)(end - p))) != NULL; p++)
        if (p == s.p ? a == '\n' : p[-1] == a || (a == '\n' && p[-1] == '\r'))
            return true;
    return false;
}

char tab_csv_declared(tab_str *text)
{
    tab_str s = *text;
    if (s.n < 6 || strncasecmp(s.p, "sep=", 4) != 0 || s.p[4] == '"' || (s.p[5] != '\n' && s.p[5] != '\r'))
        return 0;
    size_t n = s.p[5] == '\r' && s.n > 6 && s.p[6] == '\n' ? 7 : 6;
    *text = (tab_str){ s.p + n, s.n - n };
    return s.p[4];
}

/* The best dialect of one delimiter, and its score. quote: the only one, or 0. */
static tab_csv_dialect best_of(tab_str text, bool cut, char c, char quote, char *scratch, double *ret_score)
{
    tab_csv_dialect best = { c, quote != 0 ? quote : '"', 0, false, 0, false };
    bool single = adjacent(text, c, '\'') || adjacent(text, '\n', '\''), hash = adjacent(text, '\n', '#');
    bool escape = adjacent(text, '\\', '"') || adjacent(text, '\\', '\'') || adjacent(text, '\\', c),
         space = adjacent(text, c, ' ');
    bool torn = false;
    hash = hash && c != '#' && !hash_begins_records(text, best, scratch);
    *ret_score = 0;
    for (unsigned k = 0; k < 16; k++) { /* the plainest first: of equals it stays */
        if (((k & 1) && !space) || ((k & 2) && !escape) || ((k & 4) && (quote != 0 || !single)) ||
            ((k & 8) && !hash))
            continue;
        char own = quote != 0 ? quote : k & 4 ? '\'' : '"';
        tab_csv_dialect d = { c, own, k & 2 ? '\\' : 0, k & 1, k & 8 ? '#' : 0, false };
        double score = consistency(text, cut, d, scratch, &torn);
        if (score > *ret_score)
            *ret_score = score, best = d;
    }
    return best;
}

/* Is the text more consistent where quotes may stand undoubled? Asked of what was chosen alone: delimiters
 * that stand in quoted fields would win by it. */
static bool has_inner(tab_str text, bool cut, tab_csv_dialect d, char *scratch)
{
    bool torn = false;
    double plain = consistency(text, cut, d, scratch, &torn);
    d.inner = true;
    return torn && consistency(text, cut, d, scratch, &torn) > plain;
}

/* Of several delimiters' scores the best and the next one; true where this is the best so far. */
static bool better(tab_csv_scores *s, double score)
{
    bool is = score > s->best;
    double next = is ? s->best : score;
    s->next = next > s->next ? next : s->next;
    s->best = is ? score : s->best;
    return is;
}

/* Does each field of every one of the first lines stand below the first line's? No other line fills what is
 * blank between its fields. */
static bool is_aligned(tab_str text)
{
    enum { WIDTH = 512, LINES_LEAST = 4, FIELDS_LEAST = 3 };
    uint8_t filled[WIDTH] = { 0 }, first[WIDTH] = { 0 };
    size_t lines = 0, fields = 0, bands = 0, col = 0;
    for (size_t i = 0; i < text.n && lines < SNIFF_RECORDS; i++) {
        char c = text.p[i];
        if (c == '\n') {
            lines += col > 0;
            col = 0;
            continue;
        }
        if (col < WIDTH && c != ' ' && c != '\r') {
            filled[col] = 1;
            first[col] |= lines == 0;
        }
        col++;
    }
    for (size_t k = 0; k < WIDTH; k++) {
        fields += first[k] && (k == 0 || !first[k - 1]);
        bands += filled[k] && (k == 0 || !filled[k - 1]);
    }
    return lines >= LINES_LEAST && fields >= FIELDS_LEAST && fields == bands;
}

tab_csv_dialect tab_csv_dialect_of(tab_str text, char declared, char quote, char *scratch,
                                   tab_csv_scores *ret_scores)
{
    const char only[2] = { declared, 0 }, *candidates = declared != 0 ? only : DELIMITERS;
    tab_csv_dialect best = { candidates[0], quote != 0 ? quote : '"', 0, false, 0, false };
    tab_csv_scores scores = { 0, 0 };
    double usual, score;
    bool cut = text.n > SNIFF_BYTES;
    if (cut)
        text.n = SNIFF_BYTES;
    for (size_t i = 0; candidates[i] != 0; i++) {
        if (i > 0 && memchr(text.p, candidates[i], text.n) == NULL)
            continue; /* one column: as a comma has it */
        tab_csv_dialect d = best_of(text, cut, candidates[i], quote, scratch, &score);
        if (better(&scores, score))
            best = d;
    }
    usual = scores.best;
    for (size_t i = 0; declared == 0 && RARE[i] != 0; i++) {
        if (memchr(text.p, RARE[i], text.n) == NULL)
            continue;
        tab_csv_dialect d = best_of(text, cut, RARE[i], quote, scratch, &score);
        bool aligned = RARE[i] == ' ' && d.space && is_aligned(text);
        bool clear = (score >= RARE_LEAST || aligned) && score > RARE_BETTER * usual;
        if (clear && better(&scores, score))
            best = d;
    }
    *ret_scores = scores;
    best.inner = has_inner(text, cut, best, scratch);
    return best;
}
