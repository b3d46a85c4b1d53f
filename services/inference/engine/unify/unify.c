/* See unify.h and decision 0139: one record an entity, for link/cross_tables.c. For each attribute and entity
 * one value survives, as its source wrote it; every source's own value stands beside it.
 *
 *   stamp_of, reliability, units (composites.h) ─> survivor ─> record_column   the records
 *                                     ─> variants         each source's own values
 *   list_further_rows, count_matched                      rows beyond a table's first; who matched
 *
 * The rule by which a value survives is written to the bundle: */
#include "services/inference/engine/unify/unify.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/profile/roles/roles.h"
#include "services/inference/engine/unify/composites.h"

static const char survivorship[] =
    "the value that most sources agree on after format normalisation; "
    "then the one of the row that was written last, where each table has one column of dates with times; "
    "then the value of the source that agrees most often with the others; then the most complete form; "
    "then the first table's; the parts of a name, an address or a place, and an amount and its currency, "
    "are of one row";

/* A built column as the bundle's message; points into the column. */
static Tabella__Column *column_message(tab_arena *a, const tab_column *c, size_t rows)
{
    Tabella__Column *m = tab_arena_new_of(a, Tabella__Column, 1);
    if (m == NULL)
        return NULL;
    tabella__column__init(m);
    m->name = (ProtobufCBinaryData){ c->name.n, (uint8_t *)(uintptr_t)c->name.p };
    if (c->layout == TAB_NUMBERS) {
        m->numbers = (ProtobufCBinaryData){ rows * sizeof(double), (uint8_t *)(uintptr_t)c->num };
        return m;
    }
    size_t text = c->levels == 0 ? 0 : c->end[c->levels - 1];
    m->coded = 1;
    m->codes = (ProtobufCBinaryData){ rows * sizeof(uint32_t), (uint8_t *)(uintptr_t)c->code };
    m->level_text = (ProtobufCBinaryData){ text, (uint8_t *)(uintptr_t)c->text };
    m->level_end = (ProtobufCBinaryData){ c->levels * sizeof(uint32_t), (uint8_t *)(uintptr_t)c->end };
    m->level_kind = (ProtobufCBinaryData){ c->levels, (uint8_t *)(uintptr_t)c->kind };
    return m;
}

/* A row's value of an attribute in normal form, or NULL. */
static const tab_value *value_of(const tab_views *v, const tab_shared_attribute *t, tab_member m)
{
    if (t->col[m.table] == TAB_NULL)
        return NULL;
    const tab_view *w = &v->table[m.table].col[t->col[m.table]];
    return w->code[m.row] == TAB_NULL ? NULL : &w->value[w->code[m.row]];
}

/* Share of a source's values that another source of the entity confirms: the source's reliability, with
 * half a confirmation in one observation as prior. */
static void reliability(const tab_views *v, const tab_shared_attribute *t, const tab_entities *n, double *r)
{
    for (size_t s = 0; s < v->n; s++)
        r[s] = 0.5;
    /* one source alone is never confirmed: its prior stands */
    if (t->sources < 2)
        return;
    for (size_t s = 0; s < v->n; s++) {
        /* entities in which another source has the attribute, too */
        size_t seen = 0, confirmed = 0;
        if (t->col[s] == TAB_NULL)
            continue;
        for (size_t i = 0; i < n->n; i++) {
            /* the source's first row of the entity speaks for it */
            if (n->row[i * v->n + s] == TAB_NULL)
                continue;
            const tab_value *x = value_of(v, t, (tab_member){ (uint32_t)s, n->row[i * v->n + s] });
            /* whether another table has a value, and the same one */
            bool any = false, agrees = false;
            for (size_t k = n->at[i]; x != NULL && k < n->at[i + 1]; k++) {
                const tab_value *y = n->member[k].table == s ? NULL : value_of(v, t, n->member[k]);
                any = any || y != NULL;
                agrees = agrees || (y != NULL && y->key == x->key);
            }
            seen += any;
            confirmed += agrees;
        }
        r[s] = ((double)confirmed + 0.5) / ((double)seen + 1);
    }
}

/* When a row was written: the column of dates with times, where its table has exactly one; else TAB_NULL. */
static uint32_t stamp_of(const tab_table_view *t)
{
    uint32_t found = TAB_NULL;
    for (uint32_t c = 0; c < t->cols; c++) {
        const tab_view *w = &t->col[c];
        if (w->kind != TAB_VIEW_DATE || w->profile->role != TAB_ROLE_DATETIME)
            continue;
        /* two such columns: which of them says when is not known */
        if (found != TAB_NULL)
            return TAB_NULL;
        found = c;
    }
    return found;
}

/* Seconds, or NaN. */
static double written(const tab_views *v, const uint32_t *stamp, tab_member m)
{
    if (stamp[m.table] == TAB_NULL)
        return (double)NAN;
    const tab_view *w = &v->table[m.table].col[stamp[m.table]];
    return w->code[m.row] == TAB_NULL ? (double)NAN : w->value[w->code[m.row]].number;
}

/* What speaks for a row of an entity. */
typedef struct {
    double votes, date, trust;
    uint32_t length; /* of its values */
} standing;

/* A table has one vote on each attribute, which its rows share. */
static double votes_for(const tab_views *v, const tab_shared_attribute *t, const tab_entities *n, size_t i,
                        const tab_value *x)
{
    double votes = 0;
    for (size_t o = n->at[i]; o < n->at[i + 1];) { /* members stand by table: a table's rows are a run */
        size_t rows = 0, same = 0;
        uint32_t table = n->member[o].table;
        for (; o < n->at[i + 1] && n->member[o].table == table; o++) {
            const tab_value *y = value_of(v, t, n->member[o]);
            rows += y != NULL;
            same += y != NULL && y->key == x->key;
        }
        votes += rows > 0 ? (double)same / (double)rows : 0;
    }
    return votes;
}

/* Votes, then the date, then the source's reliability in hundredths, then the longer form; ties keep the
 * first. A date that is not known (NaN) is neither later nor earlier. */
static bool better(const standing *x, const standing *best)
{
    if (x->votes != best->votes)
        return x->votes > best->votes;
    if (x->date > best->date || x->date < best->date)
        return x->date > best->date;
    if (x->trust != best->trust)
        return x->trust > best->trust;
    return x->length > best->length;
}

/* What the records of the entities are made of. */
typedef struct {
    const tab_engine *e;
    const tab_views *v;
    const tab_shared_attribute *attr;
    const tab_entities *n;
    const uint32_t *stamp; /* (tables) when each says that a row was written */
    double *trust;         /* (attrs, tables) */
} merging;

/* The row whose values survive for entity i in the attributes of a unit, as an index into n->member, or
 * n->at[i + 1] where no row has one. */
static size_t survivor(const merging *g, const uint32_t *unit, size_t attrs, size_t i)
{
    const tab_entities *n = g->n;
    size_t from = n->at[i], end = n->at[i + 1], best = end;
    standing top = { 0 };
    for (size_t k = from; k < end; k++) {
        standing s = { .date = written(g->v, g->stamp, n->member[k]) };
        bool any = false;
        for (size_t q = 0; q < attrs; q++) {
            const tab_value *x = value_of(g->v, &g->attr[unit[q]], n->member[k]);
            if (x == NULL)
                continue;
            any = true;
            if (end == from + 1)
                break; /* most entities are one row */
            s.votes += votes_for(g->v, &g->attr[unit[q]], n, i, x);
            s.trust += floor(g->trust[unit[q] * g->v->n + n->member[k].table] * 100);
            s.length += x->text_n;
        }
        if (any && (best == end || better(&s, &top))) {
            best = k;
            top = s;
        }
    }
    return best;
}

/* Whether two rows differ in no attribute of the unit in which both have a value. */
static bool agree(const merging *g, const uint32_t *unit, size_t attrs, tab_member x, tab_member y)
{
    for (size_t q = 0; q < attrs; q++) {
        const tab_value *p = value_of(g->v, &g->attr[unit[q]], x), *o = value_of(g->v, &g->attr[unit[q]], y);
        if (p != NULL && o != NULL && p->key != o->key)
            return false;
    }
    return true;
}

/* A view as the message's bytes; nothing is copied. */
static ProtobufCBinaryData bytes_of(tab_str s)
{
    return (ProtobufCBinaryData){ s.n, (uint8_t *)(uintptr_t)s.p };
}

/* Every source's own value of an attribute that several sources hold, one column a source, beside the
 * unified records. False: out of memory. */
static bool variants(const tab_engine *e, const tab_views *v, const tab_shared_attribute *t,
                     const tab_entities *n, Tabella__UnifiedRows *u)
{
    for (size_t s = 0; s < v->n; s++) {
        if (t->col[s] == TAB_NULL)
            continue;
        /* the source's column, with a null where the entity has no row of it */
        const tab_table *table = v->table[s].profile->table;
        const tab_column *c = &table->col[t->col[s]];
        tab_builder *b = tab_builder_new(e->arena, c->name);
        uint32_t *known = calloc(c->levels + 1, sizeof *known);
        /* known: what the builder has seen of the column's levels, so that texts are copied once */
        for (size_t i = 0; b != NULL && known != NULL && i < n->n; i++) {
            uint32_t row = n->row[i * v->n + s];
            if (row == TAB_NULL)
                tab_builder_null(b);
            else
                tab_builder_copy(b, c, row, known);
        }
        free(known);
        if (known == NULL)
            return false;
        /* the message, with the source's address */
        tab_column *built = tab_arena_new_of(e->arena, tab_column, 1);
        Tabella__SharedVariants *m = tab_arena_new_of(e->arena, Tabella__SharedVariants, 1);
        Tabella__ColumnRef *ref = tab_arena_new_of(e->arena, Tabella__ColumnRef, 1);
        bool ok = b != NULL && built != NULL && tab_builder_finish(b, built) && m != NULL && ref != NULL;
        if (!ok)
            return false;
        tabella__shared_variants__init(m);
        tabella__column_ref__init(ref);
        tab_str address = tab_column_address(e->arena, table, t->col[s]);
        char *full = tab_arena_printf(e->arena, "%.*s.%.*s", TAB_STR(table->id), TAB_STR(address));
        if (full == NULL)
            return false;
        ref->table = (uint32_t)s;
        ref->column = t->col[s];
        ref->address = bytes_of(tab_str_of(full));
        m->attribute = bytes_of(t->name);
        m->from = ref;
        m->values = column_message(e->arena, built, n->n);
        if (m->values == NULL)
            return false;
        u->shared_variants[u->n_shared_variants++] = m;
    }
    return true;
}

/* Source s's column of an attribute that it holds. */
static const tab_column *source_column(const tab_views *v, const tab_shared_attribute *t, size_t s)
{
    return &v->table[s].profile->table->col[t->col[s]];
}

/* Of each source, room for what tab_builder_copy knows of its column. */
static uint32_t **known_levels(const tab_views *v, const tab_shared_attribute *t)
{
    /* one array for all sources, each with its part */
    size_t levels = 0;
    for (size_t s = 0; s < v->n; s++)
        levels += t->col[s] == TAB_NULL ? 0 : source_column(v, t, s)->levels;
    uint32_t **known = malloc(v->n * sizeof *known),
             *all = known == NULL ? NULL : calloc(levels + 1, sizeof *all);
    if (all == NULL) {
        free(known);
        return NULL;
    }
    for (size_t s = 0; s < v->n; s++) {
        known[s] = all; /* known[0] is all of it */
        all += t->col[s] == TAB_NULL ? 0 : source_column(v, t, s)->levels;
    }
    return known;
}

/* Whether a row has a cell of an attribute, also one without letters or digits, which has no normal form. */
static bool has_cell(const tab_views *v, const tab_shared_attribute *t, tab_member m)
{
    if (t->col[m.table] == TAB_NULL)
        return false;
    const tab_column *c = source_column(v, t, m.table);
    return c->layout == TAB_CODED ? c->code[m.row] != TAB_NULL : !isnan(c->num[m.row]);
}

/* One column of the unified records: of each entity the value of the row that survives in the attribute's
 * unit (chosen), as its source wrote it; where it has none, of the first row that does not contradict it in
 * the unit. */
static tab_status record_column(const merging *g, const uint32_t *unit, size_t attrs, uint32_t attr,
                                const size_t *chosen, Tabella__Column **ret, tab_error *err)
{
    tab_arena *a = g->e->arena;
    const tab_entities *n = g->n;
    const tab_shared_attribute *t = &g->attr[attr];
    tab_builder *b = tab_builder_new(a, t->name);
    uint32_t **known = known_levels(g->v, t);
    for (size_t i = 0; b != NULL && known != NULL && i < n->n; i++) {
        size_t end = n->at[i + 1], k = chosen[i], kept = end;
        if (k < end && has_cell(g->v, t, n->member[k]))
            kept = k;
        for (size_t m = n->at[i]; m < end && kept == end; m++)
            if (has_cell(g->v, t, n->member[m]) &&
                (k == end || agree(g, unit, attrs, n->member[k], n->member[m])))
                kept = m;
        if (kept == end)
            tab_builder_null(b);
        else
            tab_builder_copy(b, source_column(g->v, t, n->member[kept].table), n->member[kept].row,
                             known[n->member[kept].table]);
    }
    if (known != NULL)
        free(known[0]);
    bool all = known != NULL;
    free(known);
    tab_column *built = tab_arena_new_of(a, tab_column, 1);
    if (!all || b == NULL || built == NULL || !tab_builder_finish(b, built) ||
        (*ret = column_message(a, built, n->n)) == NULL)
        return tab_no_memory(err);
    return TAB_OK;
}

/* The columns of the unified records, unit by unit. */
static tab_status record_columns(const merging *g, size_t attrs, Tabella__Table *records, tab_error *err)
{
    tab_composites u;
    TAB_AUTO(tab_arena) *own = tab_arena_new(SIZE_MAX / 2);
    size_t *chosen = own == NULL ? NULL : tab_arena_new_of(own, size_t, g->n->n);
    if (chosen == NULL || !tab_composites_of(g->v, g->attr, attrs, own, &u))
        return tab_no_memory(err);
    for (size_t k = 0; k < attrs; k++) /* sources agree more or less on each attribute */
        reliability(g->v, &g->attr[k], g->n, g->trust + k * g->v->n);
    for (size_t k = 0; k < u.n; k++) {
        const uint32_t *unit = u.attr + u.at[k];
        size_t parts = u.at[k + 1] - u.at[k];
        if (tab_engine_cancelled(g->e))
            return tab_fail(err, TAB_CANCELLED, "", "cancelled");
        for (size_t i = 0; i < g->n->n; i++)
            chosen[i] = survivor(g, unit, parts, i);
        for (size_t q = 0; q < parts; q++)
            TAB_TRY(record_column(g, unit, parts, unit[q], chosen, &records->columns[unit[q]], err));
    }
    records->n_columns = attrs;
    return TAB_OK;
}

/* Rows of an entity beyond the first of each table: three lists side by side. */
static bool list_further_rows(tab_arena *a, const tab_entities *n, size_t tables, Tabella__UnifiedRows *u)
{
    u->also_entity = tab_arena_new_of(a, uint32_t, n->at[n->n]);
    u->also_table = tab_arena_new_of(a, uint32_t, n->at[n->n]);
    u->also_row = tab_arena_new_of(a, uint32_t, n->at[n->n]);
    if (tab_arena_full(a))
        return false;
    for (size_t i = 0; i < n->n; i++)
        for (size_t k = n->at[i]; k < n->at[i + 1]; k++) {
            const tab_member *m = &n->member[k];
            /* the first row of a table stands in from_row already */
            if (n->row[i * tables + m->table] == m->row)
                continue;
            u->also_entity[u->n_also_entity++] = (uint32_t)i;
            u->also_table[u->n_also_table++] = m->table;
            u->also_row[u->n_also_row++] = m->row;
        }
    return true;
}

/* Entities of two tables and more, and by table those that it alone holds. */
static void count_matched(const tab_entities *n, size_t tables, Tabella__UnifiedRows *u)
{
    for (size_t i = 0; i < n->n; i++) {
        /* in how many tables the entity is, and the last of them */
        size_t have = 0, last = 0;
        for (size_t t = 0; t < tables; t++)
            if (n->row[i * tables + t] != TAB_NULL) {
                have++;
                last = t;
            }
        u->matched += have > 1;
        u->unmatched[last] += have == 1;
    }
}

/* n->row and n->confidence are lent to the message: they live as long as it does. */
tab_status tab_unify(const tab_engine *e, const tab_views *v, const tab_shared_attribute *attr, size_t attrs,
                     const tab_entities *n, double threshold, Tabella__UnifiedRows **ret, tab_error *err)
{
    tab_arena *a = e->arena;
    Tabella__UnifiedRows *u = tab_arena_new_of(a, Tabella__UnifiedRows, 1);
    Tabella__Table *records = tab_arena_new_of(a, Tabella__Table, 1);
    double *trust = tab_arena_new_of(a, double, v->n *attrs);
    uint32_t *stamp = tab_arena_new_of(a, uint32_t, v->n);
    size_t sources = 0;
    for (size_t k = 0; k < attrs; k++)
        sources += attr[k].sources > 1 ? attr[k].sources : 0;
    if (u == NULL || records == NULL || trust == NULL || stamp == NULL)
        return tab_no_memory(err);
    /* by which column each table says when a row was written */
    for (size_t t = 0; t < v->n; t++)
        stamp[t] = stamp_of(&v->table[t]);
    tabella__unified_rows__init(u);
    tabella__table__init(records);
    u->records = records;
    /* room for the records, the variants and the tables' names */
    u->shared_variants = tab_arena_new_of(a, Tabella__SharedVariants *, sources);
    records->rows = n->n;
    records->columns = tab_arena_new_of(a, Tabella__Column *, attrs);
    u->from_tables = tab_arena_new_of(a, ProtobufCBinaryData, v->n);
    u->unmatched = tab_arena_new_of(a, uint64_t, v->n);
    if (tab_arena_full(a))
        return tab_no_memory(err);
    u->n_from_tables = u->n_unmatched = v->n;
    for (size_t t = 0; t < v->n; t++)
        u->from_tables[t] = bytes_of(v->table[t].profile->table->id);
    u->from_row = n->row;
    u->n_from_row = n->n * v->n;
    if (!list_further_rows(a, n, v->n, u))
        return tab_no_memory(err);
    u->confidence = n->confidence;
    u->n_confidence = n->n;
    count_matched(n, v->n, u);
    u->confidence_threshold = threshold;
    u->survivorship = (char *)(uintptr_t)survivorship;
    /* a column an attribute; variants only where several sources have it */
    merging g = { e, v, attr, n, stamp, trust };
    TAB_TRY(record_columns(&g, attrs, records, err));
    for (size_t k = 0; k < attrs; k++)
        if (attr[k].sources > 1 && !variants(e, v, &attr[k], n, u))
            return tab_no_memory(err);
    *ret = u;
    return TAB_OK;
}
