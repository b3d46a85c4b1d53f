/* `tabella admin org list|show|plan|limits|suspend|resume|delete`: what organizations there are, and what
 * each may do. All but `delete` (data.c: erase) are calls of keys. */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/integer.h"
#include "proto/keys.pb-c.h"
#include "tools/tabella/admin.h"

enum { PAGE = 500, LIMITS_MOST = 16 };

static void number(tab_out *o, const char *key, uint64_t x)
{
    tab_out_key(o, key);
    tab_out_int(o, (int64_t)x);
}

static void text(tab_out *o, const char *key, const char *x)
{
    tab_out_key(o, key);
    tab_out_cstr(o, x);
}

/* A line of JSON. */
static void print_org(const Tabella__Org *y)
{
    const Tabella__Grant *g = y->limits;
    tab_out o = { 0 };
    tab_out_open(&o, '{');
    text(&o, "org", y->org);
    text(&o, "name", y->name);
    text(&o, "plan", y->plan);
    text(&o, "email", y->email);
    number(&o, "created_us", (uint64_t)y->created_at);
    tab_out_key(&o, "suspended");
    tab_out_bool(&o, y->suspended_at != 0);
    tab_out_key(&o, "add_usage");
    tab_out_bool(&o, y->add_usage_enabled);
    tab_out_key(&o, "spend_cap_usd");
    if (y->spend_cap_set)
        tab_out_double(&o, y->spend_cap_usd);
    else
        tab_out_null(&o);
    tab_out_key(&o, "limits");
    tab_out_open(&o, '{');
    number(&o, "allowance", y->allowance_cells);
    number(&o, "key_rpm", g->key_rpm);
    number(&o, "org_rpm", g->org_rpm);
    number(&o, "endpoint_rpm", g->endpoint_rpm);
    number(&o, "cells_per_minute", g->cells_per_minute);
    number(&o, "endpoint_concurrency", g->endpoint_concurrency);
    number(&o, "batch_concurrency", g->batch_concurrency);
    tab_out_close(&o, '}');
    tab_out_key(&o, "own_limits");
    tab_out_open(&o, '[');
    for (size_t i = 0; i < y->n_own_limits; i++)
        tab_out_cstr(&o, y->own_limits[i]);
    tab_out_close(&o, ']');
    tab_out_close(&o, '}');
    admin_print(&o);
}

/* Page after page: what a page took is freed before the next. */
static int list(void)
{
    char after[64] = "";
    for (size_t n = PAGE; n == PAGE;) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
        Tabella__ListOrgsRequest q = TABELLA__LIST_ORGS_REQUEST__INIT;
        const void *msg;
        q.limit = PAGE;
        q.after = after;
        int rc = a == NULL
                     ? EXIT_FAILURE
                     : admin_ask(a, "keys", "ListOrgs", &q.base, &tabella__list_orgs_reply__descriptor, &msg);
        if (rc != 0)
            return rc;
        const Tabella__ListOrgsReply *y = msg;
        n = y->n_orgs;
        for (size_t i = 0; i < n; i++)
            print_org(y->orgs[i]);
        if (n > 0)
            snprintf(after, sizeof after, "%s", y->orgs[n - 1]->org);
    }
    return 0;
}

static int show(tab_arena *a, char *org)
{
    Tabella__GetOrgRequest q = TABELLA__GET_ORG_REQUEST__INIT;
    const void *msg;
    q.org = org;
    int rc = admin_ask(a, "keys", "GetOrg", &q.base, &tabella__org__descriptor, &msg);
    if (rc == 0)
        print_org(msg);
    return rc;
}

static int set(tab_arena *a, const Tabella__SetOrgRequest *q)
{
    const void *msg;
    int rc = admin_ask(a, "keys", "SetOrg", &q->base, &tabella__org__descriptor, &msg);
    if (rc == 0)
        print_org(msg);
    return rc;
}

/* NAME=NUMBER or NAME=plan, one or more. */
static int set_limits(tab_arena *a, char *org, int argc, char **argv)
{
    Tabella__SetOrgRequest q = TABELLA__SET_ORG_REQUEST__INIT;
    Tabella__OwnLimit limit[LIMITS_MOST], *of[LIMITS_MOST];
    if (argc > LIMITS_MOST)
        return admin_usage("there are not so many limits");
    for (int i = 0; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        int64_t x = 0;
        if (value == NULL)
            return admin_usage("limits are NAME=NUMBER or NAME=plan");
        *value++ = '\0';
        tabella__own_limit__init(&limit[i]);
        limit[i].name = argv[i];
        limit[i].plan = strcmp(value, "plan") == 0;
        if (!limit[i].plan && !tab_integer_read(tab_str_of(value), 0, INT64_MAX / 2, &x))
            return admin_usage("a limit is a whole number, or plan");
        limit[i].value = (uint64_t)x;
        of[i] = &limit[i];
    }
    q.org = org;
    q.n_limits = (size_t)argc;
    q.limits = of;
    return set(a, &q);
}

int admin_org(tab_arena *a, int argc, char **argv)
{
    Tabella__SetOrgRequest q = TABELLA__SET_ORG_REQUEST__INIT;
    const char *what = argv[0];
    if (strcmp(what, "list") == 0)
        return argc == 1 ? list() : admin_usage("org list takes no argument");
    if (strcmp(what, "delete") == 0)
        return admin_erase(argc, argv);
    if (argc < 2)
        return admin_usage("name one organization, by its id (org_...) or its name");
    q.org = argv[1];
    if (strcmp(what, "limits") == 0 && argc > 2)
        return set_limits(a, argv[1], argc - 2, argv + 2);
    if (strcmp(what, "plan") == 0) {
        if (argc != 3)
            return admin_usage("org plan ORG PLAN");
        q.plan = argv[2];
        return set(a, &q);
    }
    if (argc != 2)
        return admin_usage("name one organization, by its id (org_...) or its name");
    bool stop = strcmp(what, "suspend") == 0;
    if (!stop && strcmp(what, "resume") != 0)
        return show(a, argv[1]); /* show, and limits without any */
    q.suspended = stop ? TABELLA__SET_ORG_REQUEST__SWITCH__ON : TABELLA__SET_ORG_REQUEST__SWITCH__OFF;
    return set(a, &q);
}
