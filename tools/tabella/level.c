/* `tabella admin service-level [MONTH]`: what became of all organizations' serve calls in a month. */
#include <stdio.h>
#include <stdlib.h>

#include "proto/keys.pb-c.h"
#include "tools/tabella/admin.h"

enum { PAGE = 500, ORG_MOST = 64 };

static void number(tab_out *o, const char *key, uint64_t x)
{
    tab_out_key(o, key);
    tab_out_uint(o, x);
}

static void real(tab_out *o, const char *key, bool there, double x)
{
    tab_out_key(o, key);
    if (there)
        tab_out_double(o, x);
    else
        tab_out_null(o);
}

/* A line of JSON. */
static void print_span(const Tabella__ServedSpan *s)
{
    uint64_t ours = s->answered + s->failed;
    tab_out o = { 0 };
    tab_out_open(&o, '{');
    tab_out_key(&o, "org");
    tab_out_cstr(&o, s->org);
    tab_out_key(&o, "month");
    tab_out_cstr(&o, s->span);
    number(&o, "answered", s->answered);
    number(&o, "failed", s->failed);
    number(&o, "refused", s->refused);
    number(&o, "abandoned", s->abandoned);
    real(&o, "availability", ours > 0, (double)s->answered / (double)(ours > 0 ? ours : 1));
    real(&o, "p50_ms", s->answered > 0, s->p50_ms);
    real(&o, "p95_ms", s->answered > 0, s->p95_ms);
    real(&o, "p99_ms", s->answered > 0, s->p99_ms);
    tab_out_close(&o, '}');
    admin_print(&o);
}

int admin_service_level(int argc, char **argv)
{
    char after[ORG_MOST] = "";
    if (argc > 2)
        return admin_usage("service-level [MONTH], such as service-level 2026-11");
    for (size_t n = PAGE; n == PAGE;) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 24);
        Tabella__ListServiceLevelsRequest q = TABELLA__LIST_SERVICE_LEVELS_REQUEST__INIT;
        const void *msg;
        q.month = argc == 2 ? argv[1] : q.month;
        q.after = after;
        q.limit = PAGE;
        int rc = a == NULL ? EXIT_FAILURE
                           : admin_ask(a, "keys", "ListServiceLevels", &q.base,
                                       &tabella__service_level_reply__descriptor, &msg);
        if (rc != 0)
            return rc;
        const Tabella__ServiceLevelReply *y = msg;
        n = y->n_months;
        for (size_t i = 0; i < n; i++)
            print_span(y->months[i]);
        if (n > 0)
            snprintf(after, sizeof after, "%s", y->months[n - 1]->org);
    }
    return 0;
}
