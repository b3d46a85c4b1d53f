/* The list of checks (checks.h). */
#include "services/data-connector/expectations/checks.h"

bool expect_add(expect_list *list, const expectation *e)
{
    if (list->n == list->room) {
        size_t room = 2 * list->room + 64;
        expectation *of = tab_arena_new_of(list->a, expectation, room);
        if (of == NULL)
            return false;
        if (list->n > 0)
            memcpy(of, list->of, list->n * sizeof *of);
        list->of = of, list->room = room;
    }
    list->of[list->n++] = *e;
    return true;
}

const char *expect_share(tab_arena *a, double share)
{
    const char *text = share > 0 && share < 0.0005 ? "under 0.1%"
                       : share == 1                ? "100%"
                                                   : tab_arena_printf(a, "%.1f%%", 100 * share);
    return text != NULL ? text : "";
}
