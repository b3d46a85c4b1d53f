/* What directories send by SCIM, in the forms that they send it in. */
#include <criterion/criterion.h>

#include "services/api/scim/scim_read.h"

static tab_arena *a;

static void begin(void)
{
    a = tab_arena_new(16 << 20);
}

static void end(void)
{
    tab_arena_free(a);
}
TestSuite(scim, .init = begin, .fini = end);

static scim_user user(const char *json, bool patch)
{
    scim_user u;
    tab_error err = { 0 };
    cr_expect_eq(scim_read_user(a, tab_str_of(json), patch, &u, &err), TAB_OK, "%s: %s", json, err.message);
    return u;
}

static void is(scim_text got, const char *want, const char *what)
{
    if (want == NULL)
        cr_expect_not(got.set, "%s is left alone", what);
    else
        cr_expect(got.set && tab_str_eq(got.text, tab_str_of(want)), "%s: %.*s, wanted %s", what,
                  (int)got.text.n, got.text.p, want);
}

Test(scim, a_whole_user_sets_everything)
{
    scim_user u = user("{\"userName\":\"ann@x.org\",\"externalId\":\"7\",\"name\":{\"givenName\":\"Ann\","
                       "\"familyName\":\"Lee\"},\"emails\":[{\"value\":\"b@x.org\",\"type\":\"home\"},"
                       "{\"value\":\"a@x.org\",\"primary\":true}],\"active\":true,\"title\":\"Dr\"}",
                       false);
    is(u.user_name, "ann@x.org", "userName");
    is(u.external_id, "7", "externalId");
    is(u.name, "Ann Lee", "name");
    is(u.email, "a@x.org", "email");
    cr_expect(u.set_active && u.active);
    u = user("{\"USERNAME\":\"bob\",\"displayName\":\"Bob\",\"name\":{\"formatted\":\"Robert\"}}", false);
    is(u.name, "Bob", "the display name counts most");
    is(u.email, "", "what is not there is none");
    is(u.external_id, "", "externalId");
    cr_expect_not(u.set_active);
    is(user("{\"userName\":\"bob\"}", false).name, "bob", "a user without a name");
}

#define OP(text) "{\"Operations\":[" text "]}"
Test(scim, changes_as_providers_send_them)
{
    scim_user u = user(OP("{\"op\":\"replace\",\"value\":{\"active\":false}}"), true); /* Okta */
    cr_expect(u.set_active && !u.active);
    is(u.name, NULL, "name");
    is(u.external_id, NULL, "externalId");
    u = user(OP("{\"op\":\"Replace\",\"path\":\"active\",\"value\":\"False\"}"), true); /* Entra ID */
    cr_expect(u.set_active && !u.active);
    u = user(OP("{\"op\":\"Add\",\"path\":\"emails[type eq \\\"work\\\"].value\",\"value\":\"x@y.z\"},"
                "{\"op\":\"Replace\",\"path\":\"name.givenName\",\"value\":\"Eve\"},"
                "{\"op\":\"remove\",\"path\":\"externalId\"},"
                "{\"op\":\"add\",\"path\":\"emails[type eq \\\"home\\\"].value\",\"value\":\"h@y.z\"},"
                "{\"op\":\"add\",\"path\":\"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:"
                "manager\",\"value\":\"7\"}"),
             true);
    is(u.email, "x@y.z", "email");
    is(u.given, "Eve", "given");
    is(u.external_id, "", "externalId");
    u = user(OP("{\"op\":\"add\",\"value\":{\"name.familyName\":\"Roe\","
                "\"urn:ietf:params:scim:schemas:core:2.0:User:displayName\":\"E Roe\"}}"),
             true);
    is(u.family, "Roe", "family");
    is(u.name, "E Roe", "name");
}

Test(scim, what_is_no_user)
{
    static const struct {
        const char *json, *type;
        bool patch;
    } cases[] = {
        { "[]", "invalidSyntax", false },
        { "{", "invalidSyntax", false },
        { "{\"userName\":\"\"}", "invalidValue", false },
        { "{}", "invalidValue", false },
        { "{\"userName\":7}", "invalidValue", false },
        { "{\"userName\":\"a\\u0000b\"}", "invalidSyntax", false },
        { "{\"userName\":\"a\",\"active\":\"yes\"}", "invalidValue", false },
        { "{\"userName\":\"a\",\"name\":\"x\"}", "invalidValue", false },
        { "{\"userName\":\"a\",\"emails\":7}", "invalidValue", false },
        { "{}", "invalidSyntax", true },
        { OP(""), "invalidSyntax", true },
        { OP("{\"op\":\"move\",\"path\":\"active\"}"), "invalidSyntax", true },
        { OP("{\"op\":\"remove\"}"), "noTarget", true },
        { OP("{\"op\":\"replace\",\"value\":7}"), "invalidValue", true },
        { OP("{\"op\":\"replace\",\"path\":\"active\"}"), "invalidValue", true },
        { OP("{\"op\":\"remove\",\"path\":\"userName\"}"), "invalidValue", true },
        { OP("{\"op\":\"add\",\"path\":\"emails[type eq \\\"work\\\"\",\"value\":\"x\"}"), "invalidPath",
          true },
        { OP("{\"op\":\"add\",\"path\":\".x\",\"value\":\"x\"}"), "invalidPath", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scim_user u;
        tab_error err = { 0 };
        cr_expect_eq(scim_read_user(a, tab_str_of(cases[i].json), cases[i].patch, &u, &err), TAB_VALIDATION,
                     "%s", cases[i].json);
        cr_expect_str_eq(err.param, cases[i].type, "%s", cases[i].json);
    }
}

static void members(const scim_group *g, size_t i, scim_change change, size_t n, const char *first)
{
    cr_assert_lt(i, g->n_members);
    cr_expect_eq(g->members[i].change, change, "change %zu", i);
    cr_expect_eq(g->members[i].n, n, "change %zu: %zu", i, g->members[i].n);
    if (n > 0 && g->members[i].n > 0)
        cr_expect(tab_str_eq(g->members[i].id[0], tab_str_of(first)), "change %zu", i);
}

Test(scim, groups_and_their_members)
{
    scim_group g;
    tab_error err = { 0 };
    cr_assert_eq(scim_read_group(a,
                                 TAB_S("{\"displayName\":\"owners\",\"members\":[{\"value\":\"usr_1\"},"
                                       "{\"value\":\"grp_1\",\"type\":\"Group\"}]}"),
                                 false, &g, &err),
                 TAB_OK);
    is(g.name, "owners", "displayName");
    cr_expect_eq(g.n_members, 1);
    members(&g, 0, SCIM_REPLACE, 1, "usr_1");
    cr_assert_eq(scim_read_group(a, TAB_S("{\"displayName\":\"owners\"}"), false, &g, &err), TAB_OK);
    members(&g, 0, SCIM_REPLACE, 0, NULL);
    cr_assert_eq(scim_read_group(
                     a,
                     TAB_S(OP("{\"op\":\"add\",\"path\":\"members\",\"value\":[{\"value\":\"usr_1\"},"
                              "{\"value\":\"usr_2\"}]},"
                              "{\"op\":\"remove\",\"path\":\"members[value eq \\\"usr_3\\\"]\"},"
                              "{\"op\":\"Remove\",\"path\":\"members\",\"value\":[{\"value\":\"usr_4\"}]},"
                              "{\"op\":\"remove\",\"path\":\"members\"},"
                              "{\"op\":\"replace\",\"value\":{\"id\":\"grp_1\",\"displayName\":\"new\"}}")),
                     true, &g, &err),
                 TAB_OK, "%s", err.message);
    is(g.name, "new", "displayName");
    cr_expect_eq(g.n_members, 4);
    members(&g, 0, SCIM_ADD, 2, "usr_1");
    members(&g, 1, SCIM_REMOVE, 1, "usr_3");
    members(&g, 2, SCIM_REMOVE, 1, "usr_4");
    members(&g, 3, SCIM_REPLACE, 0, NULL);
    static const char *const bad[] = { "{\"members\":[]}", "{\"displayName\":\"x\",\"members\":[{}]}",
                                       "{\"displayName\":\"x\",\"members\":7}" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_eq(scim_read_group(a, tab_str_of(bad[i]), false, &g, &err), TAB_VALIDATION, "%s", bad[i]);
}

Test(scim, filters)
{
    scim_filter f;
    tab_error err = { 0 };
    cr_assert_eq(scim_read_filter(a, TAB_S("userName EQ \"Ann\\\"s\""), false, &f, &err), TAB_OK);
    cr_expect(tab_str_eq(f.user_name, TAB_S("Ann\"s")) && f.id.p == NULL && !f.nothing);
    cr_assert_eq(scim_read_filter(a,
                                  TAB_S("externalId eq \"7\" and  emails[type eq \"work\"].value eq \"a@b\""),
                                  false, &f, &err),
                 TAB_OK, "%s", err.message);
    cr_expect(tab_str_eq(f.external_id, TAB_S("7")) && tab_str_eq(f.email, TAB_S("a@b")));
    cr_assert_eq(scim_read_filter(a, TAB_S("id eq \"grp_1\" and members eq \"usr_1\""), true, &f, &err),
                 TAB_OK);
    cr_expect(tab_str_eq(f.id, TAB_S("grp_1")) && tab_str_eq(f.member, TAB_S("usr_1")));
    /* none would be all */
    cr_assert_eq(scim_read_filter(a, TAB_S("userName eq \"\""), false, &f, &err), TAB_OK);
    cr_expect(f.nothing);
    static const char *const bad[] = { "",
                                       "userName",
                                       "userName eq",
                                       "userName eq ",
                                       "userName eq x",
                                       "userName eq \"x",
                                       "userName eq \"x\\\"",
                                       "userName eq \"\\u0000x\"", /* would be none where it is handed on */
                                       "userName co \"x\"",
                                       "userName eq \"x\" or id eq \"y\"",
                                       "userName eq \"x\" and",
                                       "userName eq \"x\"and id eq \"y\"",
                                       "userName eq \"x\" and userName eq \"y\"",
                                       "title eq \"x\"",
                                       "displayName eq \"x\"" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect_eq(scim_read_filter(a, tab_str_of(bad[i]), false, &f, &err), TAB_VALIDATION, "%s", bad[i]);
        cr_expect_str_eq(err.param, "invalidFilter", "%s", bad[i]);
    }
}
