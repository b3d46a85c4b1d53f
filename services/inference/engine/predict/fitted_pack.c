/* A fitted model in few bytes (pack/pack.h): the pointers of each structure that fitted_parts.h knows. A
 * pointer that is added there is a line here; states_test.c finds the one that was forgotten. */
#include "services/inference/engine/predict/fitted_parts.h"
#include "services/inference/engine/profile/pack_tables.h"

/* context: how many rows. */
static void pack_interval(tab_pack *p, void *each, const void *context)
{
    tab_interval *v = each;
    TAB_PACK_ONE(p, v->scale, tab_pack_stack);
    TAB_PACK(p, v->groups.shift, v->groups.shifts);
    TAB_PACK(p, v->oof_scale, *(const size_t *)context);
}

static void pack_twins(tab_pack *p, tab_twins *t)
{
    TAB_PACK(p, t->key, t->n);
    TAB_PACK(p, t->row, t->n);
}

/* context: the fitted model. */
static void pack_ahead(tab_pack *p, void *each, const void *context)
{
    const tab_fitted *f = context;
    tab_ahead *h = each;
    size_t rows = f->rows, classes = f->classes;
    TAB_PACK(p, h->answered, rows);
    TAB_PACK(p, h->unborne, rows);
    TAB_PACK(p, h->value, rows);
    TAB_PACK(p, h->quantile, rows * TAB_LEVELS);
    TAB_PACK(p, h->spread, rows);
    TAB_PACK(p, h->probability, rows * classes);
    TAB_PACK(p, h->distance, rows);
    TAB_PACK(p, h->row, h->judged);
    TAB_PACK(p, h->judged_value, h->judged);
    TAB_PACK(p, h->judged_quantile, h->judged * TAB_LEVELS);
    TAB_PACK(p, h->judged_probability, h->judged * classes);
    tab_pack_text(p, &h->method);
}

static void pack_series(tab_pack *p, tab_series *s, size_t rows)
{
    enum { NOTES = sizeof s->note / sizeof *s->note };
    TAB_PACK(p, s->when, rows);
    TAB_PACK(p, s->series, rows);
    TAB_PACK(p, s->index, rows);
    size_t notes = tab_pack_count(p, s->notes, NOTES);
    for (size_t i = 0; i < notes; i++)
        tab_pack_text(p, &s->note[i]);
}

static void pack_asked(tab_pack *p, tab_asked *a, size_t rows)
{
    TAB_PACK(p, a->of, rows);
    TAB_PACK(p, a->member, rows);
    TAB_PACK(p, a->open, rows);
    pack_series(p, &a->series, rows);
}

/* The series that it reads by are those of the fitted rows. */
static void pack_clock(tab_pack *p, tab_clock *c, const tab_series *own)
{
    bool told = tab_pack_choice(p, c->s != NULL, 2) == 1;
    if (!tab_pack_writes(p))
        c->s = tab_pack_reads(p) && told ? own : NULL;
    TAB_PACK(p, c->key, c->keys);
}

static void pack_column(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_fitted_column *c = each;
    tab_pack_str(p, &c->name);
    tab_pack_str(p, &c->address);
    tab_pack_str(p, &c->only);
}

static void pack_pair(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_new_pair *own = each;
    TAB_PACK(p, own->seen, own->cells);
}

static void pack_problem(tab_pack *p, tab_problem *q, size_t rows)
{
    TAB_PACK_ONE(p, q->enc, tab_pack_encoder);
    TAB_PACK_ONE(p, q->data, tab_pack_data);
    TAB_PACK(p, q->label, rows);
    TAB_PACK(p, q->y, rows);
    TAB_PACK(p, q->of, rows);
    TAB_PACK(p, q->place, rows);
    TAB_PACK(p, q->unit, rows);
}

static void pack_base(tab_pack *p, const tab_base **at)
{
    size_t n, i = 0;
    const tab_base *all = tab_bases(&n);
    if (tab_pack_writes(p))
        i = (size_t)(*at - all);
    *at = tab_pack_clears(p) ? NULL : &all[tab_pack_choice(p, i, n)];
}

static void pack_fitted(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_fitted *f = each;
    size_t rows = f->rows;
    if (!tab_pack_writes(p))
        f->arena = NULL;
    pack_base(p, &f->base);
    TAB_PACK_EACH(p, f->column, f->cols, pack_column, NULL);
    TAB_PACK_MESSAGE(p, f->address, &tabella__column_ref__descriptor);
    TAB_PACK(p, f->label, rows);
    tab_pack_column(p, &f->class_cells, &f->classes);
    TAB_PACK(p, f->y, rows);
    TAB_PACK_ONE(p, f->enc, tab_pack_encoder);
    TAB_PACK_ONE(p, f->data, tab_pack_data);
    pack_problem(p, &f->problem, rows);
    TAB_PACK(p, f->units.unit, rows);
    TAB_PACK_ONE(p, f->stack, tab_pack_stack);
    TAB_PACK_EACH(p, f->interval, 1, pack_interval, &f->rows);
    pack_twins(p, &f->twins);
    pack_twins(p, &f->group);
    TAB_PACK(p, f->group_key, rows);
    TAB_PACK_EACH(p, f->anomaly, 1, tab_pack_anomaly, &f->rows);
    TAB_PACK(p, f->split.place, rows);
    tab_pack_text(p, &f->split.reason);
    TAB_PACK(p, f->computed, f->cols);
    tab_pack_text(p, &f->unlike);
    tab_pack_text(p, &f->lacking);
    tab_pack_text(p, &f->single);
    pack_asked(p, &f->asked, rows);
    pack_clock(p, &f->clock, &f->asked.series);
    TAB_PACK(p, f->unknown, f->enc == NULL ? 0 : f->enc->n);
    TAB_PACK(p, f->left, f->enc == NULL ? 0 : f->enc->n);
    TAB_PACK_EACH(p, f->pair, f->pairs, pack_pair, NULL);
    TAB_PACK(p, f->seldom, f->enc == NULL ? 0 : f->enc->n);
    TAB_PACK(p, f->far, rows);
    TAB_PACK(p, f->few, rows);
    TAB_PACK(p, f->mix, rows);
    TAB_PACK(p, f->moved, f->classes);
    TAB_PACK_EACH(p, f->ahead, 1, pack_ahead, f);
    for (size_t k = 0; k < TAB_SIDES; k++)
        tab_pack_later(p, &f->later[k]);
    TAB_PACK_ONE(p, f->fresh, tab_pack_stack);
    TAB_PACK_EACH(p, f->fresh_interval, 1, pack_interval, &f->rows);
}

void tab_pack_fitted(tab_pack *p, tab_fitted **at)
{
    TAB_PACK_ONE(p, *at, pack_fitted);
}
