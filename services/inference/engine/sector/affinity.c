/* See affinity.h. Open addressing with linear probing; a slot holds 32 bits of the hash in place of the
 * word. */
#include "services/inference/engine/sector/affinity.h"

#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/lexicon/lexicon.h"

__asm__(".section .rodata\n"
        ".balign 16\n"
        ".global tab_affinity_data\n"
        ".hidden tab_affinity_data\n"
        "tab_affinity_data:\n"
        ".incbin \"services/inference/engine/sector/affinity.model\"\n"
        ".previous\n");
extern const char tab_affinity_data[] __attribute__((visibility("hidden")));

/* From here on a row's leading sector has half of its word's walks and more, in nine rows of ten. */
enum { LEAD = 10 };

/* At least a third of the slots are free (tools/affinity), so a look-up ends. */
static const tab_affinity *find_exact(tab_str word)
{
    const tab_affinity_header *h = (const tab_affinity_header *)tab_affinity_data;
    const uint32_t *slot = (const uint32_t *)(h + 1), *before = slot + h->slots;
    const tab_affinity *row = (const tab_affinity *)(before + h->slots / TAB_AFFINITY_BLOCK);
    uint64_t hash = tab_wyhash(word.p, word.n, TAB_AFFINITY_SEED);
    uint32_t f = tab_lexicon_fingerprint(hash), i = (uint32_t)hash & (h->slots - 1);
    while (slot[i] != 0 && slot[i] != f)
        i = (i + 1) & (h->slots - 1);
    if (slot[i] == 0)
        return NULL;
    uint32_t rank = before[i / TAB_AFFINITY_BLOCK];
    for (uint32_t k = i - i % TAB_AFFINITY_BLOCK; k < i; k++)
        rank += slot[k] != 0;
    return &row[rank];
}

tab_str tab_affinity_form(tab_str word, size_t k, char *buf)
{
    static const struct {
        char n, cut, put;
        const char *ending;
    } form[TAB_AFFINITY_FORMS] = {
        { 0, 0, 0, "" },   { 3, 3, 'y', "ies" }, { 2, 1, 0, "es" },    { 2, 2, 0, "es" },  { 1, 1, 0, "s" },
        { 2, 1, 0, "ed" }, { 2, 2, 0, "ed" },    { 3, 3, 'e', "ing" }, { 3, 3, 0, "ing" },
    };
    size_t n = (size_t)form[k].n, cut = (size_t)form[k].cut;
    if (word.n > TAB_AFFINITY_LONGEST || word.n < cut + 2 ||
        memcmp(word.p + word.n - n, form[k].ending, n) != 0)
        return (tab_str){ buf, 0 };
    if (form[k].put == 0)
        return (tab_str){ word.p, word.n - cut };
    memcpy(buf, word.p, word.n - cut);
    buf[word.n - cut] = form[k].put;
    return (tab_str){ buf, word.n - cut + 1 };
}

const tab_affinity *tab_affinity_find(tab_str word)
{
    char buf[TAB_AFFINITY_LONGEST + 4];
    for (size_t k = 0; k < TAB_AFFINITY_FORMS; k++) {
        tab_str form = tab_affinity_form(word, k, buf);
        const tab_affinity *row = form.n == 0 ? NULL : find_exact(form);
        if (row != NULL)
            return row;
    }
    return NULL;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (unsigned char)c >= 0x80;
}

tab_str tab_affinity_next(tab_str *rest)
{
    while (rest->n > 0) {
        size_t b = 0, e;
        while (b < rest->n && !is_letter(rest->p[b]))
            b++;
        for (e = b; e < rest->n && is_letter(rest->p[e]);)
            e++;
        tab_str word = { rest->p + b, e - b };
        *rest = (tab_str){ rest->p + e, rest->n - e };
        if (word.n >= 3)
            return word;
    }
    return (tab_str){ rest->p, 0 };
}

/* The row of two words that one mark divides, as if it were a blank: "home_loan". */
static const tab_affinity *find_pair(tab_str a, tab_str b)
{
    char buf[TAB_AFFINITY_LONGEST];
    size_t n = a.n + 1 + b.n;
    if (b.n == 0 || b.p != a.p + a.n + 1 || n > sizeof buf)
        return NULL;
    memcpy(buf, a.p, n);
    buf[a.n] = ' ';
    return find_exact((tab_str){ buf, n });
}

bool tab_affinity_of_text(tab_str folded, float *sum)
{
    int32_t total[TAB_SECTORS] = { 0 };
    float known = 0;
    const tab_affinity *row = folded.n < 3 ? NULL : find_exact(folded);
    tab_str rest = folded;
    if (row != NULL)
        rest.n = 0;
    tab_str word = tab_affinity_next(&rest);
    for (size_t k = 0; row != NULL || (word.n > 0 && k < TAB_AFFINITY_WORDS); k++) {
        tab_str next = tab_affinity_next(&rest);
        if (row == NULL && (row = find_pair(word, next)) != NULL)
            next = tab_affinity_next(&rest);
        if (row == NULL)
            row = tab_affinity_find(word);
        if (row != NULL) {
            known++;
            for (int s = 0; s < TAB_SECTORS; s++)
                total[s] += row->of[s];
        }
        row = NULL;
        word = next;
    }
    for (int s = 0; s < TAB_SECTORS && known > 0; s++)
        sum[s] += (float)total[s] * TAB_AFFINITY_UNIT / known;
    return known > 0;
}

int tab_affinity_sector(const tab_affinity *row)
{
    int top = 0;
    for (int s = 1; s < TAB_SECTORS; s++)
        top = row->of[s] > row->of[top] ? s : top;
    return row->of[top] >= LEAD ? top : -1;
}
