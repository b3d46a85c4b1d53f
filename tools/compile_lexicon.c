/* Compiles the engine's word lists into one table: lexicon FOLDER OUT. See lexicon/lexicon.h. */
#include "services/inference/engine/lexicon/lexicon.h"

#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/sector/sectors.h"

enum { SLOTS = 1 << 18, MAX_SETS = 1 << 16 };
static struct {
    uint32_t fingerprint;
    uint64_t lists;
    uint32_t sectors;
} term_at[SLOTS];
static size_t terms;

static bool add(tab_str raw, int list, int sector)
{
    char buf[256];
    tab_str t = tab_fold(raw, buf, sizeof buf);
    if (t.n == 0)
        return true;
    uint64_t hash = tab_wyhash(t.p, t.n, 7);
    uint32_t f = tab_lexicon_fingerprint(hash), i = (uint32_t)hash & (SLOTS - 1);
    while (term_at[i].fingerprint != 0 && term_at[i].fingerprint != f)
        i = (i + 1) & (SLOTS - 1);
    if (term_at[i].fingerprint == 0 && ++terms > SLOTS * 3 / 4)
        return false;
    term_at[i].fingerprint = f;
    if (list >= 0)
        term_at[i].lists |= UINT64_C(1) << list;
    if (sector >= 0)
        term_at[i].sectors |= UINT32_C(1) << sector;
    return true;
}

static bool read_list(const char *folder, const char *name, int list, int sector)
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
            ok = add((tab_str){ p, (size_t)(q - p) }, list, sector);
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
        if (!read_list(argv[1], lists[i], i, -1))
            return 1;
    for (int i = 0; i < TAB_SECTORS; i++) {
        char name[64];
        snprintf(name, sizeof name, "sector_%s", tab_sectors[i].slug);
        if (!read_list(argv[1], name, -1, i))
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
