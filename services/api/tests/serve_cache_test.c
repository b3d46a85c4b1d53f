/* Rows of endpoints that serving keeps: under one state version, of one organization, for two seconds. */
#include <criterion/criterion.h>

#include "proto/jobs.pb-c.h"
#include "services/api/serve/serve_cache.h"

static request *asked_by(tab_arena *a, const char *org, const char *endpoint, const char *state)
{
    request *r = tab_arena_new_of(a, request, 1);
    r->arena = a;
    r->param[0] = tab_str_of(endpoint);
    strcpy(r->who.org, org);
    strcpy(r->state, state);
    return r;
}

static bool kept(const char *org, const char *endpoint, const char *state)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    char worker[40];
    const serve_row *row = serve_cache_get(asked_by(a, org, endpoint, state), worker);
    cr_assert(row == NULL || strcmp(row->e->id, endpoint) == 0);
    return row != NULL;
}

/* A row of version 3 that was asked for so many milliseconds ago. */
static void keep(const char *org, const char *endpoint, const char *state, int64_t age_ms)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__Endpoint e = TABELLA__ENDPOINT__INIT;
    e.id = (char *)endpoint;
    e.state_version = 3;
    cr_assert_not_null(serve_cache_put(asked_by(a, org, endpoint, state), &e, tab_mono_ms() - age_ms, "x"));
}

Test(serve_cache, a_row_serves_its_own_version_and_organization_alone)
{
    keep("org_a", "ep_1", "ep_1:3", 0);
    cr_expect(kept("org_a", "ep_1", "ep_1:3"));
    cr_expect_not(kept("org_a", "ep_1", "ep_1:4"), "another version");
    cr_expect_not(kept("org_a", "ep_1", ""), "no version known");
    cr_expect_not(kept("org_b", "ep_1", "ep_1:3"), "another organization");
    cr_expect_not(kept("org_a", "ep_2", "ep_1:3"), "another endpoint");
}

/* What Redis says of a version may be older than the row's deletion (a Redis that was frozen). */
Test(serve_cache, a_row_is_asked_for_anew_after_two_seconds)
{
    keep("org_a", "ep_3", "ep_3:3", 2000);
    cr_expect_not(kept("org_a", "ep_3", "ep_3:3"));
    keep("org_a", "ep_3", "ep_3:3", 0);
    cr_expect(kept("org_a", "ep_3", "ep_3:3"));
}

Test(serve_cache, a_row_that_changed_meanwhile_is_used_once_and_not_kept)
{
    keep("org_a", "ep_4", "ep_4:2", 0);
    cr_expect_not(kept("org_a", "ep_4", "ep_4:2"));
    cr_expect_not(kept("org_a", "ep_4", "ep_4:3"));
}
