/* Given names and the short forms people go by: "Bob" is Robert, "Peggy" is Margaret. */
#ifndef TAB_ALIGN_NICKNAMES_H
#define TAB_ALIGN_NICKNAMES_H

#include "common/base/base.h"

/* Names in normal form (align/text/normalize_text.h). A name belongs to at most four groups ("alex" is
 * Alexander or Alexandra); 0: to none. */
enum { TAB_NICKNAME_GROUPS = 4 };
typedef struct {
    uint16_t group[TAB_NICKNAME_GROUPS];
} tab_nickname;

typedef struct tab_nicknames tab_nicknames;

tab_nicknames *tab_nicknames_new(void); /* NULL: out of memory */
void tab_nicknames_free(tab_nicknames *n);
tab_nickname tab_nicknames_find(const tab_nicknames *n, tab_str name);

static inline bool tab_nicknames_alike(tab_nickname a, tab_nickname b)
{
    for (int i = 0; i < TAB_NICKNAME_GROUPS && a.group[i] != 0; i++)
        for (int k = 0; k < TAB_NICKNAME_GROUPS && b.group[k] != 0; k++)
            if (a.group[i] == b.group[k])
                return true;
    return false;
}
#endif
