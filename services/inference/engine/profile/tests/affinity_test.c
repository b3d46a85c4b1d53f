/* Words that no list holds, by what stands near them: forms, groups, whole columns; what tells nothing. */
#include <criterion/criterion.h>

#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/lexicon/lexicon.h"
#include "services/inference/engine/sector/affinity.h"

static const tab_affinity *row_of(const char *word)
{
    return tab_affinity_find(tab_str_of(word));
}

static const char *leader(const float *v)
{
    int top = 0;
    for (int s = 1; s < TAB_SECTORS; s++)
        top = v[s] > v[top] ? s : top;
    return tab_sectors[top].slug;
}

static const char *leader_of(const char *text)
{
    float sum[TAB_SECTORS] = { 0 };
    return tab_affinity_of_text(tab_str_of(text), sum) ? leader(sum) : "";
}

/* None of these words is in a list of a sector. */
Test(affinity, words_beside_the_lists_belong_to_their_sector)
{
    static const char *const word[][2] = {
        { "muscadet", "food-beverage" }, { "claret", "food-beverage" },   { "ophthalmologist", "healthcare" },
        { "mortgagee", "banking" },      { "tachycardia", "healthcare" },
    };
    for (size_t i = 0; i < sizeof word / sizeof *word; i++) {
        const tab_lexeme *x = tab_lexicon_find(tab_str_of(word[i][0]));
        cr_expect(x == NULL || x->sectors == 0, "%s is in a list", word[i][0]);
        cr_expect_str_eq(leader_of(word[i][0]), word[i][1], "%s: %s", word[i][0], leader_of(word[i][0]));
    }
}

Test(affinity, a_form_is_its_word)
{
    cr_expect_eq(row_of("heifers"), row_of("heifer"));
    cr_assert(row_of("geese") != NULL && row_of("goose") != NULL); /* an exception has a row of its own */
    cr_expect_arr_eq(row_of("geese")->of, row_of("goose")->of, TAB_SECTORS);
    cr_expect_eq(row_of("breweries"), row_of("brewery"));
    cr_expect_null(row_of("heiferz"));
    cr_expect_null(row_of(""));
    cr_expect_null(row_of("s"));
    cr_expect_null(row_of("es"));
}

Test(affinity, endings_are_cut_within_bounds)
{
    char buf[TAB_AFFINITY_LONGEST + 4], longest[128];
    memset(longest, 'x', sizeof longest);
    for (size_t n = 0; n <= sizeof longest; n++)
        for (size_t k = 0; k < TAB_AFFINITY_FORMS; k++) {
            tab_str form = tab_affinity_form((tab_str){ longest, n }, k, buf);
            cr_expect_leq(form.n, n);
            cr_expect(k == 0 || form.n == 0);
        }
    memcpy(longest + TAB_AFFINITY_LONGEST - 3, "ies", 3);
    tab_str form = tab_affinity_form((tab_str){ longest, TAB_AFFINITY_LONGEST }, 1, buf);
    cr_expect_eq(form.n, TAB_AFFINITY_LONGEST - 2);
    cr_expect_eq(form.p[form.n - 1], 'y');
}

Test(affinity, a_group_of_words_is_known_however_it_is_joined)
{
    float blank[TAB_SECTORS] = { 0 }, joined[TAB_SECTORS] = { 0 };
    cr_assert(tab_affinity_of_text(TAB_S("blood pressure"), blank));
    cr_assert(tab_affinity_of_text(TAB_S("blood_pressure"), joined));
    cr_expect_arr_eq(blank, joined, sizeof blank);
    cr_expect_str_eq(leader(blank), "healthcare");
}

Test(affinity, text_without_a_known_word_says_nothing)
{
    float sum[TAB_SECTORS] = { 0 };
    static const char *const none[] = { "", "  ", "12 34", "ab", "qxzzy", "a-b_c", "\xff\xfe\xff" };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        cr_expect_not(tab_affinity_of_text(tab_str_of(none[i]), sum), "%s", none[i]);
    for (int s = 0; s < TAB_SECTORS; s++)
        cr_expect_eq(sum[s], 0);
}

/* A text speaks by its mean word: saying a word twice says no more. */
Test(affinity, a_text_is_the_mean_of_its_words)
{
    float once[TAB_SECTORS] = { 0 }, twice[TAB_SECTORS] = { 0 }, both[TAB_SECTORS] = { 0 },
          other[TAB_SECTORS] = { 0 };
    cr_assert(tab_affinity_of_text(TAB_S("heifer"), once));
    cr_assert(tab_affinity_of_text(TAB_S("goalkeeper"), other));
    cr_assert(tab_affinity_of_text(TAB_S("heifer, qxzzy; heifers"), twice));
    cr_assert(tab_affinity_of_text(TAB_S("heifer (goalkeeper)"), both));
    for (int s = 0; s < TAB_SECTORS; s++) {
        cr_expect_float_eq(once[s], twice[s], 1e-5);
        cr_expect_float_eq((once[s] + other[s]) / 2, both[s], 1e-5);
    }
}

Test(affinity, the_leader_leads_by_half_or_there_is_none)
{
    cr_expect_eq(tab_affinity_sector(row_of("heifer")), tab_sector_of(TAB_S("agriculture")));
    cr_expect_null(row_of("january"), "a word that tells next to nothing has no row");
    cr_expect_eq(tab_affinity_sector(&(tab_affinity){ 0 }), -1);
}
