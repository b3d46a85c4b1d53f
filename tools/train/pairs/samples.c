/* See samples.h: folders of tables become pairs with features and labels. */
#include "tools/train/pairs/samples.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/match/cases.h"

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int sample_by_rows(const void *a, const void *b)
{
    return memcmp(a, b, 2 * sizeof(uint32_t));
}

bool sample_of(tab_arena *a, const tab_table *t, const uint32_t *truth, size_t truths, sample *ret)
{
    tab_engine e = { .arena = a };
    tab_error err = { 0 };
    tab_profile *p;
    tab_views *v;
    tab_link_table *tables;
    if (tab_profile_table(&e, t, &p, &err) != TAB_OK || tab_views_new(&e, &p, 1, &v, &err) != TAB_OK ||
        tab_link_tables_new(&e, v, a, &tables, &err) != TAB_OK ||
        tab_twin_pairs_new(&e, v, tables, 0, NULL, a, &ret->s, &err) != TAB_OK) {
        fprintf(stderr, "%s: %s\n", ret->name, err.message);
        return false;
    }
    ret->truths = truths;
    ret->truth = truth;
    ret->label = tab_arena_new_of(a, uint8_t, ret->s.n);
    ret->x = tab_arena_new_of(a, float, ret->s.n *TAB_TWIN_FEATURES);
    if (tab_arena_full(a))
        return false;
    for (size_t i = 0; i < ret->s.n; i++) {
        uint32_t key[2] = { ret->s.a[i], ret->s.b[i] };
        ret->label[i] = truths > 0 && bsearch(key, truth, truths, sizeof key, sample_by_rows) != NULL;
        tab_twin_features(&ret->s, i, ret->x + i * TAB_TWIN_FEATURES);
    }
    return true;
}

/* What comes from one source: "dup-people-o50-d50" people, "wdc-shoes" wdc, "restaurants3" restaurants. */
static void name_family(const char *name, sample *s)
{
    s->made = strncmp(name, "dup-", 4) == 0;
    const char *p = s->made ? name + 4 : name;
    size_t n = 0;
    while (p[n] != 0 && p[n] != '-' && !isdigit((unsigned char)p[n]) && n + 2 < sizeof s->family) {
        s->family[n] = p[n];
        n++;
    }
    s->family[n] = 0;
}

static bool csv_rows(tab_arena *a, const char *path, tab_table *t)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return false;
    fclose(f);
    return csv_table(a, path, "t", t);
}

/* True pairs of one table of a case, ascending. */
static uint32_t *read_truth(tab_arena *a, const char *folder, const char *table, size_t *ret_n)
{
    char path[1024], name[64];
    snprintf(path, sizeof path, "%s/duplicates.csv", folder);
    FILE *f = fopen(path, "r");
    uint32_t *truth = NULL, row, other;
    size_t n = 0, cap = 0;
    if (f == NULL || fscanf(f, "%*[^\n]\n") < 0) {
        *ret_n = 0;
        return NULL;
    }
    while (fscanf(f, "%63[^,],%u,%u\n", name, &row, &other) == 3) {
        if (strcmp(name, table) != 0)
            continue;
        if (n == cap) {
            cap = 2 * cap + 1024;
            uint32_t *grown = tab_arena_new_of(a, uint32_t, 2 * cap);
            if (n > 0)
                memcpy(grown, truth, 2 * n * sizeof *grown);
            truth = grown;
        }
        truth[2 * n] = row < other ? row : other;
        truth[2 * n++ + 1] = row < other ? other : row;
    }
    fclose(f);
    qsort(truth, n, 2 * sizeof *truth, sample_by_rows);
    *ret_n = n;
    return truth;
}

/* The rows of b after those of a, whose columns are the same; false where they are not. */
static bool both_tables(tab_arena *a, const tab_table *p, const tab_table *q, tab_table *ret)
{
    tab_column *col = tab_arena_new_of(a, tab_column, p->cols);
    bool same = p->cols == q->cols;
    for (size_t c = 0; same && c < p->cols; c++) {
        same = tab_str_eq(p->col[c].name, q->col[c].name);
        tab_builder *b = tab_builder_new(a, p->col[c].name);
        for (int side = 0; same && side < 2; side++) {
            const tab_table *t = side == 0 ? p : q;
            for (size_t r = 0; r < t->rows; r++) {
                tab_cell x = tab_cell_at(&t->col[c], r);
                if (x.kind == TAB_CELL_NULL)
                    tab_builder_null(b);
                else if (x.text.n > 0)
                    tab_builder_text(b, x.text);
                else
                    tab_builder_number(b, x.num);
            }
        }
        same = same && tab_builder_finish(b, &col[c]);
    }
    *ret = (tab_table){ .id = tab_str_of("t"), .rows = p->rows + q->rows, .cols = p->cols, .col = col };
    return same;
}

/* The true pairs of both tables and between them. */
static uint32_t *both_truths(tab_arena *a, const char *folder, size_t rows, size_t *ret_n)
{
    char path[1024];
    size_t n[2], cross = 0;
    uint32_t *of[2] = { read_truth(a, folder, "a", &n[0]), read_truth(a, folder, "b", &n[1]) }, p, q;
    snprintf(path, sizeof path, "%s/entities.csv", folder);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return NULL;
    while (fscanf(f, "%*[^\n]\n") >= 0)
        cross++;
    rewind(f);
    uint32_t *truth = tab_arena_new_of(a, uint32_t, 2 * (n[0] + n[1] + cross));
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < 2 * n[side]; i++)
            truth[(side == 0 ? 0 : 2 * n[0]) + i] = of[side][i] + (uint32_t)(side == 0 ? 0 : rows);
    *ret_n = n[0] + n[1];
    if (fscanf(f, "%*[^\n]\n") >= 0)
        while (fscanf(f, "%u,%u\n", &p, &q) == 2) {
            truth[2 * *ret_n] = p;
            truth[2 * (*ret_n)++ + 1] = q + (uint32_t)rows;
        }
    fclose(f);
    qsort(truth, *ret_n, 2 * sizeof *truth, sample_by_rows);
    return truth;
}

size_t samples_read(tab_arena *a, const char *dir, sample *s, size_t n, size_t most)
{
    static const char *const table[] = { "a", "b", "t1", "t2", "t3" };
    char *names[512], folder[512], path[1024];
    size_t k = 0;
    DIR *d = opendir(dir);
    if (d == NULL) {
        fprintf(stderr, "%s: no such folder\n", dir);
        exit(2);
    }
    for (struct dirent *e; (e = readdir(d)) != NULL && k < 512;)
        if (e->d_name[0] != '.')
            names[k++] = tab_arena_printf(a, "%s", e->d_name);
    closedir(d);
    qsort(names, k, sizeof *names, by_name);
    for (size_t i = 0; i < k; i++) {
        snprintf(folder, sizeof folder, "%s/%s", dir, names[i]);
        snprintf(path, sizeof path, "%s/duplicates.csv", folder);
        FILE *f = fopen(path, "r");
        if (f == NULL)
            continue;
        fclose(f);
        tab_table w, first = { 0 }, both;
        for (size_t t = 0; t < sizeof table / sizeof *table && n < most; t++) {
            snprintf(path, sizeof path, "%s/%s.csv", folder, table[t]);
            if (!csv_rows(a, path, &w))
                continue;
            size_t truths;
            uint32_t *truth = read_truth(a, folder, table[t], &truths);
            s[n] = (sample){ .counted = true };
            snprintf(s[n].name, sizeof s[n].name, "%.80s", names[i]);
            name_family(names[i], &s[n]);
            n += sample_of(a, &w, truth, truths, &s[n]);
            if (t == 0)
                first = w;
            if (t != 1 || s[n - 1].made || n == most || !both_tables(a, &first, &w, &both))
                continue;
            s[n] = (sample){ .counted = true, .unjudged = true };
            snprintf(s[n].name, sizeof s[n].name, "%.70s both", names[i]);
            name_family(names[i], &s[n]);
            truth = both_truths(a, folder, first.rows, &truths);
            n += sample_of(a, &both, truth, truths, &s[n]);
        }
    }
    return n;
}

size_t samples_plain(tab_arena *a, const char *dir, bool judged_only, sample *s, size_t n, size_t most)
{
    enum { ROWS = 20000 };
    char *names[512], path[1024];
    size_t k = 0;
    DIR *d = opendir(dir);
    if (d == NULL)
        return n;
    for (struct dirent *e; (e = readdir(d)) != NULL && k < 512;) {
        size_t len = strlen(e->d_name);
        if (len > 4 && strcmp(e->d_name + len - 4, ".csv") == 0)
            names[k++] = tab_arena_printf(a, "%s", e->d_name);
    }
    closedir(d);
    qsort(names, k, sizeof *names, by_name);
    for (size_t i = 0; i < k && n < most; i++) {
        tab_table w;
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        if (!csv_rows(a, path, &w) || w.rows < 20 || w.rows > ROWS)
            continue;
        if (strcmp(names[i], "labels.csv") == 0 || strcmp(names[i], "sources.csv") == 0 ||
            strcmp(names[i], "sectors.csv") == 0)
            continue; /* what is known of the others */
        s[n] = (sample){ .judged_only = judged_only };
        snprintf(s[n].name, sizeof s[n].name, "plain %.80s", names[i]);
        snprintf(s[n].family, sizeof s[n].family, "plain %.*s", (int)strcspn(names[i], "_"), names[i]);
        n += sample_of(a, &w, NULL, 0, &s[n]);
    }
    return n;
}
