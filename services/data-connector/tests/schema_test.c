/* What the API's description says of sources is what the providers take: each scheme belongs to one family of
 * ConnectRequest, whose credentials and options are the provider's own. */
#include <criterion/criterion.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/json.h"
#include "services/data-connector/source/source.h"

static tab_arena *arena;
static const tab_json *schemas;

static void read_schemas(void)
{
    static char text[1 << 20];
    cr_assert_not_null(arena = tab_arena_new(64 << 20));
    FILE *f = fopen("services/api/schemas.json", "r");
    cr_assert_not_null(f, "run from the root of the repository");
    size_t n = fread(text, 1, sizeof text - 1, f);
    cr_assert(n > 0 && feof(f));
    fclose(f);
    tab_error err = { 0 };
    cr_assert_eq(tab_json_read(arena, (tab_str){ text, n }, 64, &schemas, &err), TAB_OK, "%s", err.message);
}

static void forget_schemas(void)
{
    tab_arena_free(arena);
}

static const tab_json *member(const tab_json *of, const char *path)
{
    char copy[128], *state;
    snprintf(copy, sizeof copy, "%s", path);
    for (char *key = strtok_r(copy, "/", &state); key != NULL; key = strtok_r(NULL, "/", &state))
        of = tab_json_get(of, key);
    return of;
}

static bool takes(const tab_json *family, const char *scheme)
{
    char pattern[128], ref[64];
    regex_t re;
    tab_str p = member(family, "properties/source/pattern")->text;
    snprintf(pattern, sizeof pattern, "%.*s", (int)p.n, p.p);
    snprintf(ref, sizeof ref, "%s://x", scheme);
    cr_assert_eq(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
    bool yes = regexec(&re, ref, 0, NULL, 0) == 0;
    regfree(&re);
    return yes;
}

static const tab_json *family_of(const char *scheme)
{
    const tab_json *found = NULL;
    for (const tab_json *r = member(schemas, "ConnectRequest/oneOf")->first; r != NULL; r = r->next) {
        tab_str ref = tab_json_get(r, "$ref")->text;
        char name[64];
        const char *last = memrchr(ref.p, '/', ref.n);
        snprintf(name, sizeof name, "%.*s", (int)(ref.p + ref.n - last - 1), last + 1);
        const tab_json *family = tab_json_get(schemas, name);
        cr_assert_not_null(family, "%s", name);
        if (takes(family, scheme)) {
            cr_assert_null(found, "%s belongs to two families", scheme);
            found = family;
        }
    }
    return found;
}

/* The leaves below `properties`, as "a" or "a.b"; each must be in the provider's list. Their number. */
static size_t held_against(const tab_json *properties, const char *parent, const char *const *known,
                           const char *scheme)
{
    size_t n = 0;
    for (const tab_json *m = properties->first; m != NULL; m = m->next) {
        char name[128];
        snprintf(name, sizeof name, "%s%s%.*s", parent, *parent == '\0' ? "" : ".", (int)m->key.n, m->key.p);
        const tab_json *inner = tab_json_get(m, "properties");
        if (inner != NULL) {
            n += held_against(inner, name, known, scheme);
            continue;
        }
        bool found = false;
        for (const char *const *k = known; *k != NULL; k++)
            found |= strcmp(*k, name) == 0;
        cr_expect(found, "%s does not take %s", scheme, name);
        n++;
    }
    return n;
}

static size_t length(const char *const *list)
{
    size_t n = 0;
    while (list[n] != NULL)
        n++;
    return n;
}

Test(schema, a_family_says_what_its_providers_take, .init = read_schemas, .fini = forget_schemas)
{
    const provider *const *all;
    size_t n = provider_all(&all);
    cr_assert_gt(n, 0);
    for (size_t i = 0; i < n; i++) {
        const tab_json *family = family_of(all[i]->scheme);
        cr_assert_not_null(family, "no family of %s", all[i]->scheme);
        tab_str example = member(family, "properties/source/examples")->first->text;
        const char *shape = strstr(reference_shape(all[i]->scheme), "://");
        const char *at = memchr(example.p, ':', example.n);
        cr_assert(shape != NULL && at != NULL, "%s", all[i]->scheme);
        tab_str rest = { at, example.n - (size_t)(at - example.p) };
        cr_expect(tab_str_eq(tab_str_of(shape), rest), "%s: %s", all[i]->scheme, shape);
        cr_expect_eq(held_against(member(family, "properties/credentials/properties"), "",
                                  all[i]->credentials, all[i]->scheme),
                     length(all[i]->credentials), "%s takes more credentials", all[i]->scheme);
        const char *options[16] = { "key" };
        size_t m = 1;
        for (const char *const *o = all[i]->options; *o != NULL && m < 14; o++)
            options[m++] = *o;
        if (all[i]->write != NULL)
            options[m++] = "write";
        cr_expect_eq(
            held_against(member(family, "properties/options/properties"), "", options, all[i]->scheme), m,
            "%s takes more options", all[i]->scheme);
    }
}

Test(schema, each_family_has_a_provider, .init = read_schemas, .fini = forget_schemas)
{
    const provider *const *all;
    size_t n = provider_all(&all), families = 0;
    for (const tab_json *r = member(schemas, "ConnectRequest/oneOf")->first; r != NULL; r = r->next)
        families++;
    const tab_json *seen[64];
    size_t met = 0;
    for (size_t i = 0; i < n; i++) {
        const tab_json *f = family_of(all[i]->scheme);
        bool old = false;
        for (size_t k = 0; k < met; k++)
            old |= seen[k] == f;
        if (!old && met < 64)
            seen[met++] = f;
    }
    cr_expect_eq(met, families);
}
