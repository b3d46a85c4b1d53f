/* See sectors.h: the list of sectors as an array, in the order of the sector model's classes. The model
 * itself stands beside (sector.model) and is opened by profile/roles/models.c; profile.c computes the
 * posterior. */
#include "services/inference/engine/sector/sectors.h"

const tab_sector tab_sectors[TAB_SECTORS] = {
#define TAB_X(slug, name) { slug, name },
    TAB_SECTOR_LIST(TAB_X)
#undef TAB_X
};

/* Slug or name, exactly; -1 for any other text. Only training asks. */
int tab_sector_of(tab_str s)
{
    for (int i = 0; i < TAB_SECTORS; i++)
        if (tab_str_eq(s, tab_str_of(tab_sectors[i].slug)) || tab_str_eq(s, tab_str_of(tab_sectors[i].name)))
            return i;
    return -1;
}
