/* A list of people or of firms says of each a name, numbers and addresses by which one reaches them, and
 * where they are. Who moved stands in it twice, equal but for the address. Of any table's rows that
 * differ so the model of pairs thinks that they are two (orders of one customer look the same); but
 * where all that differs is how a person is reached, the name is one, and a number of theirs is one that
 * strangers do not share, they are one person (decision 0746). Fellegi and Sunter's sum over the name
 * and these numbers, with what strangers share counted in the table itself. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/align/text/normalize_text.h"
#include "services/inference/engine/lexicon/lexicon.h"
#include "services/inference/engine/link/evidence/contradictions.h"
#include "services/inference/engine/link/evidence/person_names.h"
#include "services/inference/engine/link/pairs/compare.h"
#include "services/inference/engine/profile/roles/roles.h"

/* What two rows of one person may differ in, and what tells a person. */
typedef enum {
    FIXED,  /* differ in it, and they are two */
    REACH,  /* a number or an address of a person's own: strangers do not share it, and it may change */
    PROVES, /* the same, and it does not change: a birth date, a number of a state */
    LIVES,  /* a street and a house: strangers do not share it, and it may change */
    MOVES,  /* where somebody lives */
    SITE,   /* of a firm: its branches share it */
    NAMES,  /* judged as a name */
    COUNTER /* numbers the rows */
} part;

typedef struct {
    const tab_twin_pairs *s;
    tab_naming who[2];    /* of people */
    const tab_view *firm; /* or of firms; else NULL */
    tab_nicknames *nick;
    part *part;    /* (cols) */
    double *rare;  /* (cols) how much it says that two rows have one value, nats */
    double *named; /* (rows) how much it says that another has this row's name */
} movers;

static part part_of(const movers *m, size_t c)
{
    const tab_twin_pairs *s = m->s;
    const tab_view *w = &s->t[0]->col[c];
    if (w == m->who[0].given || w == m->who[0].family || w == m->firm)
        return NAMES;
    if (s->voice != NULL && s->voice[c] == TAB_VOICE_WHOSE)
        return FIXED;
    switch ((tab_role)w->profile->role) {
    case TAB_ROLE_EMAIL:
    case TAB_ROLE_PHONE:
        return REACH;
    case TAB_ROLE_URL:
    case TAB_ROLE_DOMAIN:
        return m->firm != NULL ? SITE : FIXED;
    case TAB_ROLE_BIRTH_DATE:
    case TAB_ROLE_NATIONAL_ID:
    case TAB_ROLE_TAX_ID:
    case TAB_ROLE_PASSPORT:
    case TAB_ROLE_DRIVER_LICENSE:
        return PROVES;
    case TAB_ROLE_ADDRESS:
        return LIVES;
    case TAB_ROLE_CITY:
    case TAB_ROLE_POSTAL_CODE:
    case TAB_ROLE_REGION:
    case TAB_ROLE_PLACE:
    case TAB_ROLE_COUNTRY:
    case TAB_ROLE_COUNTRY_CODE:
    case TAB_ROLE_LATITUDE:
    case TAB_ROLE_LONGITUDE:
    case TAB_ROLE_COORDINATES:
        return MOVES;
    case TAB_ROLE_ID:
    case TAB_ROLE_UUID:
    case TAB_ROLE_HASH:
        return w->present == s->t[0]->rows && w->values == s->t[0]->rows ? COUNTER : FIXED;
    default:
        return FIXED;
    }
}

static uint32_t key_of(const tab_view *w, uint32_t row)
{
    return w->code[row] == TAB_NULL ? TAB_NULL : w->value[w->code[row]].key;
}

/* ---- what strangers share ------------------------------------------------------------------------ */

/* A row's cell of one column, and its name. */
typedef struct {
    uint32_t cell;
    uint64_t name;
} held;

static int by_cell(const void *a, const void *b)
{
    const held *x = a, *y = b;
    if (x->cell != y->cell)
        return x->cell < y->cell ? -1 : 1;
    return (x->name > y->name) - (x->name < y->name);
}

static int by_name(const void *a, const void *b)
{
    const held *x = a, *y = b;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    return (x->cell > y->cell) - (x->cell < y->cell);
}

static double pairs_of(double n)
{
    return n * (n - 1) / 2;
}

/* The share of pairs of rows of unlike names that have one value in the column, one pair more than there are:
 * of none it is not known that there are none. x (rows) is scratch. */
static double shared_by_strangers(const tab_view *w, const uint64_t *name, size_t rows, held *x)
{
    size_t n = 0;
    double same = 1;
    for (size_t r = 0; r < rows; r++)
        if (w->code[r] != TAB_NULL)
            x[n++] = (held){ key_of(w, (uint32_t)r), name[r] };
    qsort(x, n, sizeof *x, by_cell);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from; to < n && x[to].cell == x[from].cell; to++)
            ;
        same += pairs_of((double)(to - from));
        for (size_t i = from, j; i < to; i = j) {
            for (j = i; j < to && x[j].name == x[i].name; j++)
                ;
            same -= pairs_of((double)(j - i));
        }
    }
    return fmin(1, same / fmax(1, pairs_of((double)n)));
}

/* ---- e-mail addresses made of a name -------------------------------------------------------------- */

static void strike(char *s, size_t *n, tab_str word)
{
    char *at = word.n > 0 && word.n <= *n ? memmem(s, *n, word.p, word.n) : NULL;
    if (at == NULL)
        return;
    memmove(at, at + word.n, *n - (size_t)(at - s) - word.n);
    *n -= word.n;
}

/* Whether what stands before the @ is no more than the name and its initials, as a firm gives addresses out:
 * namesakes would have the same. The names are in normal form, the address as it is written. */
static bool made_of_name(tab_str mail, tab_str given, tab_str family)
{
    enum { MOST = 64, INITIALS = 2 };
    char s[MOST];
    size_t n = 0, letters = 0;
    for (size_t i = 0; i < mail.n && mail.p[i] != '@' && n < MOST; i++)
        s[n++] = mail.p[i] >= 'A' && mail.p[i] <= 'Z' ? (char)(mail.p[i] | 32) : mail.p[i];
    strike(s, &n, family);
    strike(s, &n, given);
    for (size_t i = 0; i < n; i++) {
        if (s[i] >= '0' && s[i] <= '9')
            return false;
        letters += (s[i] | 32) >= 'a' && (s[i] | 32) <= 'z';
    }
    return letters <= INITIALS;
}

/* ---- pairs ---------------------------------------------------------------------------------------- */

/* Whether the cell says more of a person than the name does. */
static bool own(const movers *m, size_t c, uint32_t row)
{
    const tab_view *w = &m->s->t[0]->col[c];
    return m->firm != NULL || (tab_role)w->profile->role != TAB_ROLE_EMAIL ||
           !made_of_name(tab_cell_at(w->profile->column, row).text,
                         tab_naming_given(m->s->v, &m->who[0], row),
                         tab_naming_family(m->s->v, &m->who[0], row));
}

/* Whether two rows have other values in a column of that part. */
static bool differ(const movers *m, part of, uint32_t a, uint32_t b)
{
    for (size_t c = 0; c < m->s->t[0]->cols; c++) {
        uint32_t x = key_of(&m->s->t[0]->col[c], a), y = key_of(&m->s->t[0]->col[c], b);
        if (m->part[c] == of && x != y && x != TAB_NULL && y != TAB_NULL)
            return true;
    }
    return false;
}

/* The evidence that a pair whose names are one is one person; 0 where something speaks against it, where
 * not more of what tells a person is the same than is another, or where nothing has moved: other rules
 * judge of rows that are equal. */
static double reached(const movers *m, uint32_t a, uint32_t b)
{
    static const double NAMED_MAIL = 0.7; /* not every firm gives addresses out by the name */
    enum { BRANCHES = 3 };
    double sum = 0;
    int same = 0;
    bool home = !differ(m, MOVES, a, b);
    if (differ(m, FIXED, a, b) || differ(m, PROVES, a, b))
        return 0;
    for (size_t c = 0; c < m->s->t[0]->cols; c++) {
        const tab_view *w = &m->s->t[0]->col[c];
        uint32_t x = key_of(w, a), y = key_of(w, b);
        if (x == TAB_NULL || y == TAB_NULL)
            continue;
        if (x != y) {
            same -= m->part[c] == REACH;
            continue;
        }
        if (m->firm != NULL && m->part[c] != LIVES && w->value[w->code[a]].rows > BRANCHES)
            continue; /* a chain's number */
        if (m->part[c] == FIXED || m->part[c] == SITE || m->part[c] == LIVES)
            sum += m->part[c] != LIVES || home ? m->rare[c] : 0;
        if (m->part[c] == REACH || m->part[c] == PROVES)
            sum += own(m, c, a) && own(m, c, b) ? m->rare[c] : NAMED_MAIL;
        /* a birth date of one name weighs up a number that is another, or written otherwise */
        same += m->part[c] == PROVES
                    ? 2
                    : m->part[c] == REACH || (home && (m->part[c] == LIVES || m->part[c] == SITE));
    }
    bool moved = !home || differ(m, REACH, a, b) || differ(m, LIVES, a, b) ||
                 (m->firm != NULL && differ(m, NAMES, a, b));
    return moved && same > 0 ? sum : 0;
}

static bool is_form(const tab_views *v, uint32_t token)
{
    const tab_lexeme *l = tab_lexicon_find((tab_str){ v->text + v->term_at[token], v->term_n[token] });
    return l != NULL && (l->lists >> TAB_LIST_ORG_FORM & 1) != 0;
}

/* Whether two firms' names are one but for the legal form, which one of them leaves out. */
static bool form_left_out(const tab_views *v, const tab_value *x, const tab_value *y)
{
    uint32_t i = 0, j = 0;
    size_t both = 0, own[2] = { 0 };
    while (i < x->tok_n || j < y->tok_n) {
        uint32_t p = i < x->tok_n ? v->tok[x->tok + i] : UINT32_MAX,
                 q = j < y->tok_n ? v->tok[y->tok + j] : UINT32_MAX, id = p < q ? p : q;
        if (p != q && !is_form(v, id))
            return false;
        both += p == q;
        own[0] += p < q;
        own[1] += q < p;
        i += p <= q;
        j += q <= p;
    }
    return both > 0 && (own[0] == 0 || own[1] == 0);
}

/* Whether the names are one but for how a word is spelt. Words of their own on both sides make them two firms
 * of one group (decision 0851). */
static bool spelt_alike(const tab_views *v, const tab_value *x, const tab_value *y)
{
    static const double LIKE = 0.9;
    tab_token_match m;
    return tab_text_similarity(v, x, y, &m) >= LIKE && (m.left_a == 0 || m.left_b == 0);
}

/* Whether both rows have one name: misspelt, or of a person an initial or a short form. */
static bool one_name(const movers *m, uint32_t a, uint32_t b)
{
    const tab_views *v = m->s->v;
    if (m->firm == NULL)
        return tab_kinship_of(v, m->nick, m->who, a, b) == TAB_KIN_PERSON;
    uint32_t x = m->firm->code[a], y = m->firm->code[b];
    return x != TAB_NULL && y != TAB_NULL &&
           (x == y || spelt_alike(v, &m->firm->value[x], &m->firm->value[y]) ||
            form_left_out(v, &m->firm->value[x], &m->firm->value[y]));
}

static void find(const movers *m)
{
    /* One row in twenty has a twin, before anything is seen, as in twin_rules.c. Nothing is surer than
     * MOST: two of one name may share a telephone, and two branches of one firm the more so. */
    static const double SHARE = 0.05, MOST = 0.95, MOST_APART = 0.8;
    const tab_twin_pairs *s = m->s;
    double prior = log(SHARE / (double)(s->rows + 1));
    for (size_t i = 0; i < s->n; i++) {
        /* numbers before names: these are compared letter by letter */
        double named = fmin(m->named[s->a[i]], m->named[s->b[i]]), by = reached(m, s->a[i], s->b[i]);
        if (by <= 0 || !one_name(m, s->a[i], s->b[i]))
            continue;
        bool apart =
            m->firm != NULL && (differ(m, MOVES, s->a[i], s->b[i]) || differ(m, LIVES, s->a[i], s->b[i]));
        s->p[i] = fmaxf(s->p[i], (float)((apart ? MOST_APART : MOST) / (1 + exp(-(prior + named + by)))));
    }
}

static uint64_t text_hash(tab_str t)
{
    return tab_hash_bytes(t.p, t.n, 1);
}

/* One of the names of a row: of a firm there is one, of a person the given and the family name. */
static uint64_t name_part(const movers *m, uint32_t r, bool family)
{
    if (m->firm != NULL)
        return key_of(m->firm, r);
    return text_hash(!family ? tab_naming_given(m->s->v, &m->who[0], r)
                             : tab_naming_family(m->s->v, &m->who[0], r));
}

/* How much it says that another row has the same name, were given and family names dealt apart: each
 * row's, in nats. name: (rows) of each row's whole name. x (rows) is scratch. */
static void rarity_of_names(const movers *m, uint64_t *name, held *x)
{
    const tab_twin_pairs *s = m->s;
    memset(name, 0, s->rows * sizeof *name);
    memset(m->named, 0, s->rows * sizeof *m->named);
    for (int k = 0; k < (m->firm != NULL ? 1 : 2); k++) {
        for (uint32_t r = 0; r < s->rows; r++) {
            x[r] = (held){ r, name_part(m, r, k == 1) };
            name[r] = tab_hash_mix(name[r], x[r].name);
        }
        qsort(x, s->rows, sizeof *x, by_name);
        for (size_t from = 0, to; from < s->rows; from = to) {
            for (to = from; to < s->rows && x[to].name == x[from].name; to++)
                ;
            for (size_t i = from; i < to; i++)
                m->named[x[i].cell] += log((double)s->rows / (double)(to - from));
        }
    }
}

/* Whose names the table has: people's, or else firms' in one column. */
static bool find_names(movers *m, size_t table)
{
    if (tab_naming_find(m->s->v, table, &m->who[0])) {
        m->who[1] = m->who[0];
        return true;
    }
    m->who[0] = (tab_naming){ 0 };
    for (size_t c = 0; c < m->s->t[0]->cols; c++) {
        const tab_view *w = &m->s->t[0]->col[c];
        tab_role role = (tab_role)w->profile->role;
        if (role == TAB_ROLE_NAME || role == TAB_ROLE_LAST_NAME || (role == TAB_ROLE_ORGANIZATION && m->firm))
            return false; /* of whom the rest of the row speaks, nobody knows */
        if (role == TAB_ROLE_ORGANIZATION)
            m->firm = w;
    }
    return m->firm != NULL;
}

bool tab_movers_find(tab_twin_pairs *s, size_t table, tab_arena *a)
{
    movers m = { .s = s };
    if (s->n == 0 || !find_names(&m, table))
        return true;
    size_t cols = s->t[0]->cols, telling = 0;
    m.part = tab_arena_new_of(a, part, cols);
    m.rare = tab_arena_new_of(a, double, cols);
    m.named = tab_arena_new_of(a, double, s->rows);
    uint64_t *name = tab_arena_new_of(a, uint64_t, s->rows);
    held *x = tab_arena_new_of(a, held, s->rows);
    if (m.part == NULL || m.rare == NULL || m.named == NULL || name == NULL || x == NULL)
        return false;
    rarity_of_names(&m, name, x);
    for (size_t c = 0; c < cols; c++) {
        m.part[c] = part_of(&m, c);
        if (m.part[c] != NAMES && m.part[c] != MOVES && m.part[c] != COUNTER)
            m.rare[c] = -log(shared_by_strangers(&s->t[0]->col[c], name, s->rows, x));
        telling += m.part[c] == REACH || m.part[c] == PROVES || m.part[c] == LIVES;
    }
    if (telling == 0)
        return true;
    if ((m.nick = tab_nicknames_new()) == NULL)
        return false;
    find(&m);
    tab_nicknames_free(m.nick);
    return true;
}
