/* Which bases there are, which of them an operator has retired, and which belong to one organization (rows in
 * Postgres; decision 0333). Which learners a base has: engine/recipes.c. */
#include "services/inference/engine/recipes.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/proto.h"
#include "services/inference/inference.h"

enum { FRESH_MS = 1000 };

/* The rows of organizations' bases become the list. The lock is held. */
static void keep(inference *self, const tab_rows *r)
{
    org_base *b = calloc(tab_rows_count(r) + 1, sizeof *b);
    if (b == NULL)
        return; /* the old list goes on */
    for (size_t i = 0; i < tab_rows_count(r); i++) {
        snprintf(b[i].org, sizeof b->org, "%s", tab_rows_text(r, i, 0));
        snprintf(b[i].name, sizeof b->name, "%s", tab_rows_text(r, i, 1));
        snprintf(b[i].of, sizeof b->of, "%s", tab_rows_text(r, i, 2));
    }
    free(self->org_bases);
    self->org_bases = b;
    self->n_org_bases = tab_rows_count(r);
}

/* Reads the retired ones and organizations' own, where the last read is older than a second. While Postgres
 * is away the last ones are kept. */
static void look(inference *self, bool now)
{
    pthread_mutex_lock(&self->lock);
    bool fresh = self->retired_at != 0 && tab_mono_ms() - self->retired_at < FRESH_MS;
    if (!fresh || now)
        self->retired_at = tab_mono_ms(); /* other threads need not read as well */
    pthread_mutex_unlock(&self->lock);
    if (fresh && !now)
        return;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_AUTO(tab_rows) *own = NULL;
    tab_error err = { 0 };
    if (tab_tx_begin(self->pg, TAB_ORG_ALL, tab_in_ms(1000), &tx, &err) != TAB_OK ||
        tab_tx_query(tx, &rows, &err, "SELECT base FROM inference.retired_base ORDER BY base", TAB_P_NONE) !=
            TAB_OK ||
        tab_tx_query(tx, &own, &err, "SELECT org, base, of FROM inference.org_base ORDER BY base LIMIT 10000",
                     TAB_P_NONE) != TAB_OK ||
        tab_tx_commit(&tx, &err) != TAB_OK) {
        tab_log(TAB_WARN, "the list of bases: %s", err.message);
        return;
    }
    pthread_mutex_lock(&self->lock);
    self->n_retired = 0;
    for (size_t i = 0; i < tab_rows_count(rows) && i < MAX_BASES; i++)
        snprintf(self->retired[self->n_retired++], sizeof self->retired[0], "%s", tab_rows_text(rows, i, 0));
    keep(self, own);
    pthread_mutex_unlock(&self->lock);
}

static bool named_retired(inference *self, const char *name)
{
    bool is = false;
    pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < self->n_retired; i++)
        is |= strcmp(self->retired[i], name) == 0;
    pthread_mutex_unlock(&self->lock);
    return is;
}

static bool retired(inference *self, const tab_base *b)
{
    return b->retired || named_retired(self, b->name);
}

/* A copy of the organization's base of this name; org NULL: whoever it belongs to. */
static bool own_base(inference *self, const char *org, const char *name, org_base *ret)
{
    bool found = false;
    pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < self->n_org_bases && !found; i++) {
        const org_base *b = &self->org_bases[i];
        found = strcmp(b->name, name) == 0 && (org == NULL || strcmp(b->org, org) == 0);
        if (found)
            *ret = *b;
    }
    pthread_mutex_unlock(&self->lock);
    return found;
}

static const tab_base *engine_base(const char *name)
{
    size_t n;
    const tab_base *b = tab_bases(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(b[i].name, name) == 0)
            return &b[i];
    return NULL;
}

/* The engine's default; where that is retired, the latest that is not. */
static const tab_base *default_base(inference *self)
{
    size_t n;
    const tab_base *b = tab_bases(&n), *latest = NULL;
    for (size_t i = 0; i < n; i++) {
        if (retired(self, &b[i]))
            continue;
        if (b[i].is_default)
            return &b[i];
        latest = &b[i];
    }
    return latest;
}

tab_status base_resolve(inference *self, const char *org, const char *name, const char **ret, tab_error *err)
{
    look(self, false);
    org_base own;
    if (name == NULL || name[0] == 0) {
        const tab_base *d = default_base(self);
        if (d == NULL)
            return tab_fail(err, TAB_CAPABILITY, "base", "every base is retired");
        *ret = d->name;
        return TAB_OK;
    }
    const tab_base *b = engine_base(name);
    bool gone = b != NULL && retired(self, b);
    if (b == NULL && own_base(self, org, name, &own)) {
        gone = named_retired(self, name);
        b = engine_base(own.of);
    }
    if (gone)
        return tab_fail(err, TAB_CAPABILITY, "base",
                        "base %s is retired; omit `base` for the latest or upgrade the endpoint", name);
    if (b == NULL)
        return tab_fail(err, TAB_VALIDATION, "base", "no such base");
    *ret = b->name;
    return TAB_OK;
}

static bool add_model(tab_arena *a, Tabella__ModelsReply *ret, const char *name, bool gone, bool is_default,
                      const org_base *own)
{
    Tabella__Model *m = tab_arena_new_of(a, Tabella__Model, 1);
    if (m == NULL)
        return false;
    tabella__model__init(m);
    m->id = tab_proto_text(a, name);
    m->name = tab_arena_printf(a, "Base %s", strncmp(name, "base-", 5) == 0 ? name + 5 : name);
    m->status = (char *)(uintptr_t)(gone ? "retired" : "available");
    m->default_base = is_default;
    if (own != NULL) {
        m->org = tab_proto_text(a, own->org);
        m->of = tab_proto_text(a, own->of);
    }
    ret->models[ret->n_models++] = m;
    return m->name != NULL;
}

tab_status base_models(inference *self, tab_arena *a, const char *org, bool with_retired,
                       Tabella__ModelsReply *ret, tab_error *err)
{
    look(self, false);
    size_t n, n_own;
    const tab_base *b = tab_bases(&n), *d = default_base(self);
    pthread_mutex_lock(&self->lock);
    n_own = self->n_org_bases;
    org_base *own = tab_arena_new_of(a, org_base, n_own + 1);
    if (own != NULL && n_own > 0)
        memcpy(own, self->org_bases, n_own * sizeof *own);
    pthread_mutex_unlock(&self->lock);
    ret->models = tab_arena_new_of(a, Tabella__Model *, n + n_own + 1);
    bool good = own != NULL && ret->models != NULL;
    for (size_t i = n_own; good && i-- > 0;) { /* latest first */
        bool gone = named_retired(self, own[i].name);
        if ((org[0] == 0 || strcmp(own[i].org, org) == 0) && (!gone || with_retired))
            good = add_model(a, ret, own[i].name, gone, false, &own[i]);
    }
    for (size_t i = n; good && i-- > 0;) {
        bool gone = retired(self, &b[i]);
        if (!gone || with_retired)
            good = add_model(a, ret, b[i].name, gone, &b[i] == d, NULL);
    }
    return good ? TAB_OK : tab_no_memory(err);
}

#define RETIRE "INSERT INTO inference.retired_base (base) VALUES ($1) ON CONFLICT DO NOTHING"
#define RESTORE "DELETE FROM inference.retired_base WHERE base = $1"

/* Numbers from 1000 on: those below are the engine's, in all versions. */
static bool own_name(const char *name)
{
    size_t digits = strncmp(name, "base-", 5) == 0 ? strspn(name + 5, "0123456789") : 0;
    return digits >= 4 && digits <= 9 && name[5] != '0' && name[5 + digits] == 0;
}

static tab_status add_own(tab_tx *tx, const Tabella__SetBaseRequest *q, const char *of, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "INSERT INTO inference.org_base AS b (org, base, of) VALUES ($1, $2, $3) "
                         "ON CONFLICT (base) DO UPDATE SET of = excluded.of "
                         "WHERE b.org = excluded.org AND b.of = excluded.of "
                         "RETURNING 1",
                         TAB_P(tab_p_text(q->org), tab_p_text(q->base_model), tab_p_text(of))));
    return tab_rows_count(rows) == 1
               ? TAB_OK
               : tab_fail(err, TAB_CONFLICT, "base", "a base with this name already exists");
}

tab_status base_set(inference *self, tab_call *call, const Tabella__SetBaseRequest *q, tab_error *err)
{
    org_base own;
    const tab_base *of = q->of[0] != 0 ? engine_base(q->of) : default_base(self);
    look(self, true);
    if (q->org[0] != 0 && (!own_name(q->base_model) || strncmp(q->org, "org_", 4) != 0))
        return tab_fail(err, TAB_VALIDATION, "base",
                        "a base of an organization must be called base-N with N from 1000 to 999999999");
    if (q->org[0] != 0 && of == NULL)
        return tab_fail(err, TAB_VALIDATION, "of", "the engine has no such base");
    if (q->org[0] == 0 && engine_base(q->base_model) == NULL && !own_base(self, NULL, q->base_model, &own))
        return tab_fail(err, TAB_VALIDATION, "base", "no such base");
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_TRY(tab_tx_begin(self->pg, TAB_ORG_ALL, call->deadline, &tx, err));
    if (q->org[0] != 0)
        TAB_TRY(add_own(tx, q, of->name, err));
    else
        TAB_TRY(tab_tx_query(tx, NULL, err, q->retired ? RETIRE : RESTORE, TAB_P(tab_p_text(q->base_model))));
    TAB_TRY(tab_tx_commit(&tx, err));
    look(self, true);
    return TAB_OK;
}
