/* `tabella admin org list|show|plan|limits|networks|suspend|resume|delete`, `jobs list|cancel`, `holds
 * list|release`: what organizations there are, what each may do, and what it has under way. Calls of keys,
 * jobs and metering; `org delete` is erase of data.c. */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/integer.h"
#include "common/base/time.h"
#include "proto/jobs.pb-c.h"
#include "proto/keys.pb-c.h"
#include "proto/metering.pb-c.h"
#include "tools/tabella/admin.h"

enum { PAGE = 500, LIMITS_MOST = 16, SHOWN = 100, SHOWN_MOST = 10000, CURSOR_MOST = 200 };

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
    number(&o, "upload_mib", y->upload_mib);
    tab_out_close(&o, '}');
    tab_out_key(&o, "own_limits");
    tab_out_open(&o, '[');
    for (size_t i = 0; i < y->n_own_limits; i++)
        tab_out_cstr(&o, y->own_limits[i]);
    tab_out_close(&o, ']');
    tab_out_key(&o, "networks");
    tab_out_open(&o, '[');
    for (size_t i = 0; i < y->n_networks; i++)
        tab_out_cstr(&o, y->networks[i]);
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
        return argc == 1 ? list() : admin_usage("org list takes no arguments");
    if (strcmp(what, "delete") == 0)
        return admin_erase(argc, argv);
    if (argc < 2)
        return admin_usage("name one organization, by its id (org_...) or its name");
    q.org = argv[1];
    if (strcmp(what, "limits") == 0 && argc > 2)
        return set_limits(a, argv[1], argc - 2, argv + 2);
    if (strcmp(what, "networks") == 0) {
        bool any = argc == 3 && strcmp(argv[2], "any") == 0;
        if (argc < 3)
            return admin_usage("org networks ORG NETWORK ..., or any");
        q.set_networks = TABELLA__SET_ORG_REQUEST__SWITCH__ON;
        q.n_networks = any ? 0 : (size_t)argc - 2;
        q.networks = argv + 2;
        return set(a, &q);
    }
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

/* ---- what one has under way ------------------------------------------------------------------ */

static void moment(tab_out *o, const char *key, int64_t us)
{
    char at[TAB_TIME_TEXT];
    tab_time_text(us, at);
    text(o, key, at);
}

static void print_job(const Tabella__Job *j)
{
    tab_out o = { 0 };
    tab_out_open(&o, '{');
    text(&o, "job_id", j->job_id);
    text(&o, "kind", j->kind);
    text(&o, "status", j->status);
    number(&o, "progress", j->progress);
    text(&o, "phase", j->phase);
    text(&o, "label", j->label);
    moment(&o, "created", j->created_us);
    moment(&o, "updated", j->updated_us);
    tab_out_close(&o, '}');
    admin_print(&o);
}

static void print_hold(const Tabella__Hold *h)
{
    tab_out o = { 0 };
    tab_out_open(&o, '{');
    text(&o, "id", h->id);
    tab_out_key(&o, "cells");
    tab_out_double(&o, (double)h->milli / 1000);
    moment(&o, "until", h->until_us);
    tab_out_key(&o, "lapsed");
    tab_out_bool(&o, h->lapsed);
    tab_out_close(&o, '}');
    admin_print(&o);
}

/* What of a list is to be printed yet, and after what; nothing is left after its end. */
typedef struct {
    char *org, *status;
    size_t left;
    char after[CURSOR_MOST];
    bool more;
} listing;

static int some_jobs(tab_arena *a, listing *l)
{
    Tabella__ListJobsRequest q = TABELLA__LIST_JOBS_REQUEST__INIT;
    const void *msg;
    q.limit = (uint32_t)(l->left < SHOWN ? l->left : SHOWN);
    q.status = l->status;
    q.after = (ProtobufCBinaryData){ strlen(l->after), (uint8_t *)l->after };
    int rc = admin_ask_with(a, l->org, "jobs", "List", &q.base, &tabella__list_jobs_reply__descriptor, 10000,
                            &msg);
    if (rc != 0)
        return rc;
    const Tabella__ListJobsReply *y = msg;
    for (size_t i = 0; i < y->n_jobs; i++)
        print_job(y->jobs[i]);
    l->left = y->n_jobs < l->left ? l->left - y->n_jobs : 0;
    l->more = y->n_jobs > 0 && y->next.len > 0 && y->next.len < sizeof l->after;
    if (l->more)
        snprintf(l->after, sizeof l->after, "%.*s", (int)y->next.len, (const char *)y->next.data);
    return 0;
}

static int some_holds(tab_arena *a, listing *l)
{
    Tabella__ListHoldsRequest q = TABELLA__LIST_HOLDS_REQUEST__INIT;
    const void *msg;
    q.limit = (uint32_t)(l->left < SHOWN ? l->left : SHOWN);
    q.after = l->after;
    int rc = admin_ask_with(a, l->org, "metering", "ListHolds", &q.base,
                            &tabella__list_holds_reply__descriptor, 10000, &msg);
    if (rc != 0)
        return rc;
    const Tabella__ListHoldsReply *y = msg;
    for (size_t i = 0; i < y->n_holds; i++)
        print_hold(y->holds[i]);
    l->left = y->n_holds < l->left ? l->left - y->n_holds : 0;
    l->more = y->n_holds > 0 && y->next[0] != '\0' && strlen(y->next) < sizeof l->after;
    if (l->more)
        snprintf(l->after, sizeof l->after, "%s", y->next);
    return 0;
}

/* [--status STATUS] [--limit N] [--after CURSOR]: at most N lines; where there are more, stderr says after
 * what they come. */
static int list_under_way(char *org, bool jobs, int argc, char **argv)
{
    static char any[] = "";
    listing l = { .org = org, .status = any, .left = SHOWN };
    int64_t most = SHOWN;
    for (int i = 0; i < argc; i += 2) {
        if (i + 1 == argc)
            return admin_usage("an option lacks its value");
        if (jobs && strcmp(argv[i], "--status") == 0)
            l.status = argv[i + 1];
        else if (strcmp(argv[i], "--after") == 0 && strlen(argv[i + 1]) < sizeof l.after)
            snprintf(l.after, sizeof l.after, "%s", argv[i + 1]);
        else if (strcmp(argv[i], "--limit") != 0 ||
                 !tab_integer_read(tab_str_of(argv[i + 1]), 1, SHOWN_MOST, &most))
            return admin_usage("--status STATUS (of jobs), --limit N of 1 to 10000, --after CURSOR");
    }
    l.left = (size_t)most;
    for (l.more = true; l.more && l.left > 0;) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
        int rc = a == NULL ? EXIT_FAILURE : jobs ? some_jobs(a, &l) : some_holds(a, &l);
        if (rc != 0)
            return rc;
    }
    if (l.more)
        fprintf(stderr, "tabella admin: there are more: --after %s\n", l.after);
    return 0;
}

static int cancel_job(tab_arena *a, const char *org, char *id)
{
    Tabella__CancelJobRequest q = TABELLA__CANCEL_JOB_REQUEST__INIT;
    static char operator[] = "operator";
    const void *msg;
    q.job_id = id;
    q.actor = operator;
    int rc = admin_ask_with(a, org, "jobs", "Cancel", &q.base, &tabella__job__descriptor, 10000, &msg);
    if (rc == 0)
        print_job(msg);
    return rc;
}

static int release_hold(tab_arena *a, const char *org, char *id)
{
    Tabella__UnreserveRequest q = TABELLA__UNRESERVE_REQUEST__INIT;
    const void *msg;
    q.id = id;
    q.must_exist = true;
    int rc = admin_ask_with(a, org, "metering", "Release", &q.base, &tabella__reserve_reply__descriptor,
                            10000, &msg);
    if (rc != 0)
        return rc;
    tab_out o = { 0 };
    tab_out_open(&o, '{');
    text(&o, "released", id);
    tab_out_close(&o, '}');
    admin_print(&o);
    return 0;
}

int admin_under_way(tab_arena *a, int argc, char **argv)
{
    bool jobs = strcmp(argv[0], "jobs") == 0, list_them = argc > 2 && strcmp(argv[1], "list") == 0;
    Tabella__GetOrgRequest q = TABELLA__GET_ORG_REQUEST__INIT;
    const void *msg;
    if (argc < 3 || (!list_them && (strcmp(argv[1], jobs ? "cancel" : "release") != 0 || argc < 4)))
        return admin_usage(jobs ? "jobs list ORG, or jobs cancel ORG JOB ..."
                                : "holds list ORG, or holds release ORG ID ...");
    q.org = argv[2];
    int rc = admin_ask(a, "keys", "GetOrg", &q.base, &tabella__org__descriptor, &msg);
    if (rc != 0)
        return rc;
    char *org = ((const Tabella__Org *)msg)->org;
    if (list_them)
        return list_under_way(org, jobs, argc - 3, argv + 3);
    for (int i = 3; i < argc; i++) { /* what fails is said, and does not keep the others */
        int failed = jobs ? cancel_job(a, org, argv[i]) : release_hold(a, org, argv[i]);
        rc = failed != 0 ? failed : rc;
    }
    return rc;
}
