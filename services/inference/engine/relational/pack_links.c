/* Links in few bytes (pack/pack.h): what tab_links_rows and tab_links_doubt read of them, and all else. */
#include "services/inference/engine/profile/pack_tables.h"
#include "services/inference/engine/relational/parts.h"

static void pack_a_profile(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_profile **q = each;
    TAB_PACK_ONE(p, *q, tab_pack_profile);
}

/* context: the links. */
static void pack_feature(tab_pack *p, void *each, const void *context)
{
    const tab_links *l = context;
    tab_link_feature *f = each;
    TAB_PACK_INSIDE(p, f->way, l->way, l->ways);
    tab_pack_text(p, (const char *const *)&f->name);
}

static void pack_shift(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_link_shift *s = each;
    tab_pack_text(p, (const char *const *)&s->name);
}

static void pack_links(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_links *l = each;
    TAB_PACK_EACH(p, l->p, l->n, pack_a_profile, NULL);
    const tab_table *own =
        l->p == NULL || !(l->table < l->n) || l->p[l->table] == NULL ? NULL : l->p[l->table]->table;
    TAB_PACK(p, l->open, own == NULL ? 0 : own->rows);
    TAB_PACK(p, l->moment, own == NULL ? 0 : own->cols);
    TAB_PACK(p, l->date, own == NULL ? 0 : own->cols);
    TAB_PACK(p, l->clock, l->n);
    TAB_PACK_EACH(p, l->keyed, l->keys, tab_pack_keyed, NULL);
    TAB_PACK_EACH(p, l->way, l->ways, tab_pack_way, l);
    TAB_PACK_EACH(p, l->feature, l->features, pack_feature, l);
    TAB_PACK_EACH(p, l->shift, l->n, pack_shift, NULL);
}

/* A pointer to a chosen feature. context: the links. */
static void pack_chosen(tab_pack *p, void *each, const void *context)
{
    const tab_links *l = context;
    const tab_link_feature **f = each;
    TAB_PACK_INSIDE(p, *f, l == NULL ? NULL : l->feature, l == NULL ? 0 : l->features);
}

static void pack_set(tab_pack *p, void *each, const void *context)
{
    tab_link_set *s = each;
    TAB_PACK_EACH(p, s->feature, s->n, pack_chosen, context);
}

void tab_pack_links(tab_pack *p, tab_links **l, tab_link_set **s)
{
    TAB_PACK_ONE(p, *l, pack_links);
    TAB_PACK_EACH(p, *s, 1, pack_set, *l);
}

static void pack_a_text(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_pack_text(p, each);
}

void tab_pack_link_told(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_link_told *t = each;
    TAB_PACK_MESSAGES(p, t->table, t->tables, &tabella__linked_table__descriptor);
    TAB_PACK_EACH(p, t->warning, t->warnings, pack_a_text, NULL);
}
