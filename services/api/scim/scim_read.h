/* What a directory sends by SCIM (RFC 7643, 7644): users, groups, changes of them (PATCH) and filters. All of
 * it are bytes from outside; texts are views into the body or lie in the arena, and hold no NUL.
 *
 * Names of attributes have no case. Attributes that are not kept here are passed over, as RFC 7644 3.3 lets
 * them be. Errors are VALIDATION whose param is the scimType. */
#ifndef TAB_SCIM_READ_H
#define TAB_SCIM_READ_H

#include "common/base/arena.h"

enum { SCIM_TEXT = 255, SCIM_OPERATIONS = 1000, SCIM_MEMBERS = 10000 };

typedef struct {
    bool set;
    tab_str text; /* "": none */
} scim_text;

typedef struct {
    scim_text user_name, external_id, name, given, family, email;
    bool set_active, active;
} scim_user;

typedef enum { SCIM_ADD, SCIM_REMOVE, SCIM_REPLACE } scim_change;
typedef struct {
    scim_change change;
    tab_str *id;
    size_t n;
} scim_members;
typedef struct {
    scim_text name, external_id;
    scim_members *members; /* one after another */
    size_t n_members;
} scim_group;

/* body.p[body.n] must be readable and 0. A whole one (POST, PUT), where everything is set, or a PATCH. */
tab_status scim_read_user(tab_arena *a, tab_str body, bool patch, scim_user *ret, tab_error *err) TAB_CHECKED;
tab_status scim_read_group(tab_arena *a, tab_str body, bool patch, scim_group *ret,
                           tab_error *err) TAB_CHECKED;

/* `ATTRIBUTE eq "TEXT"`, several with `and` between. */
typedef struct {
    bool nothing;                                            /* it holds for nobody */
    tab_str id, user_name, external_id, email, name, member; /* p NULL: not asked for */
} scim_filter;
tab_status scim_read_filter(tab_arena *a, tab_str text, bool groups, scim_filter *ret,
                            tab_error *err) TAB_CHECKED;

/* Letters of ASCII have no case. */
bool scim_same(tab_str a, const char *b);

#endif
