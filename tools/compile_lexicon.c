/* Compiles the engine's word lists into one table: lexicon FOLDER OUT. See lexicon/lexicon.h. */
#include "services/inference/engine/lexicon/lexicon.h"

#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/sector/sectors.h"

enum { SLOTS = 1 << 18, MAX_SETS = 1 << 16 };
static struct slot {
    uint32_t fingerprint;
    uint64_t lists;
    uint32_t sectors;
    bool derived; /* a form of a term, not in a list itself */
} term_at[SLOTS];
static size_t terms;

/* The folded term's slot, or the free one where it would be. */
static struct slot *find(tab_str t)
{
    uint64_t hash = tab_wyhash(t.p, t.n, 7);
    uint32_t f = tab_lexicon_fingerprint(hash), i = (uint32_t)hash & (SLOTS - 1);
    while (term_at[i].fingerprint != 0 && term_at[i].fingerprint != f)
        i = (i + 1) & (SLOTS - 1);
    return &term_at[i];
}

static bool add(tab_str raw, int list, int sector)
{
    char buf[256];
    tab_str t = tab_fold(raw, buf, sizeof buf);
    if (t.n == 0)
        return true;
    struct slot *s = find(t);
    if (s->fingerprint == 0 && ++terms > SLOTS * 3 / 4)
        return false;
    s->fingerprint = tab_lexicon_fingerprint(tab_wyhash(t.p, t.n, 7));
    if (list >= 0)
        s->lists |= UINT64_C(1) << list;
    if (sector >= 0)
        s->sectors |= UINT32_C(1) << sector;
    return true;
}

/* Adds the sectors of a term to another form of it, unless that form is a sector's term by itself. */
static bool add_form(const char *form, int n, uint32_t sectors)
{
    char buf[256];
    tab_str t = tab_fold((tab_str){ form, (size_t)n }, buf, sizeof buf);
    const struct slot *s = find(t);
    if (s->fingerprint != 0 && s->sectors != 0 && !s->derived)
        return true;
    bool ok = true;
    for (int i = 0; ok && i < TAB_SECTORS; i++)
        if ((sectors >> i & 1) != 0)
            ok = add((tab_str){ form, (size_t)n }, -1, i);
    find(t)->derived = true;
    return ok;
}

/* Writes the other number of a term of n bytes whose last word has k letters: loan and loans, policy and
 * policies. Returns its length; 0: it has none. */
static int other_number(const char *p, int n, size_t k, char *form, size_t size)
{
    for (size_t i = 0; i < k; i++)
        if (p[n - 1 - (int)i] < 'a' || p[n - 1 - (int)i] > 'z')
            return 0;
    if (k < 4)
        return 0;
    if (k > 4 && memcmp(p + n - 3, "ies", 3) == 0)
        return snprintf(form, size, "%.*sy", n - 3, p);
    if (p[n - 1] == 'y' && strchr("aeiou", p[n - 2]) == NULL)
        return snprintf(form, size, "%.*sies", n - 1, p);
    if (p[n - 1] != 's')
        return snprintf(form, size, "%.*ss", n, p);
    return p[n - 2] == 's' ? 0 : snprintf(form, size, "%.*s", n - 1, p);
}

/* The other number of a term, and a term of several words joined as programs join them ("credit_card"). */
static bool add_forms(tab_str raw)
{
    char t[128], form[160];
    tab_str folded = tab_fold(raw, t, sizeof t);
    const char *p = folded.p;
    int n = (int)folded.n;
    if (n < 4 || n > 60)
        return true;
    uint32_t sectors = find(folded)->sectors;
    int word = n; /* where the last word begins */
    while (word > 0 && p[word - 1] != ' ')
        word--;
    int len = other_number(p, n, (size_t)(n - word), form, sizeof form);
    bool ok = len == 0 || add_form(form, len, sectors);
    for (const char *mark = "_-"; ok && word > 0 && *mark != 0; mark++) {
        for (int i = 0; i < n; i++)
            form[i] = p[i] == ' ' ? *mark : p[i];
        ok = add_form(form, n, sectors);
    }
    return ok;
}

enum pass { TERMS, FORMS };

static bool read_list(const char *folder, const char *name, int list, int sector, enum pass pass)
{
    char path[512], *line = NULL;
    size_t cap = 0;
    ssize_t n;
    snprintf(path, sizeof path, "%s/%s.txt", folder, name);
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        perror(path);
        return false;
    }
    bool ok = true;
    while (ok && (n = getline(&line, &cap, f)) > 0) {
        if (line[0] == '#')
            continue;
        for (char *p = line, *end = line + n; ok && p < end;) {
            char *q = memchr(p, ';', (size_t)(end - p));
            if (q == NULL)
                q = end;
            tab_str term = { p, (size_t)(q - p) };
            ok = pass == TERMS ? add(term, list, sector) : add_forms(term);
            p = q + 1;
        }
    }
    free(line);
    fclose(f);
    if (!ok)
        fprintf(stderr, "%s: more terms than slots\n", path);
    return ok;
}

int main(int argc, char **argv)
{
    static const char *const lists[] = {
#define TAB_X(e, file) #file,
        TAB_LEXICON_LISTS(TAB_X)
#undef TAB_X
    };
    static tab_lexeme sets[MAX_SETS];
    static tab_lexicon_slot slots[SLOTS];
    if (argc != 3)
        return 2;
    for (int i = 0; i < TAB_LISTS; i++)
        if (!read_list(argv[1], lists[i], i, -1, TERMS))
            return 1;
    for (int i = 0; i < 2 * TAB_SECTORS; i++) { /* all terms, then all forms of them */
        char name[64];
        snprintf(name, sizeof name, "sector_%s", tab_sectors[i % TAB_SECTORS].slug);
        if (!read_list(argv[1], name, -1, i % TAB_SECTORS, i < TAB_SECTORS ? TERMS : FORMS))
            return 1;
    }
    uint32_t n = 0;
    for (size_t i = 0; i < SLOTS; i++) {
        if (term_at[i].fingerprint == 0)
            continue;
        uint32_t k = 0;
        while (k < n && !(sets[k].lists == term_at[i].lists && sets[k].sectors == term_at[i].sectors))
            k++;
        if (k == n && n == MAX_SETS)
            return 1;
        if (k == n)
            sets[n++] = (tab_lexeme){ .lists = term_at[i].lists, .sectors = term_at[i].sectors };
        slots[i] = (tab_lexicon_slot){ term_at[i].fingerprint, k };
    }
    tab_lexicon_header h = { .magic = "TABLEX1\n", .slots = SLOTS, .sets = n };
    FILE *f = fopen(argv[2], "wb");
    bool ok = f != NULL && fwrite(&h, sizeof h, 1, f) == 1 && fwrite(slots, sizeof slots, 1, f) == 1 &&
              fwrite(sets, sizeof *sets, n, f) == n;
    if (f != NULL && fclose(f) != 0)
        ok = false;
    if (ok)
        printf("  lexicon: %zu terms, %u sets\n", terms, n);
    return ok ? 0 : 1;
}
