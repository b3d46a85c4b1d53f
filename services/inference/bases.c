/* Which bases there are (the engine's table) and which of them an operator has retired (a row in
 * Postgres). */
#include "services/inference/engine/recipes.h"

#include <stdio.h>

#include "common/log.h"
#include "common/proto.h"
#include "services/inference/inference.h"

enum { FRESH_MS = 1000 };

/* Reads the retired ones where the last read is older than a second. While Postgres is away the last ones
 * are kept. */
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
    tab_error err = { 0 };
    if (tab_tx_begin(self->pg, TAB_ORG_ALL, tab_in_ms(1000), &tx, &err) != TAB_OK ||
        tab_tx_query(tx, &rows, &err, "SELECT base FROM inference.retired_base ORDER BY base", TAB_P_NONE) !=
            TAB_OK ||
        tab_tx_commit(&tx, &err) != TAB_OK) {
        tab_log(TAB_WARN, "retired bases: %s", err.message);
        return;
    }
    pthread_mutex_lock(&self->lock);
    self->n_retired = 0;
    for (size_t i = 0; i < tab_rows_count(rows) && i < MAX_BASES; i++)
        snprintf(self->retired[self->n_retired++], sizeof self->retired[0], "%s", tab_rows_text(rows, i, 0));
    pthread_mutex_unlock(&self->lock);
}

static bool retired(inference *self, const tab_base *b)
{
    bool is = b->retired;
    pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < self->n_retired; i++)
        is |= strcmp(self->retired[i], b->name) == 0;
    pthread_mutex_unlock(&self->lock);
    return is;
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

tab_status base_resolve(inference *self, const char *name, const char **ret, tab_error *err)
{
    look(self, false);
    size_t n;
    const tab_base *b = tab_bases(&n);
    if (name == NULL || name[0] == 0) {
        const tab_base *d = default_base(self);
        if (d == NULL)
            return tab_fail(err, TAB_CAPABILITY, "base", "every base is retired");
        *ret = d->name;
        return TAB_OK;
    }
    for (size_t i = 0; i < n; i++)
        if (strcmp(b[i].name, name) == 0) {
            if (retired(self, &b[i]))
                return tab_fail(err, TAB_CAPABILITY, "base",
                                "%s is retired: omit `base` for the latest, or upgrade the endpoint",
                                b[i].name);
            *ret = b[i].name;
            return TAB_OK;
        }
    return tab_fail(err, TAB_VALIDATION, "base", "no such base");
}

tab_status base_models(inference *self, tab_arena *a, bool with_retired, Tabella__ModelsReply *ret,
                       tab_error *err)
{
    look(self, false);
    size_t n;
    const tab_base *b = tab_bases(&n), *d = default_base(self);
    ret->models = tab_arena_new_of(a, Tabella__Model *, n + 1);
    Tabella__Model *m = tab_arena_new_of(a, Tabella__Model, n + 1);
    if (ret->models == NULL || m == NULL)
        return tab_no_memory(err);
    for (size_t i = n; i-- > 0;) { /* latest first */
        bool gone = retired(self, &b[i]);
        if (gone && !with_retired)
            continue;
        tabella__model__init(&m[i]);
        m[i].id = (char *)b[i].name;
        m[i].name =
            tab_arena_printf(a, "Base %s", strncmp(b[i].name, "base-", 5) == 0 ? b[i].name + 5 : b[i].name);
        m[i].status = (char *)(gone ? "retired" : "available");
        m[i].default_base = &b[i] == d;
        if (m[i].name == NULL)
            return tab_no_memory(err);
        ret->models[ret->n_models++] = &m[i];
    }
    return TAB_OK;
}

#define RETIRE "INSERT INTO inference.retired_base (base) VALUES ($1) ON CONFLICT DO NOTHING"
#define RESTORE "DELETE FROM inference.retired_base WHERE base = $1"

tab_status base_set(inference *self, tab_call *call, const char *name, bool retire, tab_error *err)
{
    size_t n;
    const tab_base *b = tab_bases(&n);
    bool known = false;
    for (size_t i = 0; i < n; i++)
        known |= strcmp(b[i].name, name) == 0;
    if (!known)
        return tab_fail(err, TAB_VALIDATION, "base", "no such base");
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_status s = tab_tx_begin(self->pg, TAB_ORG_ALL, call->deadline, &tx, err);
    if (s == TAB_OK)
        s = tab_tx_query(tx, NULL, err, retire ? RETIRE : RESTORE, TAB_P(tab_p_text(name)));
    if (s == TAB_OK)
        s = tab_tx_commit(&tx, err);
    if (s == TAB_OK)
        look(self, true);
    return s;
}
