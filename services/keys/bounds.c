/* See bounds.h. */
#include "services/keys/bounds.h"

#include <assert.h>
#include <stdio.h>

#include "common/base/time.h"

enum { YEARS_MOST = 10 };

/* ---- lists ----------------------------------------------------------------------------------- */

/* Is the item one of the list? */
static bool has_item(const char *list, tab_str item)
{
    while (*list != 0) {
        size_t n = strcspn(list, " ");
        if (tab_str_eq((tab_str){ list, n }, item))
            return true;
        list += n + (list[n] == ' ');
    }
    return false;
}

/* Behind what is there, unless it is there. The caller knows that it fits. */
static void add_item(char *list, const char *item)
{
    if (has_item(list, tab_str_of(item)))
        return;
    assert(item[0] != 0 && strchr(item, ' ') == NULL); /* else the list could not be read back */
    if (*list != 0)
        strcat(list, " ");
    strcat(list, item);
}

tab_status keys_networks_read(tab_arena *a, char *const *item, size_t n, const char **ret, tab_error *err)
{
    char *list = tab_arena_alloc(a, TAB_BOUNDS_NETWORKS, TAB_NETWORK_TEXT);
    if (list == NULL)
        return tab_no_memory(err);
    if (n > TAB_BOUNDS_NETWORKS)
        return tab_fail(err, TAB_VALIDATION, "networks", "`networks` can have at most %d entries.",
                        TAB_BOUNDS_NETWORKS);
    for (size_t i = 0; i < n; i++) {
        char param[32], text[TAB_NETWORK_TEXT];
        tab_network network;
        snprintf(param, sizeof param, "networks[%zu]", i);
        if (!tab_network_read(tab_str_of(item[i]), &network))
            return tab_fail(err, TAB_VALIDATION, param,
                            "A network is an address like 203.0.113.7, or a block like 10.0.0.0/8 or "
                            "2001:db8::/32 without bits behind its length.");
        tab_network_write(&network, text);
        add_item(list, text);
    }
    *ret = list;
    return TAB_OK;
}

tab_status keys_endpoints_read(tab_arena *a, char *const *item, size_t n, const char **ret, tab_error *err)
{
    char *list = tab_arena_alloc(a, TAB_BOUNDS_ENDPOINTS, TAB_ID);
    if (list == NULL)
        return tab_no_memory(err);
    if (n > TAB_BOUNDS_ENDPOINTS)
        return tab_fail(err, TAB_VALIDATION, "endpoints", "`endpoints` can have at most %d entries.",
                        TAB_BOUNDS_ENDPOINTS);
    for (size_t i = 0; i < n; i++) {
        if (!tab_id_valid(tab_str_of(item[i]), ""))
            return tab_fail(err, TAB_VALIDATION, "endpoints", "An endpoint must be named by its id.");
        add_item(list, item[i]);
    }
    *ret = list;
    return TAB_OK;
}

tab_status keys_items(tab_arena *a, const char *list, char ***ret, size_t *ret_n, tab_error *err)
{
    enum { MOST = TAB_BOUNDS_NETWORKS > TAB_BOUNDS_ENDPOINTS ? TAB_BOUNDS_NETWORKS : TAB_BOUNDS_ENDPOINTS };
    char **item = tab_arena_new_of(a, char *, MOST);
    size_t n = 0;
    for (size_t length; item != NULL && n < MOST && *list != 0; list += length + (list[length] == ' ')) {
        length = strcspn(list, " ");
        item[n++] = (char *)tab_arena_copy(a, (tab_str){ list, length }).p;
    }
    if (item == NULL || tab_arena_full(a))
        return tab_no_memory(err);
    assert(n <= MOST);
    *ret = item;
    *ret_n = n;
    return TAB_OK;
}

bool keys_networks_hold(const char *list, const char *address)
{
    tab_network from, n;
    if (*list == 0 || !tab_network_read(tab_str_of(address), &from))
        return true;
    for (size_t length; *list != 0; list += length + (list[length] == ' ')) {
        length = strcspn(list, " ");
        if (tab_network_read((tab_str){ list, length }, &n) && tab_network_holds(&n, &from))
            return true;
    }
    return false;
}

tab_status keys_expiry_good(int64_t us, tab_error *err)
{
    int64_t left = us - tab_now_us();
    if (us == 0 || (us > 0 && left > 0 && left < YEARS_MOST * INT64_C(366) * 86400 * 1000000))
        return TAB_OK;
    return tab_fail(err, TAB_VALIDATION, "expires_at", "`expires_at` must be in the future, within %d years.",
                    YEARS_MOST);
}
