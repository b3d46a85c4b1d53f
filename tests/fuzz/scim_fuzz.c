/* What a directory sends by SCIM: a user, a group, a change of one, a filter. Whatever the bytes, reading
 * ends without a crash. Texts that were read are short and hold no NUL: keys would take a shorter one for
 * another, and none for all. The input is a letter for the kind, and what is read. */
#include "services/api/scim/scim_read.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void good(tab_str s)
{
    if (s.n > SCIM_TEXT || (s.n > 0 && memchr(s.p, 0, s.n) != NULL))
        abort();
}

static void user(tab_arena *a, tab_str text, bool patch)
{
    scim_user u;
    if (scim_read_user(a, text, patch, &u, NULL) != TAB_OK)
        return;
    const scim_text *of[] = { &u.user_name, &u.external_id, &u.name, &u.given, &u.family, &u.email };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        good(of[i]->text);
    if (!patch && (u.user_name.text.n == 0 || u.name.text.n == 0))
        abort();
}

static void group(tab_arena *a, tab_str text, bool patch)
{
    scim_group g;
    if (scim_read_group(a, text, patch, &g, NULL) != TAB_OK)
        return;
    good(g.name.text);
    good(g.external_id.text);
    for (size_t i = 0; i < g.n_members; i++)
        for (size_t k = 0; k < g.members[i].n; k++) {
            good(g.members[i].id[k]);
            if (g.members[i].id[k].n == 0 && !patch)
                abort();
        }
    if (!patch && g.name.text.n == 0)
        abort();
}

static void filter(tab_arena *a, tab_str text, bool groups)
{
    scim_filter f;
    if (scim_read_filter(a, text, groups, &f, NULL) != TAB_OK)
        return;
    const tab_str *of[] = { &f.id, &f.user_name, &f.external_id, &f.email, &f.name, &f.member };
    size_t asked = 0;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        asked += of[i]->p != NULL;
        if (!f.nothing && of[i]->p != NULL)
            good(*of[i]);
        if (!f.nothing && of[i]->p != NULL && of[i]->n == 0)
            abort();
    }
    if (asked == 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
    if (a == NULL || size == 0)
        return 0;
    tab_str text = tab_arena_copy(a, (tab_str){ (const char *)data + 1, size - 1 });
    if (text.p == NULL)
        return 0;
    switch (data[0]) {
    case 'u':
    case 'U':
        user(a, text, data[0] == 'U');
        break;
    case 'g':
    case 'G':
        group(a, text, data[0] == 'G');
        break;
    default:
        filter(a, text, data[0] == 'F');
    }
    return 0;
}
