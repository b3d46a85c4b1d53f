/* Files of Google Drive by its API, version 3:
 *
 *   gdrive://ID             a file, a spreadsheet of Sheets, or all files of a folder
 *   gdrive://ID/orders.csv  a file of the folder; a * in the name stands for any text
 *   gdrive+https://host[:port]/ID[/name]   behind another address
 *
 * The id is what the file's link has between /d/ and /edit (a folder's: behind /folders/). A service account
 * reads what is shared with its address. Sheets' spreadsheets are exported as xlsx, 10 MB at most by Google's
 * own limit. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/json/json.h"
#include "services/data-connector/providers/file_table.h"
#include "services/data-connector/providers/google.h"

enum { FILES = 1000, PAGES = 100, META_DEPTH = 8 };
#define SCOPE "https://www.googleapis.com/auth/drive.readonly"
#define FOLDER "application/vnd.google-apps.folder"
#define SHEETS "application/vnd.google-apps.spreadsheet"
#define XLSX "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
#define GOOGLES "application/vnd.google-apps."

static const char *const members[] = { "service_account", "ca", NULL }, *const options[] = { "sheet", NULL };

typedef struct {
    const char *id, *name, *type;
} drive_file;

typedef struct {
    const source *s;
    tab_arena *a;
    json_api api;
    drive_file *found; /* (FILES) */
    size_t n;
    const char *pattern;
} drive;

static bool good_id(const char *id)
{
    return id[0] != '\0' && strlen(id) <= 128 &&
           strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == strlen(id);
}

static tab_status ask(const drive *d, tab_arena *a, const char *path, const http_pair *params, size_t n,
                      http_answer *ret, tab_error *err)
{
    const char *all = tab_arena_printf(a, "/drive/v3/files%s", path);
    TAB_TRY(api_call(&d->api, a, "GET", all, http_query(a, params, n), TAB_S(""), ret, err));
    if (ret->status == 403 &&
        memmem(ret->body.p, ret->body.n < 4096 ? ret->body.n : 4096, "exportSizeLimitExceeded", 23) != NULL)
        return tab_fail(err, TAB_VALIDATION, "source",
                        "The spreadsheet exceeds what Google exports (10 MB); store it in Drive as a file.");
    return google_good(ret, err);
}

static tab_status file_of(tab_arena *a, const tab_json *m, drive_file *ret, tab_error *err)
{
    const tab_json *id = tab_json_get(m, "id"), *name = tab_json_get(m, "name"),
                   *type = tab_json_get(m, "mimeType");
    if (id == NULL || id->kind != TAB_JSON_STRING || name == NULL || name->kind != TAB_JSON_STRING ||
        type == NULL || type->kind != TAB_JSON_STRING)
        return api_other_format(err);
    *ret = (drive_file){ tab_arena_copy(a, id->text).p, tab_arena_copy(a, name->text).p,
                         tab_arena_copy(a, type->text).p };
    if (tab_arena_full(a))
        return tab_no_memory(err);
    return good_id(ret->id) ? TAB_OK : api_other_format(err);
}

static tab_status describe(const drive *d, const char *id, drive_file *ret, tab_error *err)
{
    const http_pair params[] = { { "fields", "id,name,mimeType" }, { "supportsAllDrives", "true" } };
    http_answer x;
    const tab_json *m;
    tab_error why = { 0 };
    TAB_TRY(ask(d, d->a, tab_arena_printf(d->a, "/%s", id), params, 2, &x, err));
    if (tab_json_read(d->a, x.body, META_DEPTH, &m, &why) != TAB_OK)
        return api_other_format(err);
    return file_of(d->a, m, ret, err);
}

/* ---- a folder ----------------------------------------------------------------------------------------- */

static tab_status list_page(drive *d, const char *folder, const char **token, tab_error *err)
{
    TAB_AUTO(tab_arena) *page = tab_arena_new((size_t)d->s->read_mib << 21);
    const tab_json *root;
    http_answer x;
    tab_error why = { 0 };
    if (page == NULL)
        return tab_no_memory(err);
    const http_pair params[] = { { "q",
                                   tab_arena_printf(page, "'%s' in parents and trashed = false", folder) },
                                 { "fields", "nextPageToken,incompleteSearch,files(id,name,mimeType)" },
                                 { "pageSize", "1000" },
                                 { "supportsAllDrives", "true" },
                                 { "includeItemsFromAllDrives", "true" },
                                 { "pageToken", *token } };
    if (tab_arena_full(page))
        return tab_no_memory(err);
    TAB_TRY(ask(d, page, "", params, (*token)[0] != '\0' ? 6 : 5, &x, err));
    TAB_TRY(api_text(d->a, x.body, "/nextPageToken", token, err));
    if (tab_json_read(page, x.body, META_DEPTH, &root, &why) != TAB_OK)
        return api_other_format(err);
    const tab_json *files = tab_json_get(root, "files");
    if (files == NULL || files->kind != TAB_JSON_ARRAY)
        return api_other_format(err);
    for (const tab_json *m = files->first; m != NULL; m = m->next) {
        drive_file f;
        TAB_TRY(file_of(d->a, m, &f, err));
        bool table = strcmp(f.type, SHEETS) == 0 || strncmp(f.type, GOOGLES, strlen(GOOGLES)) != 0;
        if (!table || !name_matches(d->pattern, f.name)) /* folders below, documents, shortcuts */
            continue;
        if (d->n == FILES)
            return tab_fail(err, TAB_VALIDATION, "source", "A connection's folder can hold at most %d files.",
                            FILES);
        d->found[d->n++] = f;
    }
    return TAB_OK;
}

/* Drive lets two files have one name. */
static int by_name(const void *a, const void *b)
{
    const drive_file *x = a, *y = b;
    int c = strcmp(x->name, y->name);
    return c != 0 ? c : strcmp(x->id, y->id);
}

static tab_status list(drive *d, const char *folder, tab_error *err)
{
    const char *token = "";
    d->found = tab_arena_new_of(d->a, drive_file, FILES);
    if (d->found == NULL)
        return tab_no_memory(err);
    for (int page = 0; page == 0 || token[0] != '\0'; page++) {
        if (page == PAGES)
            return tab_fail(err, TAB_VALIDATION, "source", "The source has more than %d pages.", PAGES);
        TAB_TRY(list_page(d, folder, &token, err));
    }
    qsort(d->found, d->n, sizeof *d->found, by_name);
    return TAB_OK;
}

/* ---- files -------------------------------------------------------------------------------------------- */

static tab_status read_file(const drive *d, const drive_file *f, const tab_table **ret, tab_error *err)
{
    const http_pair export[] = { { "mimeType", XLSX } },
                    media[] = { { "alt", "media" }, { "supportsAllDrives", "true" } };
    bool sheets = strcmp(f->type, SHEETS) == 0;
    const char *path = tab_arena_printf(d->a, "/%s%s", f->id, sheets ? "/export" : "");
    const char *name = sheets ? tab_arena_printf(d->a, "%s.xlsx", f->name) : f->name;
    http_answer x;
    if (!sheets && strncmp(f->type, GOOGLES, strlen(GOOGLES)) == 0)
        return tab_fail(err, TAB_VALIDATION, "source",
                        "This is not a table but a Google document or a shortcut to another file.");
    if (path == NULL || name == NULL)
        return tab_no_memory(err);
    TAB_TRY(ask(d, d->a, path, sheets ? export : media, sheets ? 1 : 2, &x, err));
    return file_table(d->s, d->a, tab_str_of(name), x.body, ret, err);
}

static tab_status read_folder(drive *d, const drive_file *folder, const tab_table **ret, tab_error *err)
{
    TAB_TRY(list(d, folder->id, err));
    if (d->n == 0)
        return tab_fail(err, TAB_VALIDATION, "source", "No file in the folder matches the path.");
    const tab_table **table = tab_arena_new_of(d->a, const tab_table *, d->n);
    if (table == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < d->n; i++)
        TAB_TRY(read_file(d, &d->found[i], &table[i], err));
    return tables_union(d->a, table, d->n, tab_str_of(folder->name), ret, err);
}

static tab_status read_gdrive(const source *s, tab_arena *a, const tab_table **ret, tab_error *err)
{
    bool own = strcmp(s->ref->scheme, "gdrive") == 0;
    const char *id = own ? s->ref->host : s->ref->segment[0];
    size_t from = own ? 0 : 1;
    drive d = { .s = s, .a = a, .pattern = s->ref->segments > from ? s->ref->segment[from] : "*" };
    drive_file f;
    d.api = (json_api){ .s = s, .port = s->ref->port, .host = own ? "www.googleapis.com" : s->ref->host };
    if (!good_id(id))
        return tab_fail(err, TAB_VALIDATION, "source", "This is not the id of a Google Drive file.");
    TAB_TRY(google_login(&d.api, a, SCOPE, err));
    TAB_TRY(describe(&d, id, &f, err));
    if (strcmp(f.type, FOLDER) == 0)
        return read_folder(&d, &f, ret, err);
    if (s->ref->segments > from)
        return tab_fail(err, TAB_VALIDATION, "source", "The id belongs to a file, not to a folder.");
    return read_file(&d, &f, ret, err);
}

#define GDRIVE(text, named, first)                                                                         \
    {                                                                                                      \
        .scheme = text, .port = 443, .least = first, .most = 1 + (first), .by_name = named, .cased = true, \
        .credentials = members, .options = options, .read = read_gdrive, .files = true                     \
    }
const provider provider_gdrive = GDRIVE("gdrive", true, 0),
               provider_gdrive_https = GDRIVE("gdrive+https", false, 1);
