/* Whatever a bundle holds: its page is made within its arena, and holds no tag that the template has not. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/bundle/page.h"

/* A template with every kind of tag; the page's own is text of the same kind. */
static const char TEMPLATE[] =
    "{{let m = bundle.a}}{{for x, i in bundle.list}}{{if x and not m}}{{cut(x.name, 5)}}{{else}}"
    "{{percent(x.n / i, 1)}}{{number(x)}}{{count(x)}}{{fix(x, 3)}}{{date(x)}}{{end}}{{words(x)}}"
    "{{for y in first(x, 3)}}{{y}}{{y['0.1']}}{{end}}{{end}}{{most(bundle.list, 'n')}}{{size(bundle.list)}}"
    "{{max(least(bundle.list), 1) - 2 * bundle.n}}{{bundle.s == 'x' or bundle.t != null}}"
    "{{m.b[0].c}}{{bundle}}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(256 * size + 65536);
    const tab_json *root = NULL;
    tab_out o = { 0 };
    char *text = malloc(size + 1);
    if (a == NULL || text == NULL)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    if (tab_json_read(a, (tab_str){ text, size }, 16, &root, NULL) == TAB_OK &&
        root->kind == TAB_JSON_OBJECT) {
        bool good = tab_page_fill(&o, a, tab_str_of(TEMPLATE), root);
        if (!good && !tab_arena_full(a) && root->count < 32)
            abort(); /* the template reads, whatever the values */
        for (size_t i = 0; i < o.n; i++)
            if (strchr("<>\"'", o.p[i]) != NULL && o.p[i] != '\0')
                abort(); /* the template has none of them outside its tags */
    }
    tab_out_free(&o);
    free(text);
    return 0;
}
