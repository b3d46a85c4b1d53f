/* See drawn.h. */
#include "common/files/csv/drawn.h"

enum { LOOKED = 100, WIDTH = 1024, BANDS = 256, ABOVE = 8, LINES_LEAST = 4 };

typedef struct {
    tab_str line[LOOKED];
    size_t n;
} sample;

/* Where fields begin, and where the blanks before the next one do; in characters. */
typedef struct {
    size_t n, from[BANDS], to[BANDS];
} bands;

/* The next line without its end; false where there is none. */
static bool next_line(tab_str *text, tab_str *ret)
{
    if (text->n == 0)
        return false;
    const char *end = memchr(text->p, '\n', text->n);
    size_t n = end != NULL ? (size_t)(end - text->p) : text->n, step = n + (end != NULL);
    *ret = (tab_str){ text->p, n > 0 && text->p[n - 1] == '\r' ? n - 1 : n };
    *text = (tab_str){ text->p + step, text->n - step };
    return true;
}

static tab_str trimmed(tab_str s)
{
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
        s.p++, s.n--;
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

static bool is_rule(tab_str s)
{
    enum { RUN = 3 };
    size_t run = 0, most = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == 0 || strchr("-=+|: \t", s.p[i]) == NULL)
            return false;
        run = s.p[i] == '-' || s.p[i] == '=' ? run + 1 : 0;
        most = run > most ? run : most;
    }
    return most >= RUN;
}

/* Bars that part cells: those that are not escaped. */
static size_t bars(tab_str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == '|' && (i == 0 || s.p[i - 1] != '\\');
    return n;
}

/* Do most lines have as many bars, with a rule next to the first of them? */
static bool is_barred(const sample *s)
{
    size_t first = 0, same = 0, lines = 0;
    while (first < s->n && (is_rule(s->line[first]) || bars(s->line[first]) == 0))
        first++;
    if (first == s->n)
        return false;
    bool above = first > 0 && is_rule(s->line[first - 1]);
    bool below = first + 1 < s->n && is_rule(s->line[first + 1]);
    for (size_t i = first; i < s->n; i++) {
        lines += s->line[i].n > 0 && !is_rule(s->line[i]);
        same += !is_rule(s->line[i]) && bars(s->line[i]) == bars(s->line[first]);
    }
    return (above || below) && same > 1 && 4 * same >= 3 * lines;
}

/* The runs of a rule of several, which stands below a line that begins one at least. */
static bool ruled_bands(const sample *s, bands *ret)
{
    for (size_t i = 1; i < s->n && i < LOOKED / 2; i++) {
        tab_str line = s->line[i];
        ret->n = 0;
        if (!is_rule(line) || memchr(line.p, '|', line.n) != NULL || trimmed(s->line[i - 1]).n == 0)
            continue;
        for (size_t k = 0; k < line.n && ret->n < BANDS; k++) {
            if (line.p[k] != ' ' && (k == 0 || line.p[k - 1] == ' '))
                ret->from[ret->n++] = k;
            if (line.p[k] != ' ')
                ret->to[ret->n - 1] = k + 1;
        }
        if (ret->n > 1 && memchr(line.p, '\t', line.n) == NULL)
            return true;
    }
    return false;
}

static bool begins_character(char c)
{
    return ((unsigned char)c & 0xC0) != 0x80;
}

/* Marks the characters of a line that are no blanks; false where it has a tab or is too long. */
static bool mark_filled(tab_str line, uint16_t *count)
{
    size_t col = 0;
    for (size_t i = 0; i < line.n; i++) {
        if (line.p[i] == '\t' || col >= WIDTH)
            return false;
        if (!begins_character(line.p[i]))
            continue;
        count[col] += line.p[i] != ' ';
        col++;
    }
    return true;
}

/* How many lines of [from, to) hold something there. */
static size_t holding(const sample *s, size_t from, size_t to, size_t left, size_t right)
{
    size_t n = 0;
    for (size_t i = from; i < to; i++) {
        size_t col = 0;
        bool is = false;
        for (size_t k = 0; k < s->line[i].n && col < right; k++)
            if (begins_character(s->line[i].p[k])) {
                is |= col >= left && s->line[i].p[k] != ' ';
                col++;
            }
        n += is;
    }
    return n;
}

static bool pads(tab_str line)
{
    tab_str s = trimmed(line);
    for (size_t i = 1; i < s.n; i++)
        if (s.p[i] == ' ' && s.p[i - 1] == ' ')
            return true;
    return false;
}

/* The bands of the lines from `from` up to an empty one. */
static bool blank_bands(const sample *s, size_t from, bands *ret)
{
    enum { BANDS_LEAST = 3 };
    uint16_t count[WIDTH + 1] = { 0 };
    size_t to = from, padded = 0;
    for (; to < s->n && s->line[to].n > 0; to++) {
        if (!mark_filled(s->line[to], count))
            return false;
        padded += pads(s->line[to]);
    }
    ret->n = 0;
    for (size_t k = 0; k < WIDTH && ret->n < BANDS; k++) {
        if (count[k] > 0 && (k == 0 || count[k - 1] == 0))
            ret->from[ret->n++] = k;
        if (count[k] > 0)
            ret->to[ret->n - 1] = k + 1;
    }
    if (to - from < LINES_LEAST || 2 * padded < to - from || ret->n < BANDS_LEAST)
        return false;
    for (size_t k = 0; k < ret->n; k++)
        if (holding(s, from, from + 1, ret->from[k], ret->to[k]) == 0 ||
            2 * holding(s, from + 1, to, ret->from[k], ret->to[k]) < to - from - 1)
            return false;
    return true;
}

/* ---- writing it anew ------------------------------------------------------------------------------- */

typedef struct {
    char *p;
    size_t n;
} out;

static void put_field(out *o, tab_str s, bool first)
{
    s = trimmed(s);
    if (!first)
        o->p[o->n++] = TAB_DRAWN_DELIMITER;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != '\\' || i + 1 == s.n || s.p[i + 1] != '|') /* \| is a bar */
            o->p[o->n++] = s.p[i] == TAB_DRAWN_DELIMITER ? ' ' : s.p[i];
}

static void put_barred(out *o, tab_str line)
{
    tab_str s = trimmed(line);
    size_t from = s.n > 0 && s.p[0] == '|';
    size_t to = s.n > 1 && s.p[s.n - 1] == '|' && s.p[s.n - 2] != '\\' ? s.n - 1 : s.n;
    bool first = true;
    for (size_t i = from; i <= to; i++)
        if (i == to || (s.p[i] == '|' && (i == 0 || s.p[i - 1] != '\\'))) {
            put_field(o, (tab_str){ s.p + from, i - from }, first);
            from = i + 1;
            first = false;
        }
}

/* The byte at which field k begins: where its band does, or before what reaches into the blanks on its
 * left. */
static size_t begins_at(tab_str line, const size_t *at, size_t chars, const bands *b, size_t k)
{
    size_t col = b->from[k];
    if (k == 0)
        return 0;
    if (col >= chars)
        return line.n;
    for (size_t c = col; c > b->to[k - 1] && c > 0; c--)
        if (line.p[at[c - 1]] == ' ')
            return at[c];
    return at[col];
}

static void put_cut(out *o, tab_str line, const bands *b)
{
    size_t at[WIDTH + 1], chars = 0;
    for (size_t i = 0; i < line.n && chars < WIDTH; i++)
        if (begins_character(line.p[i]))
            at[chars++] = i;
    for (size_t k = 0, from = 0; k < b->n && (k == 0 || from < line.n); k++) { /* what is short is padded */
        size_t to = k + 1 < b->n ? begins_at(line, at, chars, b, k + 1) : line.n;
        put_field(o, (tab_str){ line.p + from, to - from }, k == 0);
        from = to;
    }
}

static bool is_blank(tab_str s)
{
    return trimmed(s).n == 0;
}

/* b: NULL where bars cut. The first `above` lines are kept as they are. */
static tab_status rewrite(tab_arena *a, tab_str *text, const bands *b, size_t above, tab_drawn *ret,
                          tab_error *err)
{
    tab_str rest = *text, line;
    size_t table = 0;
    out o = { .p = tab_arena_alloc(a, 2 * text->n + 2, 1) }; /* a field begins at a byte of its own */
    if (o.p == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; next_line(&rest, &line); i++) {
        bool barred = b == NULL && bars(line) > 0;
        if (is_rule(line)) {
            ret->rules++;
            continue;
        }
        ret->below = barred ? 0 : ret->below + (table > 0 && !is_blank(line));
        if (barred)
            put_barred(&o, line);
        else if (b == NULL || i < above)
            put_field(&o, line, true);
        else if (!is_blank(line))
            put_cut(&o, line, b);
        o.p[o.n++] = '\n';
        table = barred ? o.n : table;
    }
    if (b != NULL)
        ret->below = 0;
    *text = (tab_str){ o.p, b == NULL ? table : o.n };
    ret->is = true;
    ret->sign = b == NULL ? '|' : ' ';
    return TAB_OK;
}

tab_status tab_drawn_text(tab_arena *a, tab_str *text, bool padded, tab_drawn *ret, tab_error *err)
{
    sample s = { .n = 0 };
    bands b;
    bool rule = false;
    *ret = (tab_drawn){ .is = false };
    for (tab_str rest = *text; s.n < LOOKED && next_line(&rest, &s.line[s.n]); s.n++) {
        if (s.line[s.n].n > 1 << 16)
            return TAB_OK;
        rule |= is_rule(s.line[s.n]);
    }
    if (rule && is_barred(&s))
        return rewrite(a, text, NULL, 0, ret, err);
    if (rule && ruled_bands(&s, &b))
        return rewrite(a, text, &b, 0, ret, err);
    for (size_t i = 0; padded && i < ABOVE && i + LINES_LEAST <= s.n; i++)
        if (blank_bands(&s, i, &b))
            return rewrite(a, text, &b, i, ret, err);
    return TAB_OK;
}
