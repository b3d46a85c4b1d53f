/* Values beside the other values of their column.
 *
 *   format   the form of a value (letters, digits and signs, runs as one) is one that next to no other cell
 *            has. How much that says depends on the column: where forms abound (names, titles) a new one is
 *            nothing; so what is measured is the share of all cells whose form is as rare. A value of
 *            more words than others, or with a dash between them, is written as they are.
 *   typo     one edit away from a value that stands far more often (Damerau 1964; candidates by deletion
 *            neighbourhoods, Mor & Fraenkel 1982), in a column whose frequent values are not themselves one
 *            edit apart ("A1", "A2"). Of long texts that stand once, the same of their words. */
#include <math.h>
#include <stdlib.h>

#include "common/base/hash.h"
#include "common/base/order.h"
#include "services/inference/engine/suspects/parts.h"

enum { LONGEST = 64, SHORTEST = 4 };

/* ---- forms ------------------------------------------------------------------------------------------ */

/* Small letters, capitals, a capital first, or of both cases; others than Latin letters say nothing. */
static char word_class(tab_str t)
{
    bool first = !(t.p[0] >= 'a' && t.p[0] <= 'z'), capital = false, small = false;
    for (size_t i = 1; i < t.n; i++) {
        capital |= t.p[i] >= 'A' && t.p[i] <= 'Z';
        small |= t.p[i] >= 'a' && t.p[i] <= 'z';
    }
    return capital && small ? 'M' : first && small ? 'T' : first ? 'U' : capital ? 'M' : 's';
}

/* The hash of a text's form, several words of one case with a sign between as one word of that case. */
static uint64_t worded(tab_str t)
{
    char form[LONGEST];
    size_t n = 0;
    for (size_t i = 0, k; i < t.n && n < LONGEST; i = k) {
        char c = tab_sign_class((unsigned char)t.p[i]);
        for (k = i + 1; c == 'a' && k < t.n && tab_sign_class((unsigned char)t.p[k]) == 'a'; k++)
            ;
        if (c == '.' && k < t.n && t.p[k] == ' ')
            continue; /* St. Lawrence */
        c = c == 'a' ? word_class((tab_str){ t.p + i, k - i }) : c;
        bool joins = n > 1 && form[n - 2] == c && memchr(" -/'&", form[n - 1], 5) != NULL;
        if (joins && (c == 'M' || c == 'T' || c == 'U' || c == 's'))
            n--;
        else if (c != '9' || n == 0 || form[n - 1] != '9')
            form[n++] = c;
    }
    return tab_fnv1a(TAB_FNV1A, form, n);
}

static int by_form(const void *a, const void *b)
{
    const tab_formed *x = a, *y = b;
    return x->form != y->form ? (x->form > y->form) - (x->form < y->form)
                              : (x->level > y->level) - (x->level < y->level);
}

/* share (levels): of the column's cells, how many have a form that is as rare as this level's. *top: the
 * share of the commonest form. */
static bool rarities(tab_search *s, const tab_seen *v, bool exact, float *share, float *top)
{
    tab_formed *f = tab_arena_new_of(s->scratch, tab_formed, v->levels + 1);
    uint32_t *of = tab_arena_new_of(s->scratch, uint32_t, v->levels + 1); /* cells of the level's form */
    uint32_t *sorted = tab_arena_new_of(s->scratch, uint32_t, v->levels + 1);
    uint64_t *below =
        tab_arena_new_of(s->scratch, uint64_t, v->levels + 1); /* cells of forms up to this one */
    if (f == NULL || of == NULL || sorted == NULL || below == NULL)
        return false;
    for (size_t l = 0; l < v->levels; l++)
        f[l] = (tab_formed){ tab_suspects_form(v->text[l], exact), (uint32_t)l };
    qsort(f, v->levels, sizeof *f, by_form);
    size_t forms = 0;
    for (size_t i = 0, k; i < v->levels; i = k) {
        uint32_t cells = 0;
        for (k = i; k < v->levels && f[k].form == f[i].form; k++)
            cells += v->count[f[k].level];
        for (size_t j = i; j < k; j++)
            of[f[j].level] = cells;
        sorted[forms++] = cells;
    }
    qsort(sorted, forms, sizeof *sorted, tab_ascending_u32);
    *top = (float)sorted[forms - 1] / (float)v->present;
    for (size_t i = 0; i < forms; i++)
        below[i] = sorted[i] + (i > 0 ? below[i - 1] : 0);
    for (size_t l = 0; l < v->levels; l++) {
        size_t from = 0, to = forms; /* the first form of more cells */
        while (from < to) {
            size_t mid = (from + to) / 2;
            if (sorted[mid] <= of[l])
                from = mid + 1;
            else
                to = mid;
        }
        share[l] = (float)((double)below[from - 1] / (double)v->present);
    }
    return true;
}

/* share (levels): of the column's cells, how many are of this level's words. */
static bool shares_of_words(tab_search *s, const tab_seen *v, float *share)
{
    tab_formed *f = tab_arena_new_of(s->scratch, tab_formed, v->levels + 1);
    if (f == NULL)
        return false;
    for (size_t l = 0; l < v->levels; l++)
        f[l] = (tab_formed){ worded(v->text[l]), (uint32_t)l };
    qsort(f, v->levels, sizeof *f, by_form);
    for (size_t i = 0, k; i < v->levels; i = k) {
        double cells = 0;
        for (k = i; k < v->levels && f[k].form == f[i].form; k++)
            cells += v->count[f[k].level];
        for (size_t j = i; j < k; j++)
            share[f[j].level] = (float)(cells / (double)v->present);
    }
    return true;
}

/* ---- a digit for a letter, a zero that was lost -------------------------------------------------------- */

static const double TAKES = 0.8; /* of the cells have the form that a slip undone leads to */

/* The share of cells of the commonest exact form; *ret: that form. */
static bool commonest(tab_search *s, const tab_seen *v, uint64_t *ret, double *ret_share)
{
    tab_formed *f = tab_arena_new_of(s->scratch, tab_formed, v->levels + 1);
    double most = 0;
    if (f == NULL)
        return false;
    for (size_t l = 0; l < v->levels; l++)
        f[l] = (tab_formed){ tab_suspects_form(v->text[l], true), (uint32_t)l };
    qsort(f, v->levels, sizeof *f, by_form);
    for (size_t i = 0, k; i < v->levels; i = k) {
        double cells = 0;
        for (k = i; k < v->levels && f[k].form == f[i].form; k++)
            cells += v->count[f[k].level];
        if (cells > most)
            most = cells, *ret = f[i].form;
    }
    *ret_share = most / (double)v->present;
    return true;
}

/* Whether some values are digits with a zero in front. */
static bool begins_with_zeros(const tab_seen *v)
{
    size_t cells = 0;
    for (size_t l = 0; l < v->levels; l++)
        cells += v->text[l].n > 1 && v->text[l].p[0] == '0' ? v->count[l] : 0;
    return cells > v->present / 100;
}

/* Whether one letter for the digit that looks like it, a digit for a letter, or (zeros) a zero in front makes
 * the text of that form. */
static bool slipped(tab_str t, uint64_t form, bool zeros)
{
    char buf[LONGEST + 1];
    bool digits = zeros && t.n > 1;
    if (t.n >= LONGEST)
        return false;
    for (size_t i = 0; i < t.n; i++)
        digits &= t.p[i] >= '0' && t.p[i] <= '9';
    for (size_t i = 0; i < t.n; i++)
        for (size_t p = 0; p < TAB_LOOKALIKES; p++)
            for (int way = 0; way < 2; way++) {
                if (t.p[i] != tab_lookalikes[p][way])
                    continue;
                memcpy(buf, t.p, t.n);
                buf[i] = tab_lookalikes[p][1 - way];
                if (tab_suspects_form((tab_str){ buf, t.n }, true) == form)
                    return true;
            }
    buf[0] = '0';
    memcpy(buf + 1, t.p, t.n);
    return digits && tab_suspects_form((tab_str){ buf, t.n + 1 }, true) == form;
}

static bool is_digit(tab_str t, size_t i)
{
    return i < t.n && t.p[i] >= '0' && t.p[i] <= '9';
}

/* A number of 1,000 and more without what parts its thousands: 913.50 and 1,184,389.50 are of one form. */
static tab_str ungrouped(tab_arena *a, tab_str t, double value)
{
    size_t n = 0, at = 0, run = 0;
    while (at < t.n && !is_digit(t, at))
        at++;
    while (is_digit(t, at + run))
        run++;
    if (!(fabs(value) >= 1000) || run == 0 || run > 3 || at + run >= t.n)
        return t;
    char *out = tab_arena_alloc(a, t.n, 1), sign = t.p[at + run];
    for (size_t i = 0; out != NULL && i < t.n; i++) {
        bool group = i > 0 && t.p[i] == sign && is_digit(t, i - 1) && is_digit(t, i + 1) &&
                     is_digit(t, i + 2) && is_digit(t, i + 3) && !is_digit(t, i + 4);
        if (!group)
            out[n++] = t.p[i];
    }
    return (tab_str){ out, n };
}

/* The column's values as their forms are taken; NULL: memory ran out. */
static const tab_str *texts_of(tab_search *s, const tab_seen *v)
{
    if (v->num == NULL)
        return v->text;
    tab_str *text = tab_arena_new_of(s->scratch, tab_str, v->levels + 1);
    for (size_t l = 0; text != NULL && l < v->levels; l++)
        text[l] = v->text[l];
    for (size_t i = 0; text != NULL && i < s->rows; i++) {
        uint32_t l = v->code[i];
        if (l != TAB_NULL && !isnan(v->num[i]) && text[l].p == v->text[l].p)
            text[l] = ungrouped(s->scratch, v->text[l], v->num[i]);
    }
    return tab_arena_full(s->scratch) ? NULL : text;
}

/* What is known of the values of rare forms. */
typedef struct {
    bool *is;    /* (levels) */
    bool *drawn; /* (levels) the column makes their form by chance */
    float *own;  /* (levels) they are values of their own (own_values.c) */
} rare_values;

/* False: memory ran out. */
static bool rare_of(tab_search *s, const tab_seen *v, const float *rough, const float *exact,
                    rare_values *ret)
{
    tab_formed *f = tab_arena_new_of(s->scratch, tab_formed, v->levels + 1);
    size_t n = 0;
    ret->is = tab_arena_new_of(s->scratch, bool, v->levels + 1);
    ret->drawn = tab_arena_new_of(s->scratch, bool, v->levels + 1);
    ret->own = tab_arena_new_of(s->scratch, float, v->levels + 1);
    if (f == NULL || ret->is == NULL || ret->drawn == NULL || ret->own == NULL)
        return false;
    for (size_t l = 0; l < v->levels; l++)
        if (rough[l] <= 0.03F || exact[l] <= 0.01F) {
            ret->is[l] = true;
            f[n++] = (tab_formed){ tab_suspects_form(v->text[l], true), (uint32_t)l };
        }
    if (n == 0)
        return true;
    qsort(f, n, sizeof *f, by_form);
    return tab_suspects_drawn(s, v, f, n, ret->drawn) &&
           tab_suspects_own_values(s, v, ret->is, f, n, ret->own);
}

static void forms(tab_search *s, size_t column)
{
    tab_seen as = s->seen[column];
    const tab_seen *v = &as;
    rare_values rare;
    as.text = texts_of(s, v);
    float *rough = tab_arena_new_of(s->scratch, float, v->levels + 1), top = 0, exact_top = 0;
    float *exact = tab_arena_new_of(s->scratch, float, v->levels + 1);
    float *words = tab_arena_new_of(s->scratch, float, v->levels + 1);
    if (as.text == NULL || rough == NULL || exact == NULL || words == NULL ||
        !shares_of_words(s, &as, words) || !rarities(s, v, false, rough, &top) ||
        !rarities(s, v, true, exact, &exact_top) || !rare_of(s, v, rough, exact, &rare)) {
        s->failed = true;
        return;
    }
    bool *slip = tab_arena_new_of(s->scratch, bool, v->levels + 1), zeros = begins_with_zeros(v);
    bool *alike = tab_arena_new_of(s->scratch, bool, v->levels + 1);
    uint64_t usual = 0;
    tab_lower_tail tail;
    double taken;
    if (slip == NULL || alike == NULL || !tab_suspects_marked_alike(s, v, alike) ||
        !commonest(s, v, &usual, &taken) || !tab_suspects_lower_tail(s, v, rough, &tail)) {
        s->failed = true;
        return;
    }
    (void)tab_suspects_addresses(v, alike);
    for (size_t l = 0; taken >= TAKES && v->num == NULL && l < v->levels; l++)
        slip[l] = exact[l] <= 0.05F && slipped(v->text[l], usual, zeros);
    for (size_t i = 0; i < s->rows; i++) {
        uint32_t l = v->code[i];
        bool read =
            v->num != NULL && !isnan(v->num[i]); /* 4/2/15 and 11/15/13 are of one form, 9 and 10 too */
        if (l == TAB_NULL || (rare.drawn[l] && !read && !slip[l]) ||
            (rough[l] > 0.03F && (exact[l] > 0.01F || read) && !slip[l]) ||
            (read && tab_in_lower_tail(&tail, v->text[l], v->num[i])) || alike[l])
            continue;
        tab_suspect *c = tab_suspects_add(s, i, column, TAB_SUSPECT_FORMAT);
        if (c == NULL)
            return;
        double cells = (double)v->present;
        c->f[0] = rough[l] <= 0.03F ? 1 : 0;
        c->f[1] = (float)(-log10(rough[l]) / 3);
        c->f[2] = (float)(-log10(exact[l]) / 3);
        c->f[3] = top;
        c->f[4] = exact_top;
        c->f[5] = (float)(tab_log_count(cells) / 4);
        c->f[6] = (v->col->type == TAB_NUMERIC || v->col->type == TAB_DATETIME) &&
                  isnan(v->num == NULL ? 0 : v->num[i]);
        c->f[7] = v->col->type == TAB_TEXT ? 1 : 0;
        c->f[8] = (float)v->levels / (float)v->present;
        c->f[9] = v->count[l] == 1;
        c->f[10] = (float)(tab_log_count(v->count[l]) / 2);
        c->f[11] = words[l];
        c->f[12] = (float)sqrt(words[l]);
        c->f[13] = slip[l] ? (float)taken : 0;
        c->f[14] = slip[l] ? 0 : rare.own[l];
        c->agree = (uint32_t)((1 - (rough[l] <= 0.03F ? rough[l] : exact[l])) * (float)v->present);
        c->of = (uint32_t)v->present;
    }
}

/* ---- typos ------------------------------------------------------------------------------------------ */

typedef struct {
    uint64_t key; /* a text with one byte left out, or whole */
    uint32_t word;
} deleted;

static int by_key(const void *a, const void *b)
{
    const deleted *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (x->word > y->word) - (x->word < y->word);
}

/* Words whose frequent neighbours are looked for: values of a column, or the words of its texts. */
typedef struct {
    const tab_str *text; /* (n) */
    const uint32_t *count;
    size_t n;
    uint32_t *near; /* (n) the most frequent one an edit away; TAB_NULL: none */
    bool *digit;    /* (n) a digit is what differs */
    float twins;    /* share of frequent words that have a neighbour as frequent as they are */
} words;

static uint64_t without(tab_str t, size_t cut)
{
    uint64_t h = tab_fnv1a(TAB_FNV1A, t.p, cut);
    return cut < t.n ? tab_fnv1a(h, t.p + cut + 1, t.n - cut - 1) : h;
}

static void meet(words *w, uint32_t a, uint32_t b)
{
    bool digit;
    if (w->count[a] > w->count[b] || (w->count[a] == w->count[b] && a < b)) {
        uint32_t t = a;
        a = b, b = t;
    }
    if ((w->near[a] == TAB_NULL || w->count[w->near[a]] < w->count[b]) &&
        tab_one_edit(w->text[a], w->text[b], &digit))
        w->near[a] = b, w->digit[a] = digit;
}

/* Fills near, digit and twins. Buckets of more than 64 are looked at in part: what is near so many is no
 * typo. */
static bool neighbours(tab_arena *a, words *w)
{
    size_t n = 0, frequent = 0, twins = 0;
    for (size_t i = 0; i < w->n; i++)
        n += w->text[i].n >= SHORTEST && w->text[i].n <= LONGEST ? w->text[i].n + 1 : 0;
    deleted *d = tab_arena_new_of(a, deleted, n + 1);
    w->near = tab_arena_new_of(a, uint32_t, w->n + 1);
    w->digit = tab_arena_new_of(a, bool, w->n + 1);
    if (d == NULL || w->near == NULL || w->digit == NULL)
        return false;
    n = 0;
    for (size_t i = 0; i < w->n; i++) {
        w->near[i] = TAB_NULL;
        if (w->text[i].n < SHORTEST || w->text[i].n > LONGEST)
            continue;
        for (size_t cut = 0; cut <= w->text[i].n; cut++)
            d[n++] = (deleted){ without(w->text[i], cut), (uint32_t)i };
    }
    qsort(d, n, sizeof *d, by_key);
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i; k < n && d[k].key == d[i].key; k++)
            for (size_t j = k > i + 64 ? k - 64 : i; j < k; j++)
                if (d[j].word != d[k].word)
                    meet(w, d[j].word, d[k].word);
    }
    for (size_t i = 0; i < w->n; i++) {
        bool often = w->count[i] >= 3;
        frequent += often;
        twins += often && w->near[i] != TAB_NULL && w->count[w->near[i]] < 5 * w->count[i];
    }
    w->twins = frequent > 0 ? (float)twins / (float)frequent : 0;
    return true;
}

/* A word that stands where one an edit away stands far more often. */
static bool rare_beside(const words *w, uint32_t i)
{
    return w->near[i] != TAB_NULL && w->count[w->near[i]] >= 3 * w->count[i] && w->count[w->near[i]] >= 3;
}

static void measure_typo(tab_suspect *c, const words *w, uint32_t i, const tab_seen *v, bool of_words)
{
    uint32_t k = w->near[i];
    c->f[0] = (float)(tab_log_count(w->count[k]) / 3);
    c->f[1] = (float)(tab_log_count((double)w->count[k] / w->count[i]) / 3);
    c->f[2] = w->digit[i];
    c->f[3] = w->twins;
    c->f[4] = (float)w->text[i].n / 16;
    c->f[TAB_TYPO_OF_WORDS] = of_words;
    c->f[6] = w->count[i] == 1;
    c->f[7] = (float)w->n / (float)v->present;
    c->f[8] = w->text[i].n > 0 && w->text[i].p[0] != w->text[k].p[0];
    c->f[9] = v->col->type == TAB_NUMERIC || v->col->type == TAB_DATETIME;
    c->agree = w->count[k];
    c->of = w->count[k] + w->count[i];
}

static void values_misspelt(tab_search *s, size_t column)
{
    const tab_seen *v = &s->seen[column];
    words w = { .text = v->text, .count = v->count, .n = v->levels };
    if (!neighbours(s->scratch, &w)) {
        s->failed = true;
        return;
    }
    for (size_t i = 0; i < s->rows; i++) {
        uint32_t l = v->code[i];
        if (l == TAB_NULL || !rare_beside(&w, l))
            continue;
        tab_suspect *c = tab_suspects_add(s, i, column, TAB_SUSPECT_TYPO);
        if (c == NULL)
            return;
        measure_typo(c, &w, l, v, false);
        c->suggestion = v->text[w.near[l]];
    }
}

/* ---- words of texts --------------------------------------------------------------------------------- */

enum { MOST_WORDS = 200000 };

typedef struct {
    tab_str text;
    uint64_t hash;
    uint32_t level, place; /* of the word's text in its column; where it begins there */
} placed;

static int by_hash(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash)
                              : (x->level > y->level) - (x->level < y->level);
}

/* Letters alone, in runs: what can be misspelt. */
static size_t cut_words(const tab_seen *v, placed *ret)
{
    size_t n = 0;
    for (size_t l = 0; l < v->levels; l++)
        for (size_t i = 0, k; i < v->text[l].n; i = k + 1) {
            tab_str t = v->text[l];
            for (k = i; k < t.n && tab_sign_class((unsigned char)t.p[k]) == 'a'; k++)
                ;
            if (k - i < SHORTEST || v->count[l] == 0 || n == MOST_WORDS)
                continue;
            tab_str word = { t.p + i, k - i };
            ret[n++] = (placed){ word, tab_fnv1a(TAB_FNV1A, word.p, word.n), (uint32_t)l, (uint32_t)i };
        }
    return n;
}

static tab_str with_word(tab_arena *a, tab_str text, size_t place, tab_str was, tab_str word)
{
    char *p = tab_arena_printf(a, "%.*s%.*s%.*s", (int)place, text.p, TAB_STR(word),
                               (int)(text.n - place - was.n), text.p + place + was.n);
    return tab_str_of(p);
}

/* A column of texts that hardly repeat: a word that stands once beside one that stands often. */
static void words_misspelt(tab_search *s, size_t column)
{
    tab_arena *a = s->scratch;
    const tab_seen *v = &s->seen[column];
    placed *at = tab_arena_new_of(a, placed, MOST_WORDS);
    size_t n = at == NULL ? 0 : cut_words(v, at), kinds = 0;
    uint32_t *row_of = tab_arena_new_of(a, uint32_t, v->levels + 1);
    tab_str *text = tab_arena_new_of(a, tab_str, n + 1);
    uint32_t *count = tab_arena_new_of(a, uint32_t, n + 1), *first = tab_arena_new_of(a, uint32_t, n + 1);
    words w = { .text = text, .count = count };
    if (at == NULL || row_of == NULL || text == NULL || count == NULL || first == NULL) {
        s->failed = true;
        return;
    }
    for (size_t i = s->rows; i-- > 0;)
        if (v->code[i] != TAB_NULL)
            row_of[v->code[i]] = (uint32_t)i;
    qsort(at, n, sizeof *at, by_hash);
    for (size_t i = 0; i < n; i++) {
        bool same = i > 0 && at[i].hash == at[i - 1].hash;
        kinds += !same;
        text[kinds - 1] = at[i].text;
        first[kinds - 1] = (uint32_t)i;
        count[kinds - 1] += v->count[at[i].level];
    }
    w.n = kinds;
    if (!neighbours(a, &w)) {
        s->failed = true;
        return;
    }
    for (size_t k = 0; k < kinds; k++) {
        const placed *q = &at[first[k]];
        if (count[k] != 1 || !rare_beside(&w, (uint32_t)k))
            continue;
        tab_suspect *c = tab_suspects_add(s, row_of[q->level], column, TAB_SUSPECT_TYPO);
        if (c == NULL)
            return;
        measure_typo(c, &w, (uint32_t)k, v, true);
        c->suggestion = with_word(s->arena, v->text[q->level], q->place, q->text, text[w.near[k]]);
    }
}

static void of_column(tab_search *s, size_t column)
{
    const tab_seen *v = &s->seen[column];
    if (v->present < TAB_SUSPECT_ROWS || v->levels < 2 || v->levels > TAB_SUSPECT_LEVELS)
        return;
    if (v->col->column->layout == TAB_CODED)
        forms(s, column);
    bool letters = v->col->type != TAB_NUMERIC && v->col->type != TAB_DATETIME;
    if (letters && !s->failed) {
        values_misspelt(s, column);
        if (v->levels > v->present / 2 && !s->failed)
            words_misspelt(s, column);
    }
}

void tab_suspects_spelling(tab_search *s)
{
    tab_arena *given = s->scratch;
    for (size_t c = 0; c < s->p->table->cols && !s->failed && !tab_engine_cancelled(s->e); c++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(TAB_SUSPECT_BYTES);
        s->scratch = a;
        s->failed = a == NULL;
        if (a != NULL)
            of_column(s, c);
        s->scratch = given;
    }
}
