/* Personal data within texts: what one text holds, and what is told of a column of them. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "services/inference/engine/profile/cells/held.h"
#include "services/inference/engine/profile/roles/roles.h"

Test(held, kinds_are_read_by_their_forms)
{
    static const struct {
        const char *text;
        int want; /* TAB_HELD_KINDS: none */
    } cases[] = {
        { "wrote from anna.berg@example.org, twice.", TAB_HELD_EMAIL },
        { "see @anna on the list", TAB_HELD_KINDS },
        { "ring +49 170 1234567 tomorrow", TAB_HELD_PHONE },
        { "ring (212) 555-0144 or come by", TAB_HELD_PHONE },
        { "grew by +12 000 in 2019 and 2020", TAB_HELD_KINDS },
        { "spoke with Anna Becker on Monday", TAB_HELD_NAME },
        { "lives at 12 Hill Road, ring twice", TAB_HELD_ADDRESS },
        { "wohnt in der Lindenstraße 4, klingeln", TAB_HELD_ADDRESS },
        { "vive en la calle de Alcalá, 45, segundo piso", TAB_HELD_ADDRESS },
        { "consegnare in via Roma 3 domani", TAB_HELD_ADDRESS },
        { "livré au 12 rue de la Paix", TAB_HELD_ADDRESS },
        { "an external USB 3.0 External Hard Drive", TAB_HELD_KINDS },
        { "12 items in the way of the Road", TAB_HELD_KINDS },
        { "im Frühling 2024 am Bahnhof 3", TAB_HELD_KINDS },
        { "card 4111 1111 1111 1111 expired", TAB_HELD_CARD },
        { "card 4111-1111-1111-1111, new one", TAB_HELD_CARD },
        { "paid with 5500005555555559 again", TAB_HELD_CARD },
        { "order 4111 1111 1111 1112 came", TAB_HELD_KINDS },
        { "refund to DE89 3704 0044 0532 0130 00 please", TAB_HELD_IBAN },
        { "refund to GB82WEST12345698765432", TAB_HELD_IBAN },
        { "refund to DE88 3704 0044 0532 0130 00 please", TAB_HELD_KINDS },
        { "her number is 123-45-6789 now", TAB_HELD_NATIONAL },
        { "part 666-45-6789 is out of stock", TAB_HELD_KINDS },
        { "codice RSSMRA85T10A562S del cliente", TAB_HELD_NATIONAL },
        { "", TAB_HELD_KINDS },
        { "(", TAB_HELD_KINDS },
        { "+", TAB_HELD_KINDS },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tab_held h;
        tab_held_in(tab_str_of(cases[i].text), &h);
        for (int k = 0; k < TAB_HELD_KINDS; k++)
            cr_expect_eq(h.hash[k] != 0, k == cases[i].want, "%s, kind %d", cases[i].text, k);
    }
    tab_held h;
    tab_held_in(TAB_S("is 111.444.777-35, order 4111 1111 1111 1112"), &h);
    cr_expect(h.unchecked && h.numbers == 1 && tab_str_eq(h.number[0], TAB_S("111.444.777-35")));
}

enum { ROWS = 200 };

/* Column k, row i, n bytes at t. */
static void cell(size_t k, size_t i, char *t, size_t n)
{
    static const char *const of[] = { "asked for an invoice of the last order", "wants another delivery day",
                                      "did not like the colour of the chair",
                                      "came back with a broken handle" };
    size_t at = i * 37 % 101;
    char held[80] = "";
    if (k == 1 && i % 10 == 3) /* a tenth, each another */
        snprintf(held, sizeof held, ", reach a%zu.berg@example.org", i);
    else if (k == 2 && i % 5 == 1) /* one hotline */
        snprintf(held, sizeof held, ", was told to ring +44 7700 900123");
    else if (k == 3 && i % 4 == 1) { /* Brazil's CPF, in a quarter */
        unsigned d[11];
        for (size_t j = 0; j < 9; j++)
            d[j] = (unsigned)((i + 3) * (j * j + 7) * 7919 / 13 % 10);
        for (size_t m = 9; m < 11; m++) {
            unsigned sum = 0;
            for (size_t j = 0; j < m; j++)
                sum += d[j] * (unsigned)(m + 1 - j);
            d[m] = sum % 11 < 2 ? 0 : 11 - sum % 11;
        }
        snprintf(held, sizeof held, ", id %u%u%u.%u%u%u.%u%u%u-%u%u", d[0], d[1], d[2], d[3], d[4], d[5],
                 d[6], d[7], d[8], d[9], d[10]);
    }
    snprintf(t, n, "%zu customers, case %zu: %s%s", i % 7 + 2, at, of[i * 3 % 4], held);
}

Test(held, kinds_and_shares_of_a_column_are_told)
{
    enum { COLS = 4 };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
    tab_column c[COLS];
    for (size_t k = 0; k < COLS; k++) {
        tab_builder *b = tab_builder_new(a, TAB_S("x"));
        for (size_t i = 0; i < ROWS; i++) {
            char v[160];
            cell(k, i, v, sizeof v);
            tab_builder_text(b, tab_arena_copy(a, tab_str_of(v)));
        }
        cr_assert(tab_builder_finish(b, &c[k]));
    }
    const tab_table t = { .id = TAB_S("t"), .rows = ROWS, .cols = COLS, .col = c };
    const tab_engine e = { .arena = a };
    tab_profile *p;
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    static const struct {
        int role;
        double share; /* 0: nothing is told */
    } want[COLS] = { { 0, 0 }, { TAB_ROLE_EMAIL, 0.1 }, { 0, 0 }, { TAB_ROLE_NATIONAL_ID, 0.25 } };
    for (size_t k = 0; k < COLS; k++) {
        const tab_column_profile *q = &p->col[k];
        cr_assert_eq(q->held_kinds, want[k].share > 0, "column %zu, %s", k, tab_role_names[q->role]);
        if (q->held_kinds == 0)
            continue;
        cr_expect_eq(q->held[0].role, want[k].role);
        cr_expect_float_eq(q->held[0].share, want[k].share, 1e-9);
        cr_expect(q->pii && q->held[0].confidence > 0.99 && q->pii_confidence > 0.99);
    }
}
