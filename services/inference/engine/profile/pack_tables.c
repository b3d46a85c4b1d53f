/* See pack_tables.h; relational/, predict/fitted_pack.c and the states of endpoints call these. */
#include "services/inference/engine/profile/pack_tables.h"

#include "services/inference/engine/profile/given.h"
#include "services/inference/engine/sector/sectors.h"

void tab_pack_column(tab_pack *p, void *each, const void *context)
{
    tab_column *c = each;
    size_t rows = *(const size_t *)context;
    tab_str text = { c->text, tab_pack_writes(p) && c->levels > 0 ? c->end[c->levels - 1] : 0 };
    tab_pack_str(p, &c->name);
    TAB_PACK(p, c->num, rows);
    TAB_PACK(p, c->code, rows);
    TAB_PACK(p, c->end, c->levels);
    TAB_PACK(p, c->kind, c->levels);
    tab_pack_str(p, &text);
    if (!tab_pack_writes(p))
        c->text = text.p;
}

void tab_pack_table(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_table *t = each;
    tab_pack_str(p, &t->id);
    TAB_PACK_EACH(p, t->col, t->cols, tab_pack_column, &t->rows);
}

/* context: the table. */
static void pack_column_profile(tab_pack *p, void *each, const void *context)
{
    const tab_table *t = context;
    tab_column_profile *c = each;
    size_t rows = t == NULL ? 0 : t->rows, cols = t == NULL ? 0 : t->cols;
    const tab_column *col = t == NULL ? NULL : t->col;
    TAB_PACK_INSIDE(p, c->column, col, cols);
    tab_pack_strs(p, &c->mark, c->marks);
    TAB_PACK(p, c->held, c->held_kinds);
    TAB_PACK(p, c->number, rows);
    TAB_PACK(p, c->code, rows);
    tab_pack_strs(p, &c->level, c->levels);
}

static void pack_hint(tab_pack *p, tab_sector_hint *h, const tab_column_profile *col, size_t cols)
{
    TAB_PACK_INSIDE(p, h->col, col, cols);
    size_t words = tab_pack_count(p, h->words, TAB_HINT_WORDS);
    for (size_t i = 0; i < words; i++)
        tab_pack_str(p, &h->word[i]);
}

void tab_pack_profile(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_profile *q = each;
    TAB_PACK_ONE(p, q->table, tab_pack_table);
    size_t cols = q->table == NULL ? 0 : q->table->cols;
    TAB_PACK_EACH(p, q->col, cols, pack_column_profile, q->table);
    TAB_PACK(p, q->sector, TAB_SECTORS);
    size_t hints = tab_pack_count(p, q->hints, TAB_SECTOR_HINTS);
    for (size_t i = 0; i < hints; i++)
        pack_hint(p, &q->hint[i], q->col, cols);
    tab_pack_voids(p, &q->voids);
}
