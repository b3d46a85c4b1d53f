/* Whatever is written for a network: what is read is written shortest and read again as the same, and holds
 * its own first address. Whatever stands in a grant for bounds: what is read is made of views into it, and
 * its public part is read again. */
#include "common/security/bounds.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static bool inside(tab_str part, tab_str whole)
{
    return part.n == 0 || (part.p >= whole.p && part.p + part.n <= whole.p + whole.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tab_str text = { (const char *)data, size };
    tab_network n, again;
    tab_bounds b;
    if (tab_network_read(text, &n)) {
        char out[TAB_NETWORK_TEXT];
        tab_network_write(&n, out);
        must(tab_network_read(tab_str_of(out), &again));
        must(again.size == n.size && again.bits == n.bits && memcmp(again.address, n.address, n.size) == 0);
        tab_network first = tab_network_of(n.address, n.size);
        must(first.size != n.size || tab_network_holds(&n, &first));
        tab_bounds_writer w = { .n = 0 };
        tab_bounds_put_network(&w, 'k', &n);
        must(tab_bounds_read((tab_str){ w.text, w.n }, &b));
        must(first.size != n.size || tab_bounds_has_address(b.key_networks, &first));
    }
    if (tab_bounds_read(text, &b)) {
        tab_str open = tab_bounds_public(text);
        must(inside(b.endpoints, text) && inside(b.key_networks, text) && inside(b.org_networks, text));
        must(b.until_s >= 0 && inside(open, text) && open.n < TAB_BOUNDS_TEXT);
        tab_bounds again_b;
        must(tab_bounds_read(open, &again_b) && tab_str_eq(again_b.endpoints, b.endpoints) &&
             tab_str_eq(again_b.role, b.role));
        static const uint8_t any[16] = { 10, 1 };
        tab_network four = tab_network_of(any, 4), six = tab_network_of(any, 16);
        (void)tab_bounds_has_address(b.key_networks, &four);
        (void)tab_bounds_has_address(b.org_networks, &six);
        (void)tab_bounds_has_endpoint(&b, TAB_S("one"));
    }
    return 0;
}
