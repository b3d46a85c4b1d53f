/* The words of values in the lexicon: forms of a term, parts of a word, what neither must do. */
#include <criterion/criterion.h>

#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/profile/features/features_internal.h"

enum { CELLS = 12 };

/* The evidence for a sector of a column that holds the text in every cell. */
static float evidence(const char *text, const char *slug)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    tab_builder *b = tab_builder_new(a, TAB_S("x"));
    tab_column c;
    tab_reading r;
    tab_summary s;
    static tab_features f;
    for (size_t i = 0; i < CELLS; i++)
        tab_builder_text(b, tab_str_of(text));
    cr_assert(tab_builder_finish(b, &c) && tab_read_column(a, &c, CELLS, &r) && tab_summarize(&r, &s));
    tab_features_of(&s, &f);
    return f.sector[tab_sector_of(tab_str_of(slug))];
}

static const tab_lexeme *lexeme(const char *text)
{
    static char buf[128];
    return tab_lexicon_find(tab_fold(tab_str_of(text), buf, sizeof buf));
}

/* "home loan", "mortgage" and "policyholder" are in the lists; these forms of them are not. */
Test(words, another_number_and_joined_words_are_the_term)
{
    static const char *const form[][2] = { { "home loans", "banking" },
                                           { "home_loan", "banking" },
                                           { "Home-Loan", "banking" },
                                           { "mortgages", "banking" },
                                           { "policyholders", "insurance" } };
    for (size_t i = 0; i < sizeof form / sizeof *form; i++) {
        cr_expect_gt(evidence(form[i][0], form[i][1]), 0, "%s", form[i][0]);
        cr_expect_eq(lexeme(form[i][0])->lists, 0, "%s is in a list of names", form[i][0]);
    }
    cr_expect_eq(evidence("home loanz", "insurance"), 0);
    cr_expect_null(lexeme("policyholderz"));
}

Test(words, parts_of_an_unknown_word_vote)
{
    cr_expect_null(lexeme("zz_mortgage.v7"));
    cr_expect_gt(evidence("zz_mortgage.v7", "banking"), 0);
    cr_expect_gt(evidence("qx-policyholder-qx", "insurance"), 0);
    cr_expect_eq(evidence("zzmortgagev7", "banking"), 0);
    cr_expect_lt(evidence("zz_mortgage.v7", "banking"), evidence("mortgage", "banking"));
}

Test(words, are_cut_at_marks)
{
    static const struct {
        const char *word;
        size_t parts;
        const char *first;
    } at[] = { { "loan_status", 2, "loan" },
               { "a_b_c", 0, "" },
               { "___", 0, "" },
               { "plain", 0, "" },
               { "", 0, "" },
               { "_tail", 1, "tail" },
               { "x.mortgage#", 1, "mortgage" } };
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        size_t from[TAB_WORDS], to[TAB_WORDS], n = tab_parts_of(tab_str_of(at[i].word), from, to);
        cr_expect_eq(n, at[i].parts, "%s: %zu", at[i].word, n);
        if (n > 0 && n == at[i].parts)
            cr_expect(tab_str_eq((tab_str){ at[i].word + from[0], to[0] - from[0] }, tab_str_of(at[i].first)),
                      "%s", at[i].word);
    }
}

Test(words, of_a_long_value_are_bounded)
{
    static char text[4096];
    size_t from[TAB_WORDS], to[TAB_WORDS];
    for (size_t i = 0; i + 4 < sizeof text; i += 4)
        memcpy(text + i, "abc_", 4);
    cr_expect_eq(tab_parts_of((tab_str){ text, sizeof text - 8 }, from, to), (size_t)TAB_WORDS);
    cr_expect_leq(to[TAB_WORDS - 1], sizeof text);
}
