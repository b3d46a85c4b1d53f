#include <criterion/criterion.h>
#include <stdlib.h>

#include "services/api/api.h"
#include "services/api/http/params.h"
#include "services/api/runs/body.h"

static request *asked(tab_arena *a, const char *query, const char *org)
{
    static api self;
    memset(self.secret[0].cursor_key, 7, sizeof self.secret[0].cursor_key);
    self.secrets = 1;
    self.cfg.body_most = 1 << 20;
    self.cfg.run_cells = 1000;
    request *r = tab_arena_new_of(a, request, 1);
    r->api = &self;
    r->arena = a;
    r->query = tab_str_of(query);
    strcpy(r->who.org, org);
    return r;
}

Test(query, limit_is_a_whole_number_from_1_to_100)
{
    static const struct {
        const char *query;
        uint32_t limit; /* 0: refused */
    } cases[] = { { "", 20 },
                  { "limit=1", 1 },
                  { "limit=100", 100 },
                  { "limit=101", 0 },
                  { "limit=0", 0 },
                  { "limit=-1", 0 },
                  { "limit=", 0 },
                  { "limit=1e1", 0 },
                  { "limit=2&limit=2", 0 },
                  { "limit=%31%30", 10 },
                  { "limit", 0 },
                  { "xlimit=7&a=b", 20 },
                  { "limit=00000007", 0 } };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t limit = 0;
        tab_str after;
        tab_error err = { 0 };
        tab_status s = query_page(asked(a, cases[i].query, "org_a"), "jobs:", 20, &limit, &after, &err);
        if (cases[i].limit == 0)
            cr_expect(s == TAB_VALIDATION && strcmp(err.param, "limit") == 0, "%s", cases[i].query);
        else
            cr_expect(s == TAB_OK && limit == cases[i].limit, "%s: %u", cases[i].query, limit);
    }
}

static tab_status follow(tab_arena *a, const char *cursor, const char *org, const char *list, tab_str *ret)
{
    uint32_t limit;
    tab_error err;
    return query_page(asked(a, tab_arena_printf(a, "cursor=%s", cursor), org), list, 20, &limit, ret, &err);
}

Test(cursor, belongs_to_one_organization_and_one_list_and_every_bit_counts)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 22);
    tab_out o = { 0 };
    cursor_write(asked(a, "", "org_a"), &o, "jobs:done", TAB_S("17"));
    tab_out_bytes(&o, "", 0);
    char *cursor = tab_arena_printf(a, "%.*s", (int)o.n - 2, o.p + 1);
    tab_str position;
    cr_expect(follow(a, cursor, "org_a", "jobs:done", &position) == TAB_OK &&
              tab_str_eq(position, TAB_S("17")));
    cr_expect(follow(a, cursor, "org_b", "jobs:done", &position) == TAB_VALIDATION);
    cr_expect(follow(a, cursor, "org_a", "jobs:", &position) == TAB_VALIDATION);
    for (size_t i = 0; cursor[i] != 0; i++) {
        char kept = cursor[i];
        cursor[i] = kept == 'A' ? 'Q' : 'A';
        cr_expect(follow(a, cursor, "org_a", "jobs:done", &position) == TAB_VALIDATION, "byte %zu", i);
        cursor[i] = kept;
    }
    tab_out_free(&o);
}

Test(body, media_types)
{
    static const struct {
        const char *type, *encoding;
        bool ok;
    } cases[] = { { NULL, NULL, true },
                  { "application/json", NULL, true },
                  { "Application/JSON ; charset=\"UTF-8\"", NULL, true },
                  { "application/json;", NULL, true },
                  { "application/json; charset=latin1", NULL, false },
                  { "application/json; charset=utf-88", NULL, false },
                  { "application/jsonx", NULL, false },
                  { "text/json", NULL, false },
                  { "application/json", "gzip", false },
                  { "application/json", "identity", true } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
        request *r = asked(a, "", "org_a");
        char text[] = "{}";
        tab_body b;
        tab_error err = { 0 };
        r->body = text;
        r->body_n = 2;
        r->content_type = cases[i].type;
        r->content_encoding = cases[i].encoding;
        tab_status s = body_read(r, &b, &err);
        cr_expect(cases[i].ok ? s == TAB_OK : s == TAB_VALIDATION && strcmp(err.param, "body") == 0, "%s, %s",
                  cases[i].type == NULL ? "none" : cases[i].type,
                  cases[i].encoding == NULL ? "none" : cases[i].encoding);
    }
}
