#include "common/security/checkpoint.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "common/security/crypto.h"

static const char secret[] = "1717171717171717171717171717171717171717171717171717171717171717";

static tab_checkpoint signed_of(const char *text)
{
    tab_checkpoint c = { 0 };
    snprintf(c.text, sizeof c.text, "%s", text);
    cr_assert(tab_checkpoint_sign(secret, &c));
    return c;
}

Test(checkpoint, what_was_signed_holds_and_nothing_else)
{
    tab_checkpoint c = signed_of("tabella-checkpoint kind=audit org=org_1 n=1"), other;
    char key[2 * TAB_CHECKPOINT_KEY + 1], list[256];
    tab_hex(c.key, sizeof c.key, key);
    snprintf(list, sizeof list, "00,%s,11", key);
    cr_expect(tab_checkpoint_holds(&c, NULL) && tab_checkpoint_holds(&c, "") &&
              tab_checkpoint_holds(&c, key));
    cr_expect(tab_checkpoint_holds(&c, list), "one key of several");
    cr_expect_not(tab_checkpoint_holds(&c, "00"), "another key");
    key[10] = '\0';
    cr_expect_not(tab_checkpoint_holds(&c, key), "the beginning of a key");
    other = c;
    other.text[strlen(other.text) - 1] = '2';
    cr_expect_not(tab_checkpoint_holds(&other, NULL), "another text");
    other = c;
    other.signature[63] ^= 1;
    cr_expect_not(tab_checkpoint_holds(&other, NULL), "another signature");
    other = signed_of("something kind=audit");
    cr_expect_not(tab_checkpoint_holds(&other, NULL), "a signature of something else");
    cr_expect_not(tab_checkpoint_sign("17", &other), "a secret that is too short");
}

Test(checkpoint, values_by_their_names)
{
    tab_checkpoint c = signed_of("tabella-checkpoint kind=audit org=org_1 n=12 not=n=3 empty= at=2026");
    static const struct {
        const char *name, *want; /* NULL: it is not there */
    } cases[] = {
        { "kind", "audit" },
        { "org", "org_1" },
        { "n", "12" },
        { "not", "n=3" },
        { "empty", "" },
        { "at", "2026" },
        { "or", NULL },
        { "rg", NULL },
        { "seq", NULL },
        { "", NULL },
        { "tabella-checkpoint", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char got[16] = "";
        bool there = tab_checkpoint_get(&c, cases[i].name, got, sizeof got);
        cr_expect_eq(there, cases[i].want != NULL, "%s", cases[i].name);
        if (there && cases[i].want != NULL)
            cr_expect_str_eq(got, cases[i].want, "%s", cases[i].name);
    }
    char small[3];
    cr_expect_not(tab_checkpoint_get(&c, "kind", small, sizeof small), "a value that is too long");
    cr_expect(tab_checkpoint_says(&c, "n", "12"));
    cr_expect_not(tab_checkpoint_says(&c, "n", "1"));
}
