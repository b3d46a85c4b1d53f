/* What this server's SCIM can do, for directories that ask (RFC 7644, 4; RFC 7643, 5 to 7). */
#include <strings.h>

#include "services/api/handlers.h"
#include "services/api/render/members.h"
#include "services/api/scim/scim.h"

enum { BODY_MOST = 2 << 20 };

tab_status scim_body(const request *r, tab_error *err)
{
    static const char *const taken[] = { SCIM_MEDIA, "application/json" };
    bool good = r->content_type == NULL || *r->content_type == 0;
    for (size_t i = 0; i < 2 && !good; i++) {
        size_t n = strlen(taken[i]);
        good = strncasecmp(r->content_type, taken[i], n) == 0 && strchr("; \t", r->content_type[n]) != NULL;
    }
    if (r->content_encoding != NULL && *r->content_encoding != 0 &&
        strcasecmp(r->content_encoding, "identity") != 0)
        good = false;
    if (!good)
        return tab_fail(err, TAB_VALIDATION, "invalidSyntax",
                        "The body must be application/scim+json or application/json.");
    if (r->body_n > BODY_MOST)
        return tab_fail(err, TAB_VALIDATION, "tooMany", "The body is larger than %d bytes.", BODY_MOST);
    return r->body == NULL ? tab_no_memory(err) : TAB_OK;
}

/* ---- what there is --------------------------------------------------------------------------- */

typedef struct {
    const char *name, *type;
    bool many, required, exact, ours; /* ours: a directory cannot write it */
    const char *sub[4];               /* texts, NULL behind the last */
} attribute;
static const attribute USER[] = {
    { .name = "userName", .type = "string", .required = true },
    { .name = "externalId", .type = "string", .exact = true },
    { .name = "displayName", .type = "string" },
    { .name = "active", .type = "boolean" },
    { .name = "name", .type = "complex", .sub = { "formatted", "givenName", "familyName" } },
    { .name = "emails", .type = "complex", .many = true, .sub = { "value", "type" } },
    { .name = "groups", .type = "complex", .many = true, .ours = true, .sub = { "value", "display" } },
    { .name = NULL },
};
static const attribute GROUP[] = {
    { .name = "displayName", .type = "string", .required = true, .exact = true },
    { .name = "externalId", .type = "string", .exact = true },
    { .name = "members", .type = "complex", .many = true, .sub = { "value", "display" } },
    { .name = NULL },
};

static void attributes(tab_out *o, const char *key, const attribute *a)
{
    open_member(o, key, '[');
    for (; a->name != NULL; a++) {
        tab_out_open(o, '{');
        text_member(o, "name", a->name);
        text_member(o, "type", a->type);
        bool_member(o, "multiValued", a->many);
        bool_member(o, "required", a->required);
        bool_member(o, "caseExact", a->exact);
        text_member(o, "mutability", a->ours ? "readOnly" : "readWrite");
        text_member(o, "returned", "default");
        text_member(o, "uniqueness", a->required ? "server" : "none");
        attribute sub[5] = { { .name = NULL } };
        for (size_t i = 0; i < 4 && a->sub[i] != NULL; i++)
            sub[i] = (attribute){ .name = a->sub[i], .type = "string", .ours = a->ours };
        if (a->sub[0] != NULL)
            attributes(o, "subAttributes", sub);
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
}

static void begin(request *r, const char *schema)
{
    r->media = SCIM_MEDIA;
    tab_out_open(&r->out, '{');
    open_member(&r->out, "schemas", '[');
    tab_out_cstr(&r->out, schema);
    tab_out_close(&r->out, ']');
}

static void list(request *r)
{
    begin(r, "urn:ietf:params:scim:api:messages:2.0:ListResponse");
    uint_member(&r->out, "totalResults", 2);
    uint_member(&r->out, "startIndex", 1);
    uint_member(&r->out, "itemsPerPage", 2);
    open_member(&r->out, "Resources", '[');
}

static void supported(tab_out *o, const char *key, bool yes, const char *more, uint64_t most)
{
    open_member(o, key, '{');
    bool_member(o, "supported", yes);
    if (more != NULL)
        uint_member(o, more, most);
    tab_out_close(o, '}');
}

tab_status get_scim_config(request *r, tab_error *err)
{
    (void)err;
    tab_out *o = &r->out;
    begin(r, "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig");
    supported(o, "patch", true, NULL, 0);
    open_member(o, "bulk", '{');
    bool_member(o, "supported", false);
    uint_member(o, "maxOperations", 0);
    uint_member(o, "maxPayloadSize", 0);
    tab_out_close(o, '}');
    supported(o, "filter", true, "maxResults", 200);
    supported(o, "changePassword", false, NULL, 0);
    supported(o, "sort", false, NULL, 0);
    supported(o, "etag", false, NULL, 0);
    open_member(o, "authenticationSchemes", '[');
    tab_out_open(o, '{');
    text_member(o, "type", "oauthbearertoken");
    text_member(o, "name", "Bearer token");
    text_member(o, "description", "A key of the directory, as an admin makes it");
    tab_out_close(o, '}');
    tab_out_close(o, ']');
    tab_out_close(o, '}');
    return TAB_OK;
}

static const struct {
    const char *name, *endpoint, *schema;
    const attribute *attributes;
} KINDS[] = {
    { "User", "/Users", "urn:ietf:params:scim:schemas:core:2.0:User", USER },
    { "Group", "/Groups", "urn:ietf:params:scim:schemas:core:2.0:Group", GROUP },
};

static tab_status kinds(request *r, bool whole)
{
    list(r);
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
        begin(r, whole ? "urn:ietf:params:scim:schemas:core:2.0:Schema"
                       : "urn:ietf:params:scim:schemas:core:2.0:ResourceType");
        text_member(&r->out, "id", whole ? KINDS[i].schema : KINDS[i].name);
        text_member(&r->out, "name", KINDS[i].name);
        if (whole) {
            attributes(&r->out, "attributes", KINDS[i].attributes);
        } else {
            text_member(&r->out, "endpoint", KINDS[i].endpoint);
            text_member(&r->out, "schema", KINDS[i].schema);
        }
        tab_out_close(&r->out, '}');
    }
    tab_out_close(&r->out, ']');
    tab_out_close(&r->out, '}');
    return TAB_OK;
}

tab_status get_scim_types(request *r, tab_error *err)
{
    (void)err;
    return kinds(r, false);
}

tab_status get_scim_schemas(request *r, tab_error *err)
{
    (void)err;
    return kinds(r, true);
}
