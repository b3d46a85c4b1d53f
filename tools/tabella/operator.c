/* What the operator's commands share: their help, and calls to the daemons over NATS. */
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/config.h"
#include "common/base/log.h"
#include "common/security/ids.h"
#include "tools/tabella/admin.h"

const char admin_help[] =
    "usage: tabella admin org create --name NAME [--plan PLAN] [--email ADDRESS]\n"
    "       tabella admin org set ORG [--name NAME] [--plan PLAN] [--email ADDRESS]\n"
    "                                 [--add-usage on|off] [--spend-cap USD|none]\n"
    "       tabella admin org list\n"
    "       tabella admin org show ORG\n"
    "       tabella admin org plan ORG PLAN\n"
    "       tabella admin org limits ORG NAME=NUMBER|plan ...\n"
    "       tabella admin org networks ORG NETWORK ... | any\n"
    "       tabella admin org suspend ORG\n"
    "       tabella admin org resume ORG\n"
    "       tabella admin org delete ORG --yes [--settle SECONDS]\n"
    "       tabella admin jobs list ORG [--status STATUS] [--limit N] [--after CURSOR]\n"
    "       tabella admin jobs cancel ORG JOB ...\n"
    "       tabella admin holds list ORG [--limit N] [--after CURSOR]\n"
    "       tabella admin holds release ORG ID ...\n"
    "       tabella admin base retire base-N\n"
    "       tabella admin base restore base-N\n"
    "       tabella admin base add base-N --org ORG [--of base-N]\n"
    "       tabella admin connections reseal\n"
    "       tabella admin audit export ORG > FILE\n"
    "       tabella admin audit verify FILE [--head SEQ:HASH] [--key KEYS]\n"
    "       tabella admin usage verify [ORG]\n"
    "       tabella admin usage verify --file FILE [--key KEYS]\n"
    "       tabella admin service-level [MONTH]\n"
    "       tabella admin erase ORG --yes [--settle SECONDS]\n"
    "       tabella admin retain [--jobs DAYS] [--runs DAYS]\n"
    "                            [[--audit DAYS] [--ledger DAYS] --to FOLDER]\n\n"
    "Plans: free, plus, pro, enterprise, api. `org create` prints {\"org\", \"key\"}: the key holds all\n"
    "scopes and is shown this once. `org limits` gives one organization limits of its own (allowance,\n"
    "key_rpm, org_rpm, endpoint_rpm, cells_per_minute, endpoint_concurrency, batch_concurrency,\n"
    "upload_mib), or its plan's again. `org networks` says from where its keys may be used, for one that\n"
    "shut itself out.\n"
    "`org suspend` refuses its keys at once, until `org resume`; `org delete` is `erase`.\n"
    "`jobs list` prints an organization's jobs, newest first, `holds list` what is reserved for its work\n"
    "under way: a line of JSON each, 100 or --limit. `holds release` gives a reservation up; work that\n"
    "ends all the same is billed.\n"
    "`connections reseal` seals stored credentials again under the newest\n"
    "key of TAB_KEK. `audit export` prints a line of JSON an entry; `audit verify` (FILE, or\n"
    "-) computes the chain of hashes again, without a server, and holds it against a head noted earlier.\n"
    "`base add` gives one organization a base of its own, N from 1000 on, which --of computes; others do\n"
    "not see it.\n"
    "`usage verify` computes every sum of usage anew from the ledger, of all organizations or one; it\n"
    "prints what differs and ends with 4 where anything does. `service-level` prints what became of\n"
    "serve calls in a month (2026-11; else this one), a line of JSON an organization that had any.\n"
    "`erase` ends an organization's keys, deletes all that is its, looks for its name in every table\n"
    "and prints what went; it waits for calls under way (60 s). `retain` deletes ended jobs and runs'\n"
    "records that are older; entries of the audit log and lines of the ledger it writes into FOLDER\n"
    "first, and cuts them at a checkpoint that it signs with TAB_CHECKPOINT_KEY. --key holds checkpoints\n"
    "against public keys, commas between. Both work in the database at TAB_POSTGRES, as the owner of the\n"
    "tables.\n"
    "The suite is found at TAB_NATS (and TAB_NATS_USER, _PASSWORD, _TLS, _CA, as for a daemon; NAME_FILE\n"
    "names a file instead); where that is not set, at what `make up` wrote into run/nats.url (the folder\n"
    "TAB_RUN, or run/ of this project); else at nats://127.0.0.1:4222.\n";

int admin_usage(const char *why)
{
    fprintf(stderr, "tabella admin: %s\n%s", why, admin_help);
    return EXIT_USAGE;
}

/* The user in `make up`'s URL: its inboxes are below _INBOX.operator. */
#define OPERATOR "operator"

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

int admin_ask(tab_arena *a, const char *service, const char *method, const ProtobufCMessage *in,
              const ProtobufCMessageDescriptor *reply, const void **ret)
{
    return admin_ask_with(a, "", service, method, in, reply, 10000, ret);
}

int admin_ask_with(tab_arena *a, const char *org, const char *service, const char *method,
                   const ProtobufCMessage *in, const ProtobufCMessageDescriptor *reply, int64_t ms,
                   const void **ret)
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
    tab_deadline end = tab_in_ms(ms);
    /* The connection is made in the background. */
    while (rpc != NULL && !tab_rpc_alive(rpc) && tab_left_ms(end, ms) > ms - 3000)
        poll(NULL, 0, 10);
    if (s == TAB_OK)
        s = tab_rpc_call(rpc,
                         &(tab_ask){ .service = service,
                                     .method = method,
                                     .org = org,
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

void admin_print(tab_out *o)
{
    tab_out_bytes(o, "\n", 1);
    fwrite(o->p, 1, o->n, stdout);
    tab_out_free(o);
}
