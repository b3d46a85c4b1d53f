/* What is told apart without its distance (letters that one side lacks) gets the level that the distance
 * would give. */
#include "services/inference/engine/link/pairs/link.h"
#include "services/inference/engine/link/tests/tables.h"

enum { ROWS = 150 };

/* Names of one or two words over few letters. */
static void alike(size_t r, size_t col, char out[CELL])
{
    size_t n = 0, words = 1 + chance(r, 1, 2);
    (void)col;
    for (size_t w = 0; w < words; w++) {
        for (size_t i = 0, letters = 2 + chance(r, 4 + w, 9); i < letters; i++, n++)
            out[n] = (char)('a' + chance(r * 40 + n, 5, 2 + chance(r, 6, 12)));
        out[n++] = w + 1 < words ? ' ' : 0;
    }
}

/* Half of them are rows of the other table, each with another letter. */
static void alike_elsewhere(size_t r, size_t col, char out[CELL])
{
    alike(ROWS / 2 + r, col, out);
    out[chance(r, 7, (uint32_t)strlen(out))] = 'x';
}

static uint8_t level_of(double similarity)
{
    static const double cut[] = { 0.92, 0.85, 0.76, 0.66, 0.54, 0.4, 0.2 };
    uint8_t level = 2;
    while (level < 9 && similarity < cut[level - 2])
        level++;
    return level;
}

Test(compare, levels_are_those_of_the_whole_distance)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    TAB_AUTO(tab_views) *v = NULL;
    tab_engine e = { .arena = a };
    tab_table table[2] = { table_of(a, "a", ROWS, 1, alike), table_of(a, "b", ROWS, 1, alike_elsewhere) };
    tab_profile *profile[2];
    for (size_t t = 0; t < 2; t++)
        cr_assert_eq(tab_profile_table(&e, &table[t], &profile[t], NULL), TAB_OK);
    cr_assert_eq(tab_views_new(&e, profile, 2, &v, NULL), TAB_OK);
    const tab_table_view *A = &v->table[0], *B = &v->table[1];
    tab_attribute t = { .scale = 1 };
    size_t seen[TAB_LEVELS] = { 0 };
    for (uint32_t p = 0; p < A->col[0].values; p++)
        for (uint32_t q = 0; q < B->col[0].values; q++) {
            const tab_value *x = &A->col[0].value[p], *y = &B->col[0].value[q];
            tab_str s = tab_value_text(v, x), u = tab_value_text(v, y);
            double edit = tab_edit_similarity(s, u), similarity = tab_text_similarity(v, x, y, NULL);
            cr_assert_geq(similarity, edit, "%.*s, %.*s", TAB_STR(s), TAB_STR(u));
            uint8_t level = tab_compare(v, &t, x, y, NULL);
            cr_assert_eq(level, x->key == y->key ? TAB_EQUAL : level_of(similarity));
            seen[level]++;
        }
    for (size_t k = 2; k < TAB_LEVELS; k++)
        cr_expect(seen[k] > 0, "no pair of level %zu", k);
}
