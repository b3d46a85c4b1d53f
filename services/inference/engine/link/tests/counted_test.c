/* Labels that count: the seats of two halls have the same names, and are other seats (decision 0850). */
#include <criterion/criterion.h>
#include <stdio.h>

#include "services/inference/engine/engine.h"

enum { SEATS = 20 };

/* A hall: a seat's label and, where who is not NULL, who sat there. */
static tab_table hall(tab_arena *a, tab_str id, const char *const *who)
{
    tab_column *col = tab_arena_new_of(a, tab_column, 2);
    tab_builder *b[2] = { tab_builder_new(a, TAB_S("seat")), tab_builder_new(a, TAB_S("name")) };
    char text[32];
    for (size_t i = 0; i < SEATS; i++) {
        snprintf(text, sizeof text, "A%zu", i + 1);
        tab_builder_text(b[0], tab_arena_copy(a, tab_str_of(text)));
        tab_builder_text(b[1], tab_str_of(who[i]));
    }
    cr_assert(tab_builder_finish(b[0], &col[0]) && tab_builder_finish(b[1], &col[1]));
    return (tab_table){ .id = id, .rows = SEATS, .cols = 2, .col = col };
}

/* The surest pair of rows of the two tables. */
static double surest(tab_arena *a, const tab_table *x, const tab_table *y)
{
    const tab_table *tables[] = { x, y };
    tab_engine e = { .arena = a };
    tab_run_options o = TAB_RUN_DEFAULTS;
    Tabella__Bundle *b = NULL;
    tab_error err = { 0 };
    double most = 0;
    o.target = TAB_TARGET_NONE;
    cr_assert_eq(tab_engine_run(&e, tables, 2, &o, &b, &err), TAB_OK, "%s", err.message);
    const Tabella__EntityMatches *m = b->cross_table_map->entity_matches;
    for (size_t i = 0; m != NULL && i < m->n_confidence; i++)
        most = m->confidence[i] > most ? m->confidence[i] : most;
    return most;
}

static const char *const first[SEATS] = { "Meyer", "Smith",  "Jones",  "Novak",   "Rossi", "Blanc",  "Garcia",
                                          "Olsen", "Keller", "Brandt", "Fischer", "Stone", "Walker", "Hill",
                                          "Green", "Adams",  "Nowak",  "Silva",   "Costa", "Lund" };
static const char *const second[SEATS] = { "Kruger", "Petit",  "Weiss",  "Duval",  "Ferri",
                                           "Lopez",  "Haas",   "Vogel",  "Ernst",  "Wirth",
                                           "Jansen", "Peters", "Morris", "Cooper", "Murphy",
                                           "Barnes", "Fraser", "Bailey", "Dixon",  "Sutton" };

Test(counted, seats_of_two_halls_are_not_sure_to_be_the_same)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    tab_table x = hall(a, TAB_S("opera"), first), y = hall(a, TAB_S("theatre"), second);
    double most = surest(a, &x, &y);
    cr_expect(most <= 0.5, "%g", most);
}

Test(counted, who_sat_there_as_well_says_that_they_are)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    tab_table x = hall(a, TAB_S("evening"), first), y = hall(a, TAB_S("tickets"), first);
    double most = surest(a, &x, &y);
    cr_expect(most > 0.9, "%g", most);
}
