/* Persons (decision 0575) and the providers that say who they are (decision 0576): RPC methods of keys. */
#ifndef KEYS_PEOPLE_H
#define KEYS_PEOPLE_H

#include "common/http/routes.h"
#include "services/keys/keys.h"
#include "services/keys/people/oidc.h"

enum {
    PEOPLE_MOST = 10000, /* of an organization */
    PEOPLE_GROUPS = 1000 /* of a directory */
};

/* providers.c */
tab_status keys_list_providers(void *self, tab_call *call, tab_error *err);
tab_status keys_set_provider(void *self, tab_call *call, tab_error *err);
tab_status keys_delete_provider(void *self, tab_call *call, tab_error *err);
/* Secrets under an older key are sealed again, a batch of a sweep; arg: the keys. */
tab_status keys_reseal_providers(tab_tx *tx, void *arg, int64_t most, size_t *ret_n, tab_error *err);
/* A provider as sign-ins need it; texts in the arena. NOT_FOUND. */
typedef struct {
    const char *org, *id, *issuer, *client, *claim, *roles, *domains, *scopes, *authorize, *token, *jwks,
        *subject;
    tab_str secret; /* "": a public client */
    tab_person_role role;
    bool post, old; /* old: its description was read an hour ago */
} provider;
tab_status provider_read(keys *self, tab_call *call, const char *org, const char *id, provider *ret,
                         tab_error *err) TAB_CHECKED;
/* VALIDATION on `directory`: the organization has no such provider. */
tab_status provider_there(tab_tx *tx, const char *org, const char *id, tab_error *err) TAB_CHECKED;
/* The issuer's description, as it is now. VALIDATION on `issuer`; UNAVAILABLE. */
tab_status provider_look(keys *self, tab_call *call, const char *issuer, oidc_issuer *ret,
                         tab_error *err) TAB_CHECKED;

/* signin.c */
tab_status keys_begin_signin(void *self, tab_call *call, tab_error *err);
tab_status keys_complete_signin(void *self, tab_call *call, tab_error *err);

/* logout.c */
tab_status keys_logout(void *self, tab_call *call, tab_error *err);

/* people.c */
tab_status keys_list_people(void *self, tab_call *call, tab_error *err);
tab_status keys_set_person(void *self, tab_call *call, tab_error *err);

/* persons.c */
/* A person as a token describes it: found or made, its role as its groups have it. *ret_changed: its
 * role is another one than before, so what the gateway knows of it is to be written anew. AUTH_SCOPE: it
 * may not sign in. */
tab_status person_seen(tab_tx *tx, tab_call *call, const provider *p, const oidc_person *who,
                       char ret_id[TAB_ID], bool *ret_changed, tab_error *err) TAB_CHECKED;
/* The role that counts most of these groups' ones, in the order of TAB_PERSON_ROLES; the provider's own for
 * whoever is in no group. */
tab_status person_role(tab_arena *a, const provider *p, const tab_str *group, size_t n, tab_person_role *ret,
                       tab_error *err) TAB_CHECKED;
/* A new one, as a key (the row of keys.person is the caller's); lives false: it is out from the start. */
tab_status person_make(tab_tx *tx, tab_call *call, const char *org, const char *name, tab_person_role role,
                       bool lives, char ret_id[TAB_ID], tab_error *err) TAB_CHECKED;
/* What the gateway had signed of it and of its keys is worth nothing from then on. */
tab_status person_set_role(tab_tx *tx, const char *org, const char *id, tab_person_role role,
                           tab_error *err) TAB_CHECKED;
/* Ends a person with its sessions and keys, or one key; what must be revoked after the commit is appended to
 * *t, of the arena. */
tab_status person_out(tab_tx *tx, tab_call *call, const char *id, keys_tombstone **t, size_t *n,
                      tab_error *err) TAB_CHECKED;
tab_status person_end_key(tab_tx *tx, tab_call *call, const char *org, const char *id, keys_tombstone **t,
                          size_t *n, tab_error *err) TAB_CHECKED;
/* It may sign in again; its keys stay ended. */
tab_status person_back(tab_tx *tx, const char *org, const char *id, tab_error *err) TAB_CHECKED;

/* directory.c (decision 0625): whom a provider has, as it says by SCIM with a key of its directory. */
tab_status keys_list_directory_users(void *self, tab_call *call, tab_error *err);
tab_status keys_set_directory_user(void *self, tab_call *call, tab_error *err);
tab_status keys_delete_directory_user(void *self, tab_call *call, tab_error *err);
/* Begins the transaction of a call; *ret: org, id, role and roles of the provider. `writes`: no other call
 * changes its directory meanwhile. AUTH_SCOPE: the key that calls is of no directory. */
tab_status directory_begin(keys *self, tab_call *call, bool writes, tab_tx **ret_tx, provider *ret,
                           tab_error *err) TAB_CHECKED;
tab_status directory_provider(tab_tx *tx, tab_call *call, const char *id, provider *ret,
                              tab_error *err) TAB_CHECKED;
/* The directory's people with these ids (id NULL: all) are in or out, and have their role, as the directory
 * and the provider's roles say; t, n as above. *changed becomes true where the gateway's entries are to be
 * written anew. */
tab_status directory_settle(tab_tx *tx, tab_call *call, const provider *p, char *const *id, size_t n_ids,
                            keys_tombstone **t, size_t *n, bool *changed, tab_error *err) TAB_CHECKED;
/* After the commit. */
tab_status directory_tell(keys *self, tab_call *call, const keys_tombstone *t, size_t n, bool changed,
                          tab_error *err) TAB_CHECKED;

/* directory_groups.c */
tab_status keys_list_directory_groups(void *self, tab_call *call, tab_error *err);
tab_status keys_set_directory_group(void *self, tab_call *call, tab_error *err);
tab_status keys_delete_directory_group(void *self, tab_call *call, tab_error *err);

#endif
