#include "services/inference/engine/series/tests/places.h"

#include <stdlib.h>

bool tab_series_place(tab_arena *a, const tab_series *s, size_t rows, const bool *asked, tab_row_place **ret)
{
    tab_row_place *place = tab_arena_new_of(a, tab_row_place, rows + 1);
    int64_t *least = malloc((s->n + 1) * sizeof *least), *most = malloc((s->n + 1) * sizeof *most);
    *ret = place;
    if (place == NULL || least == NULL || most == NULL) {
        free(least), free(most);
        return false;
    }
    for (size_t k = 0; k <= s->n; k++)
        least[k] = INT64_MAX, most[k] = INT64_MIN;
    for (size_t r = 0; s->kind != TAB_TIME_NONE && r < rows; r++) {
        int64_t at = s->index[r];
        size_t of[2] = { s->series[r] == TAB_NULL ? s->n : s->series[r], s->n };
        for (size_t i = 0; !asked[r] && at != INT64_MIN && i < 2; i++) {
            least[of[i]] = at < least[of[i]] ? at : least[of[i]];
            most[of[i]] = at > most[of[i]] ? at : most[of[i]];
        }
    }
    for (size_t r = 0; s->kind != TAB_TIME_NONE && r < rows; r++) {
        size_t k = s->series[r] == TAB_NULL ? s->n : s->series[r];
        if (!asked[r])
            continue;
        place[r].new_series = most[k] == INT64_MIN && most[s->n] != INT64_MIN;
        k = place[r].new_series ? s->n : k;
        int64_t at = s->index[r];
        if (at == INT64_MIN || most[k] == INT64_MIN)
            continue;
        place[r].relation = at > most[k]    ? TAB_PLACE_AFTER
                            : at < least[k] ? TAB_PLACE_BEFORE
                                            : TAB_PLACE_AMONG;
        place[r].ahead = at > most[k] ? at - most[k] : 0;
    }
    free(least), free(most);
    return true;
}
