/* `tabella admin`: the operator's commands, as calls to the daemons over NATS. */
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/config.h"
#include "common/ids.h"
#include "common/log.h"
#include "common/rpc.h"
#include "proto/inference.pb-c.h"
#include "proto/keys.pb-c.h"
#include "tools/tabella/tabella.h"

static const char HELP[] =
    "usage: tabella admin org create --name NAME [--plan PLAN] [--email ADDRESS]\n"
    "       tabella admin org set ORG [--name NAME] [--plan PLAN] [--email ADDRESS]\n"
    "                                 [--add-usage on|off] [--spend-cap USD|none]\n"
    "       tabella admin base retire base-N\n"
    "       tabella admin base restore base-N\n\n"
    "Plans: free, plus, pro, enterprise, api. `org create` prints {\"org\", \"key\"}: "
    "the key holds all scopes and is\n"
    "shown this once. The suite is found at TAB_NATS (and TAB_NATS_USER, _PASSWORD, _TLS, _CA, as for a\n"
    "daemon; NAME_FILE names a file instead); where that is not set, at what `make up` wrote into\n"
    "run/nats.url (the folder TAB_RUN, or run/ of this project); else at nats://127.0.0.1:4222.\n";

/* The user in `make up`'s URL: its inboxes are below _INBOX.operator. */
#define OPERATOR "operator"
#define MUTABLE(s) ((char *)(uintptr_t)(s))

static int usage(const char *why)
{
    fprintf(stderr, "tabella admin: %s\n%s", why, HELP);
    return EXIT_USAGE;
}

/* The first line of a file in `folder`; false where there is none. */
static bool address_in(const char *folder, char *buf, size_t size)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/nats.url", folder);
    FILE *f = n < 0 || (size_t)n >= sizeof path ? NULL : fopen(path, "re");
    if (f == NULL)
        return false;
    bool read = fgets(buf, (int)size, f) != NULL;
    fclose(f);
    if (read)
        buf[strcspn(buf, "\r\n")] = '\0';
    return read;
}

/* run/ of the project whose build/tabella this is. */
static bool address_beside(char *buf, size_t size)
{
    char exe[PATH_MAX], *slash;
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - sizeof "/../run");
    if (n <= 0)
        return false;
    exe[n] = '\0';
    if ((slash = strrchr(exe, '/')) == NULL)
        return false;
    memcpy(slash, "/../run", sizeof "/../run");
    return address_in(exe, buf, size);
}

/* TAB_NATS with TAB_NATS_USER and its like, as for a daemon; else what `make up` wrote. */
static const tab_option nats_options[] = {
    TAB_OPTION(tab_access, address, SECRET, "TAB_NATS", "", "NATS server's URL"),
    TAB_OPTION(tab_access, user, TEXT, "TAB_NATS_USER", "", "NATS' user"),
    TAB_OPTION(tab_access, password, SECRET, "TAB_NATS_PASSWORD", "", "NATS' password"),
    TAB_OPTION(tab_access, tls, BOOL, "TAB_NATS_TLS", "0", "NATS by TLS"),
    TAB_OPTION(tab_access, ca, SECRET, "TAB_NATS_CA", "", "its authorities"),
    TAB_OPTION(tab_access, cert, SECRET, "TAB_NATS_CERT", "", "own certificate"),
    TAB_OPTION(tab_access, key, SECRET, "TAB_NATS_KEY", "", "its key"),
    TAB_OPTIONS_END,
};

static bool suite_access(tab_access *ret, char *buf, size_t size)
{
    static char name[] = "tabella admin", *argv[] = { name, NULL };
    if (tab_config_read(nats_options, ret, 1, argv) >= 0)
        return false;
    if (ret->address[0] != '\0')
        return true;
    const char *run = getenv("TAB_RUN");
    bool found = run != NULL ? address_in(run, buf, size) : address_beside(buf, size);
    *ret = (tab_access){ .address = found ? buf : "nats://127.0.0.1:4222" };
    return true;
}

static int ask(tab_arena *a, const char *service, const char *method, const ProtobufCMessage *in,
               const ProtobufCMessageDescriptor *reply, const void **ret)
{
    char url[512];
    tab_access nats;
    tab_log_open("tabella", TAB_ERROR);
    if (!suite_access(&nats, url, sizeof url))
        return EXIT_USAGE;
    TAB_AUTO(tab_rpc) *rpc = tab_rpc_open(&nats, OPERATOR);
    char id[TAB_ID];
    tab_id_new(id, "req_");
    tab_error err = { 0 };
    tab_answer answer = { 0 };
    tab_status s = rpc == NULL ? TAB_UNAVAILABLE : TAB_OK;
    tab_deadline end = tab_in_ms(10000);
    /* The connection is made in the background. */
    while (rpc != NULL && !tab_rpc_alive(rpc) && tab_left_ms(end, 10000) > 7000)
        poll(NULL, 0, 10);
    if (s == TAB_OK)
        s = tab_rpc_call(rpc,
                         &(tab_ask){ .service = service,
                                     .method = method,
                                     .org = "",
                                     .request_id = id,
                                     .actor = "operator",
                                     .deadline = end,
                                     .in = in,
                                     .reply = reply,
                                     .arena = a },
                         &answer, &err);
    if (s != TAB_OK) {
        fprintf(stderr, "tabella admin: %s%s%s\n", err.param, err.param[0] != 0 ? ": " : "",
                err.message[0] != 0 ? err.message : "the suite is not there");
        return s == TAB_VALIDATION || s == TAB_NOT_FOUND ? EXIT_INPUT : EXIT_FAILURE;
    }
    *ret = answer.msg;
    return 0;
}

static void print_line(tab_out *o)
{
    tab_out_bytes(o, "\n", 1);
    fwrite(o->p, 1, o->n, stdout);
    tab_out_free(o);
}

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
            fputs(HELP, stdout);
            return 0;
        default:
            return usage("unknown option");
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
        return usage("--name is missing");
    Tabella__CreateOrgRequest q = TABELLA__CREATE_ORG_REQUEST__INIT;
    q.name = o.name;
    q.plan = o.plan != NULL ? o.plan : MUTABLE("free");
    if (o.email != NULL)
        q.email = o.email;
    const void *msg;
    int rc = ask(a, "keys", "CreateOrg", &q.base, &tabella__create_org_reply__descriptor, &msg);
    if (rc != 0)
        return rc;
    const Tabella__CreateOrgReply *y = msg;
    tab_out out = { 0 };
    tab_out_open(&out, '{');
    member(&out, "org", y->org);
    member(&out, "key", y->key);
    tab_out_close(&out, '}');
    print_line(&out);
    return 0;
}

static int org_set(tab_arena *a, int argc, char **argv)
{
    org_options o = { 0 };
    int early = parse(argc, argv, &o);
    if (early >= 0)
        return early;
    if (optind + 1 != argc)
        return usage("name one organization: org_...");
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
            return usage("--add-usage is on or off");
        q.add_usage = on ? TABELLA__SET_ORG_REQUEST__SWITCH__ON : TABELLA__SET_ORG_REQUEST__SWITCH__OFF;
    }
    if (o.spend_cap != NULL) {
        char *end;
        bool none = strcmp(o.spend_cap, "none") == 0;
        q.spend_cap_usd = none ? 0 : strtod(o.spend_cap, &end);
        if (!none && (*end != 0 || !(q.spend_cap_usd >= 0 && q.spend_cap_usd < 1e12)))
            return usage("--spend-cap is an amount, or none");
        q.spend_cap = none ? TABELLA__SET_ORG_REQUEST__SWITCH__OFF : TABELLA__SET_ORG_REQUEST__SWITCH__ON;
    }
    const void *msg;
    int rc = ask(a, "keys", "SetOrg", &q.base, &tabella__org__descriptor, &msg);
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
    print_line(&out);
    return 0;
}

static int set_base(tab_arena *a, char *base, bool retired)
{
    Tabella__SetBaseRequest q = TABELLA__SET_BASE_REQUEST__INIT;
    q.base_model = base;
    q.retired = retired;
    const void *msg;
    int rc = ask(a, "inference", "SetBase", &q.base, &tabella__models_reply__descriptor, &msg);
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
        tab_out_close(&out, '}');
    }
    tab_out_close(&out, ']');
    print_line(&out);
    return 0;
}

int cmd_admin(int argc, char **argv)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(HELP, stdout);
            return 0;
        }
    if (argc >= 3 && strcmp(argv[1], "org") == 0 && strcmp(argv[2], "create") == 0)
        return org_create(a, argc - 2, argv + 2);
    if (argc >= 3 && strcmp(argv[1], "org") == 0 && strcmp(argv[2], "set") == 0)
        return org_set(a, argc - 2, argv + 2);
    if (argc == 4 && strcmp(argv[1], "base") == 0 &&
        (strcmp(argv[2], "retire") == 0 || strcmp(argv[2], "restore") == 0))
        return set_base(a, argv[3], strcmp(argv[2], "retire") == 0);
    return usage("unknown command");
}
