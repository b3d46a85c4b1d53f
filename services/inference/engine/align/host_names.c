/* See host_names.h. The names of the hosts are put into a table by their letters without marks; then the
 * values of the other tables' columns are looked up, their first word, their first two words, and so on.
 *
 *   hotels-mining.net ─> hotelsmining <─ hotels + mining <─ "Hotels Mining AB" */
#include "services/inference/engine/align/host_names.h"

#include <stdlib.h>

#include "services/inference/engine/lexicon/lexicon.h"

/* LOOKED: levels that are looked at, and GLANCE of them before a column of words is left. SOME hosts of a
 * column are divided as names of one other column: no chance. WORDS of a name are tried. */
enum { LOOKED = 20000, GLANCE = 50, LEAST = 5, MOST = 63, SOME = 3, WORDS = 6, COLUMNS = 64 };

typedef struct {
    uint64_t hash; /* of the name without marks; 0: free */
    uint32_t seen; /* the last column of names that divides it, counted from 1; 0: none so far */
    uint32_t from; /* the column of hosts, counted from 1; of several, the first */
    tab_str words; /* what it is read as */
    enum { UNREAD, BEGINS, NAMED, SHARED } state;
} host;

struct tab_host_names {
    host *at;
    size_t slots; /* a power of 2; 0: there are no hosts */
    struct {
        size_t table, column;
        size_t shared; /* hosts that a column of another table has as well */
        bool named;    /* by names of another table */
        bool beside;   /* by names of its own table, which say as much */
    } column[COLUMNS];
    size_t columns;
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "https://www.example.co.uk/about" without what is in front of the host and behind it. */
static tab_str host_of(tab_str s)
{
    static const char *const front[] = { "https://", "http://", "www." };
    for (size_t i = 0; i < sizeof front / sizeof *front; i++) {
        size_t n = strlen(front[i]);
        if (s.n > n && strncasecmp(s.p, front[i], n) == 0)
            s = (tab_str){ s.p + n, s.n - n };
    }
    size_t n = 0;
    while (n < s.n && s.p[n] != '/' && s.p[n] != ':')
        n++;
    return (tab_str){ s.p, n };
}

/* The label that somebody chose: the last but one, or the one before where that is of a registry ("co.uk",
 * "com.br"). NULL where s is no host. */
static tab_str label_of(tab_str s)
{
    s = host_of(s);
    size_t dot[3] = { 0 }, dots = 0, last = 0; /* where the last labels begin */
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!is_letter(c) && !is_digit(c) && c != '-' && c != '.')
            return (tab_str){ NULL, 0 };
        if (c == '.') {
            dot[0] = dot[1], dot[1] = last, last = i + 1;
            dots++;
        }
    }
    for (size_t i = last; i < s.n; i++)
        if (!is_letter(s.p[i]))
            return (tab_str){ NULL, 0 };
    if (dots == 0 || s.n - last < 2)
        return (tab_str){ NULL, 0 };
    tab_str own = { s.p + dot[1], last - 1 - dot[1] };
    static const char *const registry[] = { "co", "com", "org", "net", "ac", "gov", "edu", "ne", "or" };
    for (size_t i = 0; dots > 1 && s.n - last == 2 && i < sizeof registry / sizeof *registry; i++)
        if (own.n == strlen(registry[i]) && strncasecmp(own.p, registry[i], own.n) == 0)
            return (tab_str){ s.p + dot[0], dot[1] - 1 - dot[0] };
    return own;
}

/* A label in small letters without hyphens; 0: it is too short, or longer than labels are. */
static size_t close_label(tab_str label, char out[MOST])
{
    size_t n = 0;
    for (size_t i = 0; i < label.n; i++) {
        if (label.p[i] == '-')
            continue;
        if (n == MOST)
            return 0;
        out[n++] = is_letter(label.p[i]) ? (char)(label.p[i] | 32) : label.p[i];
    }
    return n < LEAST ? 0 : n;
}

static host *find(const tab_host_names *h, const char *label, size_t n)
{
    uint64_t hash = tab_hash_bytes(label, n, 0) | 1;
    size_t i = hash & (h->slots - 1);
    while (h->at[i].hash != 0 && h->at[i].hash != hash)
        i = (i + 1) & (h->slots - 1);
    return &h->at[i];
}

/* Whether nine in ten of a column's levels are hosts. */
static bool holds_hosts(const tab_column *c)
{
    size_t seen = 0, hosts = 0, step = c->levels / LOOKED + 1;
    for (size_t i = 0; i < c->levels; i += step) {
        tab_str s = tab_level(c, i);
        seen += s.n > 0;
        hosts += s.n > 0 && label_of(s).p != NULL;
        if (seen >= GLANCE && hosts * 10 < seen * 9)
            return false;
    }
    return hosts >= SOME && hosts * 10 >= seen * 9;
}

/* The columns of hosts, and their number of levels. */
static size_t find_columns(tab_profile *const *profiles, size_t n, tab_host_names *h)
{
    size_t levels = 0;
    for (size_t t = 0; t < n; t++)
        for (size_t c = 0; c < profiles[t]->table->cols && h->columns < COLUMNS; c++) {
            const tab_column *column = profiles[t]->col[c].column;
            if (column->layout == TAB_NUMBERS || !holds_hosts(column))
                continue;
            h->column[h->columns].table = t;
            h->column[h->columns++].column = c;
            levels += column->levels < LOOKED ? column->levels : 2 * LOOKED;
        }
    return levels;
}

static void put_hosts(tab_host_names *h, const tab_column *c, size_t k)
{
    char label[MOST];
    size_t step = c->levels / LOOKED + 1;
    for (size_t i = 0; i < c->levels; i += step) {
        size_t n = close_label(label_of(tab_level(c, i)), label);
        host *x = n == 0 ? NULL : find(h, label, n);
        if (x == NULL)
            continue;
        if (x->hash == 0) {
            *x = (host){ .hash = tab_hash_bytes(label, n, 0) | 1, .from = (uint32_t)k + 1 };
        } else if (h->column[x->from - 1].table != h->column[k].table) {
            h->column[x->from - 1].shared++;
            h->column[k].shared++;
        }
    }
}

/* Whether all words of a text are legal forms. */
static bool is_legal_form(const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && text[end] != ' ')
            end++;
        const tab_lexeme *l = end == i ? NULL : tab_lexicon_find((tab_str){ text + i, end - i });
        if (end > i && (l == NULL || (l->lists >> TAB_LIST_ORG_FORM & 1) == 0))
            return false;
        i = end + 1;
    }
    return true;
}

/* A host is read as the whole name where that is its words and legal forms, and no other name is ("Acme Ltd",
 * "Acme GmbH"); else as its words. text: the name; first: the length of the words. False: out of memory. */
static bool read_as(host *x, tab_str text, size_t first, tab_arena *a)
{
    bool whole = is_legal_form(text.p + first, text.n - first);
    bool same = x->words.n == text.n && x->words.p != NULL && memcmp(x->words.p, text.p, text.n) == 0;
    if (!whole && x->state == UNREAD)
        x->state = BEGINS;
    else if (whole && x->state < NAMED)
        x->state = NAMED;
    else if (whole && x->state == NAMED && !same)
        x->state = SHARED;
    else
        return true;
    x->words = tab_arena_copy(a, (tab_str){ text.p, x->state == NAMED ? text.n : first });
    return x->words.p != NULL;
}

/* Looks up the first words of a name: two and more, or one before a legal form. hits (columns of hosts); own:
 * the table of the names, whose own hosts are not read so. False: out of memory. */
static bool divide(tab_host_names *h, tab_str name, uint32_t column, size_t own, tab_arena *a, size_t *hits)
{
    char text[TAB_NORMAL_MAX], closed[MOST];
    size_t n = tab_text_normal(name, text), m = 0, words = 1;
    for (size_t i = 0; i <= n && words <= WORDS && m < MOST; i++) {
        if (i < n && text[i] != ' ') {
            closed[m++] = text[i];
            continue;
        }
        host *x = m < LEAST ? NULL : find(h, closed, m);
        bool of_one = words++ == 1;
        if (x == NULL || x->hash == 0 || (of_one && (i == n || !is_legal_form(text + i, n - i))))
            continue;
        hits[x->from - 1] += x->seen != column;
        x->seen = column;
        if (h->column[x->from - 1].table != own && !read_as(x, (tab_str){ text, n }, i, a))
            return false;
    }
    return true;
}

static bool is_of_hosts(const tab_host_names *h, size_t table, size_t column)
{
    for (size_t k = 0; k < h->columns; k++)
        if (h->column[k].table == table && h->column[k].column == column)
            return true;
    return false;
}

/* Looks up the values of a column, the number-th of all. False: out of memory. */
static bool divide_by(tab_host_names *h, const tab_column *names, size_t table, uint32_t number, tab_arena *a)
{
    size_t hits[COLUMNS] = { 0 }, step = names->levels / LOOKED + 1;
    for (size_t i = 0; i < names->levels; i += step)
        if (!divide(h, tab_level(names, i), number, table, a, hits))
            return false;
    for (size_t k = 0; k < h->columns; k++) {
        bool beside = h->column[k].table == table;
        h->column[k].beside = h->column[k].beside || (beside && hits[k] >= SOME);
        h->column[k].named = h->column[k].named || (!beside && hits[k] >= SOME);
    }
    return true;
}

bool tab_host_names_find(tab_profile *const *profiles, size_t n, tab_arena *a, tab_host_names **ret)
{
    tab_host_names *h = *ret = tab_arena_new_of(a, tab_host_names, 1);
    size_t levels = h == NULL ? 0 : find_columns(profiles, n, h);
    if (h == NULL || levels == 0)
        return h != NULL;
    for (h->slots = 16; h->slots < 2 * levels;)
        h->slots *= 2;
    if ((h->at = tab_arena_new_of(a, host, h->slots)) == NULL)
        return false;
    for (size_t k = 0; k < h->columns; k++)
        put_hosts(h, profiles[h->column[k].table]->col[h->column[k].column].column, k);
    uint32_t number = 0;
    for (size_t t = 0; t < n; t++)
        for (size_t c = 0; c < profiles[t]->table->cols; c++) {
            const tab_column *names = profiles[t]->col[c].column;
            number++;
            if (names->layout != TAB_NUMBERS && !is_of_hosts(h, t, c) && !divide_by(h, names, t, number, a))
                return false;
        }
    return true;
}

bool tab_host_names_has(const tab_host_names *h, size_t table, size_t column)
{
    for (size_t k = 0; k < h->columns; k++)
        if (h->column[k].table == table && h->column[k].column == column)
            return h->column[k].named && !h->column[k].beside && h->column[k].shared < SOME;
    return false;
}

size_t tab_host_name(const tab_host_names *h, tab_str s, char out[TAB_NORMAL_MAX])
{
    char closed[MOST];
    tab_str label = label_of(s);
    size_t n = label.p == NULL ? 0 : close_label(label, closed);
    const host *x = n == 0 || h->slots == 0 ? NULL : find(h, closed, n);
    if (x == NULL || x->words.p == NULL)
        return label.p == NULL ? 0 : tab_text_normal(label, out);
    memcpy(out, x->words.p, x->words.n);
    return x->words.n;
}
