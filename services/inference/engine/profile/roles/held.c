/* Which personal data a column's texts hold, and in what share of their cells. cells/held.h reads one text;
 * here the texts of a column are weighed together: what has a kind's form by accident is counted by Poisson's
 * law, and numbers by their check digits as a column of numbers would be (cells/identity.h). */
#include <assert.h>
#include <math.h>

#include "services/inference/engine/profile/cells/held.h"
#include "services/inference/engine/profile/roles/stages.h"

/* Texts that are looked at, evenly from all, and bytes of each. */
enum { TEXTS = 1000, TEXT_BYTES = 2000, SHAPES = 8, MARKS = 64 };
/* What is told is this sure. */
static const double TOLD = 0.9;

/* Numbers of one shape ("999.999.999-99"): a column of their own. */
typedef struct {
    uint64_t shape;
    double cells, numbers, passed; /* passed: a check of TAB_CHECK_NATIONAL */
    tab_identity proof;
} shaped;

typedef struct {
    double words, cells;                  /* looked at */
    double with[TAB_HELD_KINDS];          /* texts that hold a kind */
    double cells_with[TAB_HELD_KINDS];    /* and their cells */
    uint64_t seen[TAB_HELD_KINDS][MARKS]; /* a bit for each that differs (linear counting) */
    double unchecked;                     /* cards whose check digit is wrong */
    size_t shapes;
    shaped shape[SHAPES];
} tally;

/* Digits as one, letters as one, marks as they are. */
static uint64_t shape_of(tab_str s)
{
    char c[32];
    size_t n = 0;
    for (; n < s.n && n < sizeof c; n++)
        c[n] = s.p[n] >= '0' && s.p[n] <= '9' ? '9' : s.p[n] == '-' || s.p[n] == '.' ? s.p[n] : 'A';
    return tab_wyhash(c, n, 3) | 1;
}

static void show_numbers(tally *t, const tab_held *h, double cells)
{
    for (size_t k = 0; k < h->numbers; k++) {
        uint64_t shape = shape_of(h->number[k]);
        size_t at = 0;
        while (at < t->shapes && t->shape[at].shape != shape)
            at++;
        if (at == SHAPES)
            continue;
        t->shapes += at == t->shapes;
        t->shape[at].shape = shape;
        t->shape[at].cells += cells;
        t->shape[at].numbers++;
        t->shape[at].passed += tab_checks_of(h->number[k]) >> TAB_CHECK_NATIONAL & 1;
        tab_identity_show(&t->shape[at].proof, h->number[k]);
    }
}

static void show(tally *t, tab_str text, double cells)
{
    tab_held h;
    text.n = text.n < TEXT_BYTES ? text.n : TEXT_BYTES;
    tab_held_in(text, &h);
    t->words += (double)h.words;
    t->cells += cells;
    t->unchecked += h.unchecked;
    for (int k = 0; k < TAB_HELD_KINDS; k++)
        if (h.hash[k] != 0) {
            t->with[k]++;
            t->cells_with[k] += cells;
            t->seen[k][h.hash[k] >> 58] |= UINT64_C(1) << (h.hash[k] >> 52 & 63);
        }
    show_numbers(t, &h, cells);
}

/* How many that differ a kind's texts hold. */
static double differ(const tally *t, int kind)
{
    double n = 0, bits = MARKS * 64;
    for (size_t i = 0; i < MARKS; i++)
        n += __builtin_popcountll(t->seen[kind][i]);
    return n < bits ? -bits * log1p(-n / bits) : bits;
}

/* That a kind is there: its texts are more than accidents, which are counted by the words that were read: the
 * rates are of public texts that hold no persons, names of firms among them. What no check digit and no @
 * proves is there twice at least. A number of a hotline, or a firm's mail address, is that of no person: what
 * stands in the texts must differ in most of them, of names in a quarter. */
static double sure_of(const tally *t, int kind)
{
    static const struct {
        double chance, least, differ;
    } of[TAB_HELD_KINDS] = {
        [TAB_HELD_EMAIL] = { 1e-6, 1, 0.5 },    [TAB_HELD_PHONE] = { 1e-5, 2, 0.5 },
        [TAB_HELD_NAME] = { 5e-4, 2, 0.25 },    [TAB_HELD_ADDRESS] = { 2e-5, 2, 0.5 },
        [TAB_HELD_CARD] = { 1e-6, 1, 0.5 },     [TAB_HELD_IBAN] = { 1e-6, 1, 0.5 },
        [TAB_HELD_NATIONAL] = { 1e-5, 2, 0.5 },
    };
    double k = t->with[kind];
    if (k < of[kind].least || differ(t, kind) <= of[kind].differ * k)
        return 0;
    if (kind == TAB_HELD_CARD && t->unchecked * 2 > k)
        return 0;
    return tab_beyond_accidents(k, t->words, of[kind].chance);
}

/* That the numbers of a shape are of a family of persons or of taxes: Bayes' rule over the kinds of
 * identity.h, where of the shapes in texts one in a hundred is such. */
static double sure_of_shape(const shaped *s, int *ret_role)
{
    static const double PRIOR = 0.01, NATIONAL = 6e-2; /* its chance, checksum.h */
    double proof[TAB_IDENTITY_KINDS], sum = 1 - PRIOR, person, tax;
    tab_identity_weigh(&s->proof, proof);
    for (int k = 0; k < TAB_IDENTITY_KINDS; k++)
        sum += proof[k] > 0 ? PRIOR * exp(fmin(300, proof[k])) : 0;
    person = proof[TAB_IDENTITY_PERSON] > 0 ? PRIOR * exp(fmin(300, proof[TAB_IDENTITY_PERSON])) : 0;
    if (s->passed * 2 >= s->numbers) {
        double more = tab_identity_ratio(s->numbers, s->passed, NATIONAL);
        person += more > 0 ? PRIOR * exp(fmin(300, more)) : 0;
        sum += more > 0 ? PRIOR * exp(fmin(300, more)) : 0;
    }
    tax = proof[TAB_IDENTITY_TAX] > 0 ? PRIOR * exp(fmin(300, proof[TAB_IDENTITY_TAX])) : 0;
    *ret_role = person >= tax ? TAB_ROLE_NATIONAL_ID : TAB_ROLE_TAX_ID;
    return (person + tax) / sum;
}

/* One more kind, or more of one that is there. */
static void tell(tab_held_share *held, size_t *n, int role, double cells, double all, double sure)
{
    size_t k = 0;
    while (k < *n && held[k].role != role)
        k++;
    if (k == *n)
        held[(*n)++] = (tab_held_share){ .role = role };
    held[k].share = fmin(1, held[k].share + cells / all);
    held[k].confidence = fmax(held[k].confidence, sure);
}

bool tab_hold_persons(const tab_reading *r, bool persons, tab_column_profile *p)
{
    static const uint8_t role[TAB_HELD_KINDS] = {
        [TAB_HELD_EMAIL] = TAB_ROLE_EMAIL,
        [TAB_HELD_PHONE] = TAB_ROLE_PHONE,
        [TAB_HELD_NAME] = TAB_ROLE_NAME,
        [TAB_HELD_ADDRESS] = TAB_ROLE_ADDRESS,
        [TAB_HELD_CARD] = TAB_ROLE_CREDIT_CARD,
        [TAB_HELD_IBAN] = TAB_ROLE_IBAN,
        [TAB_HELD_NATIONAL] = TAB_ROLE_NATIONAL_ID,
    };
    enum { MOST = TAB_HELD_KINDS + 1 };
    bool of_texts = p->role == TAB_ROLE_TEXT || p->role == TAB_ROLE_JSON || p->role == TAB_ROLE_LIST;
    if (!of_texts || r->level == NULL || r->levels == 0)
        return true;
    tally *t = tab_arena_new_of(r->arena, tally, 1);
    tab_held_share *held = tab_arena_new_of(r->arena, tab_held_share, MOST);
    if (t == NULL || held == NULL)
        return false;
    size_t n = r->levels < TEXTS ? r->levels : TEXTS;
    for (size_t i = 0; i < n; i++) {
        size_t at = (size_t)((double)i * (double)r->levels / (double)n);
        show(t, r->level[at], (double)r->count[at]);
    }
    for (int k = 0; k < TAB_HELD_KINDS; k++) {
        double sure = sure_of(t, k);
        if (sure >= TOLD && (k != TAB_HELD_NAME || persons))
            tell(held, &p->held_kinds, role[k], t->cells_with[k], t->cells, sure);
    }
    for (size_t s = 0; s < t->shapes; s++) {
        int of;
        double sure = sure_of_shape(&t->shape[s], &of);
        if (sure >= TOLD)
            tell(held, &p->held_kinds, of, t->shape[s].cells, t->cells, sure);
    }
    assert(p->held_kinds <= MOST);
    p->held = held;
    for (size_t k = 0; k < p->held_kinds; k++)
        p->pii_confidence = fmax(p->pii_confidence, held[k].confidence);
    return true;
}
