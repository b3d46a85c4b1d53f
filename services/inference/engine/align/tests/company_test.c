/* What any two tables have in common, numbers, dates and yes and no, is one attribute in tables that are
 * alike as wholes alone (decision 0347). */
#include <criterion/criterion.h>
#include <stdio.h>

#include "services/inference/engine/align/align.h"

enum { ROWS = 200, COLS = 6 };

typedef struct {
    const char *code, *word[4]; /* what its texts look like */
    uint64_t seed;
    const char *before, *behind; /* of a title, where its first column holds titles */
} kind;

static const kind
    gifts = { .code = "G", .word = { "cash", "cheque", "legacy", "standing order" }, .seed = 11 },
    later_gifts = { .code = "G", .word = { "legacy", "cash", "standing order", "cheque" }, .seed = 57 },
    visits = { .code = "case-", .word = { "housing", "debts", "language", "health" }, .seed = 23 };

static uint32_t next(uint64_t *s)
{
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*s >> 33);
}

/* Cell of column c: a code or a title, a word, a number of 20 to 90, a day, yes or no, a numbered word. */
static void cell(const kind *k, size_t c, uint64_t *s, tab_builder *b)
{
    char text[64];
    uint32_t r = next(s);
    switch (c) {
    case 0:
        if (k->before != NULL)
            snprintf(text, sizeof text, "%s %s %u %s", k->before, k->word[r % 4], r % 90, k->behind);
        else
            snprintf(text, sizeof text, "%s%05u", k->code, r % 99999);
        break;
    case 1:
        snprintf(text, sizeof text, "%s", k->word[r % 4]);
        break;
    case 2:
        tab_builder_number(b, 20 + (double)(r % 140) / 2);
        return;
    case 3:
        snprintf(text, sizeof text, "2024-%02u-%02u", 1 + r % 12, 1 + r / 12 % 28);
        break;
    case 4:
        snprintf(text, sizeof text, "%s", r % 3 == 0 ? "yes" : "no");
        break;
    default:
        snprintf(text, sizeof text, "%s%u", k->word[r % 4], r % 13);
    }
    tab_builder_text(b, tab_str_of(text));
}

/* p (cols, cols): the first columns of a table of kind x beside those of one of kind y. */
static void aligned(const kind *x, const kind *y, size_t cols, float p[COLS * COLS])
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    const kind *of[2] = { x, y };
    tab_table t[2];
    tab_profile *profile[2];
    tab_signature *s[2];
    tab_error err = { 0 };
    tab_engine e = { .arena = a };
    for (size_t i = 0; i < 2; i++) {
        tab_column *col = tab_arena_new_of(a, tab_column, cols);
        uint64_t seed = of[i]->seed;
        for (size_t c = 0; c < cols; c++) {
            tab_builder *b = tab_builder_new(a, TAB_S(""));
            for (size_t r = 0; r < ROWS; r++)
                cell(of[i], c, &seed, b);
            cr_assert(tab_builder_finish(b, &col[c]));
        }
        t[i] = (tab_table){ .id = i == 0 ? TAB_S("a") : TAB_S("b"), .rows = ROWS, .cols = cols, .col = col };
        cr_assert_eq(tab_profile_table(&e, &t[i], &profile[i], &err), TAB_OK);
    }
    tab_views *v = NULL;
    cr_assert_eq(tab_views_new(&e, profile, 2, &v, &err), TAB_OK);
    for (size_t i = 0; i < 2; i++)
        cr_assert_eq(tab_signatures_new(&e, v, i, a, &s[i], &err), TAB_OK);
    cr_assert_eq(tab_align_scores(&e, v, 0, 1, s[0], s[1], NULL, p, NULL, &err), TAB_OK);
    tab_views_free(v);
}

Test(company, what_any_tables_share_is_no_attribute_of_unlike_ones)
{
    float p[COLS * COLS];
    aligned(&gifts, &visits, COLS, p);
    for (size_t i = 0; i < COLS; i++)
        for (size_t j = 0; j < COLS; j++)
            cr_expect_lt(p[i * COLS + j], 0.5f, "%zu and %zu: %f", i, j, (double)p[i * COLS + j]);
}

Test(company, in_tables_that_are_alike_it_is)
{
    float p[COLS * COLS];
    aligned(&gifts, &later_gifts, COLS, p);
    for (size_t i = 1; i < COLS; i++)
        cr_expect_geq(p[i * COLS + i], 0.9f, "%zu: %f", i, (double)p[i * COLS + i]);
}

/* Two shops write one product's title differently; their words are its. */
Test(company, titles_that_share_words_alone_are_one_attribute)
{
    static const kind shop = { .word = { "Canon EOS", "Nikon D", "Sony Alpha", "Fujifilm X" },
                               .seed = 3,
                               .before = "Camera",
                               .behind = "body black" },
                      other = { .word = { "Sony Alpha", "Fujifilm X", "Canon EOS", "Nikon D" },
                                .seed = 8,
                                .before = "New:",
                                .behind = "camera (body)" };
    float p[COLS * COLS];
    aligned(&shop, &other, 1, p);
    cr_expect_geq(p[0], 0.5f, "%f", (double)p[0]);
}
