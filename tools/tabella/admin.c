/* `tabella admin`: the operator's commands. Each has a function that reads the arguments, calls a daemon
 * over NATS and prints the answer as JSON; cmd_admin chooses it. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "proto/data.pb-c.h"
#include "proto/inference.pb-c.h"
#include "proto/keys.pb-c.h"
#include "tools/tabella/admin.h"

static void member(tab_out *o, const char *key, const char *value)
{
    tab_out_key(o, key);
    tab_out_cstr(o, value);
}

typedef struct {
    char *name, *plan, *email, *add_usage, *spend_cap;
} org_options;

static int parse(int argc, char **argv, org_options *ret)
{
    static const struct option options[] = { { "name", 1, NULL, 'n' },      { "plan", 1, NULL, 'p' },
                                             { "email", 1, NULL, 'e' },     { "add-usage", 1, NULL, 'a' },
                                             { "spend-cap", 1, NULL, 'c' }, { "help", 0, NULL, 'h' },
                                             { NULL, 0, NULL, 0 } };
    optind = 1;
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;)
        switch (c) {
        case 'n':
            ret->name = optarg;
            break;
        case 'p':
            ret->plan = optarg;
            break;
        case 'e':
            ret->email = optarg;
            break;
        case 'a':
            ret->add_usage = optarg;
            break;
        case 'c':
            ret->spend_cap = optarg;
            break;
        case 'h':
            fputs(admin_help, stdout);
            return 0;
        default:
            return admin_usage("unknown option");
        }
    return -1;
}

static int org_create(tab_arena *a, int argc, char **argv)
{
    org_options o = { 0 };
    int early = parse(argc, argv, &o);
    if (early >= 0)
        return early;
    if (o.name == NULL)
        return admin_usage("--name is missing");
    Tabella__CreateOrgRequest q = TABELLA__CREATE_ORG_REQUEST__INIT;
    q.name = o.name;
    q.plan = o.plan != NULL ? o.plan : (char *)(uintptr_t) "free";
    if (o.email != NULL)
        q.email = o.email;
    const void *msg;
    int rc = admin_ask(a, "keys", "CreateOrg", &q.base, &tabella__create_org_reply__descriptor, &msg);
    if (rc != 0)
        return rc;
    const Tabella__CreateOrgReply *y = msg;
    tab_out out = { 0 };
    tab_out_open(&out, '{');
    member(&out, "org", y->org);
    member(&out, "key", y->key);
    tab_out_close(&out, '}');
    admin_print(&out);
    return 0;
}

static int org_set(tab_arena *a, int argc, char **argv)
{
    org_options o = { 0 };
    int early = parse(argc, argv, &o);
    if (early >= 0)
        return early;
    if (optind + 1 != argc)
        return admin_usage("name one organization, by its id (org_...) or its name");
    Tabella__SetOrgRequest q = TABELLA__SET_ORG_REQUEST__INIT;
    q.org = argv[optind];
    if (o.name != NULL)
        q.name = o.name;
    if (o.plan != NULL)
        q.plan = o.plan;
    if (o.email != NULL)
        q.email = o.email;
    if (o.add_usage != NULL) {
        bool on = strcmp(o.add_usage, "on") == 0;
        if (!on && strcmp(o.add_usage, "off") != 0)
            return admin_usage("--add-usage must be on or off");
        q.add_usage = on ? TABELLA__SET_ORG_REQUEST__SWITCH__ON : TABELLA__SET_ORG_REQUEST__SWITCH__OFF;
    }
    if (o.spend_cap != NULL) {
        char *end;
        bool none = strcmp(o.spend_cap, "none") == 0;
        q.spend_cap_usd = none ? 0 : strtod(o.spend_cap, &end);
        if (!none && (*end != 0 || !(q.spend_cap_usd >= 0 && q.spend_cap_usd < 1e12)))
            return admin_usage("--spend-cap must be an amount or none");
        q.spend_cap = none ? TABELLA__SET_ORG_REQUEST__SWITCH__OFF : TABELLA__SET_ORG_REQUEST__SWITCH__ON;
    }
    const void *msg;
    int rc = admin_ask(a, "keys", "SetOrg", &q.base, &tabella__org__descriptor, &msg);
    if (rc != 0)
        return rc;
    const Tabella__Org *y = msg;
    tab_out out = { 0 };
    tab_out_open(&out, '{');
    member(&out, "org", y->org);
    member(&out, "name", y->name);
    member(&out, "plan", y->plan);
    tab_out_key(&out, "add_usage");
    tab_out_bool(&out, y->add_usage_enabled);
    tab_out_key(&out, "spend_cap_usd");
    if (y->spend_cap_set)
        tab_out_double(&out, y->spend_cap_usd);
    else
        tab_out_null(&out);
    tab_out_close(&out, '}');
    admin_print(&out);
    return 0;
}

/* retire BASE, restore BASE, or add BASE --org ORG [--of BASE] */
static int set_base(tab_arena *a, int argc, char **argv)
{
    Tabella__SetBaseRequest q = TABELLA__SET_BASE_REQUEST__INIT;
    bool add = strcmp(argv[0], "add") == 0;
    if (argc < 2)
        return admin_usage("name a base: base-N");
    q.base_model = argv[1];
    q.retired = strcmp(argv[0], "retire") == 0;
    for (int i = 2; i < argc; i += 2) {
        bool org = strcmp(argv[i], "--org") == 0;
        if (!add || i + 1 == argc || (!org && strcmp(argv[i], "--of") != 0))
            return admin_usage("base retire BASE, base restore BASE, or base add BASE --org ORG [--of BASE]");
        *(org ? &q.org : &q.of) = argv[i + 1];
    }
    if (add && q.org[0] == 0)
        return admin_usage("base add needs --org");
    const void *msg;
    int rc = admin_ask(a, "inference", "SetBase", &q.base, &tabella__models_reply__descriptor, &msg);
    if (rc != 0)
        return rc;
    const Tabella__ModelsReply *y = msg;
    tab_out out = { 0 };
    tab_out_open(&out, '[');
    for (size_t i = 0; i < y->n_models; i++) {
        tab_out_open(&out, '{');
        member(&out, "id", y->models[i]->id);
        member(&out, "status", y->models[i]->status);
        tab_out_key(&out, "default");
        tab_out_bool(&out, y->models[i]->default_base);
        if (y->models[i]->org[0] != 0) {
            member(&out, "org", y->models[i]->org);
            member(&out, "of", y->models[i]->of);
        }
        tab_out_close(&out, '}');
    }
    tab_out_close(&out, ']');
    admin_print(&out);
    return 0;
}

static void data_keys(tab_out *out, uint64_t wrapped, uint64_t newest, char *const *failed, size_t n)
{
    tab_out_key(out, "data_keys");
    tab_out_int(out, (int64_t)wrapped);
    tab_out_key(out, "data_keys_newest");
    tab_out_int(out, (int64_t)newest);
    tab_out_key(out, "data_keys_failed");
    tab_out_open(out, '[');
    for (size_t i = 0; i < n; i++)
        tab_out_cstr(out, failed[i]);
    tab_out_close(out, ']');
}

/* Of fitted states, which have a master key of their own. */
static void states(tab_out *out, const Tabella__ResealStatesReply *y)
{
    tab_out_key(out, "states");
    if (y->key[0] == '\0') {
        tab_out_null(out);
        return;
    }
    tab_out_open(out, '{');
    member(out, "key", y->key);
    data_keys(out, y->data_keys, y->data_keys_newest, y->data_keys_failed, y->n_data_keys_failed);
    tab_out_key(out, "states_unsealed");
    tab_out_int(out, (int64_t)y->states_unsealed);
    tab_out_close(out, '}');
}

static void resealed(const Tabella__ResealReply *y, const Tabella__ResealStatesReply *s)
{
    tab_out out = { 0 };
    tab_out_open(&out, '{');
    member(&out, "key", y->key);
    tab_out_key(&out, "resealed");
    tab_out_int(&out, (int64_t)y->resealed);
    tab_out_key(&out, "newest");
    tab_out_int(&out, (int64_t)y->newest);
    tab_out_key(&out, "failed");
    tab_out_open(&out, '[');
    for (size_t i = 0; i < y->n_failed; i++)
        tab_out_cstr(&out, y->failed[i]);
    tab_out_close(&out, ']');
    data_keys(&out, y->data_keys, y->data_keys_newest, y->data_keys_failed, y->n_data_keys_failed);
    tab_out_key(&out, "blocks_unsealed");
    tab_out_int(&out, (int64_t)y->blocks_unsealed);
    states(&out, s);
    tab_out_close(&out, '}');
    admin_print(&out);
}

/* Exit 1 where something does not open: its key is not in the ring, and is not to be dropped. */
static int reseal(tab_arena *a)
{
    Tabella__ResealRequest q = TABELLA__RESEAL_REQUEST__INIT;
    Tabella__ResealStatesRequest of_states = TABELLA__RESEAL_STATES_REQUEST__INIT;
    const void *msg, *msg_of_states;
    int rc = admin_ask(a, "data-connector", "Reseal", &q.base, &tabella__reseal_reply__descriptor, &msg);
    if (rc == 0)
        rc = admin_ask(a, "inference", "Reseal", &of_states.base, &tabella__reseal_states_reply__descriptor,
                       &msg_of_states);
    if (rc != 0)
        return rc;
    const Tabella__ResealReply *y = msg;
    const Tabella__ResealStatesReply *s = msg_of_states;
    resealed(y, s);
    return y->n_failed + y->n_data_keys_failed + s->n_data_keys_failed == 0 ? 0 : EXIT_FAILURE;
}

int cmd_admin(int argc, char **argv)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(admin_help, stdout);
            return 0;
        }
    if (argc >= 3 && strcmp(argv[1], "org") == 0 && strcmp(argv[2], "create") == 0)
        return org_create(a, argc - 2, argv + 2);
    if (argc >= 3 && strcmp(argv[1], "org") == 0 && strcmp(argv[2], "set") == 0)
        return org_set(a, argc - 2, argv + 2);
    static const char *const of_org[] = { "list",     "show",    "plan",   "limits",
                                          "networks", "suspend", "resume", "delete" };
    for (size_t i = 0; argc >= 3 && strcmp(argv[1], "org") == 0 && i < sizeof of_org / sizeof *of_org; i++)
        if (strcmp(argv[2], of_org[i]) == 0)
            return admin_org(a, argc - 2, argv + 2);
    if (argc >= 3 && strcmp(argv[1], "base") == 0 &&
        (strcmp(argv[2], "retire") == 0 || strcmp(argv[2], "restore") == 0 || strcmp(argv[2], "add") == 0))
        return set_base(a, argc - 2, argv + 2);
    if (argc == 3 && strcmp(argv[1], "connections") == 0 && strcmp(argv[2], "reseal") == 0)
        return reseal(a);
    if (argc >= 2 && (strcmp(argv[1], "jobs") == 0 || strcmp(argv[1], "holds") == 0))
        return admin_under_way(a, argc - 1, argv + 1);
    if (argc >= 2 && strcmp(argv[1], "erase") == 0)
        return admin_erase(argc - 1, argv + 1);
    if (argc >= 2 && strcmp(argv[1], "retain") == 0)
        return admin_retain(argc - 1, argv + 1);
    if (argc >= 2 && strcmp(argv[1], "audit") == 0)
        return admin_audit(argc - 1, argv + 1);
    if (argc >= 2 && strcmp(argv[1], "service-level") == 0)
        return admin_service_level(argc - 1, argv + 1);
    if (argc >= 2 && strcmp(argv[1], "usage") == 0)
        return admin_meter(argc - 1, argv + 1);
    return admin_usage("unknown command");
}
