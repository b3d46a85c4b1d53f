/* What a key may do beside its scopes: from which networks it calls, which endpoints it asks, until when. One
 * word of a grant's text (common/security/identity.h); a key without bounds has none.
 *
 *   b:FIELD;FIELD...      r=ROLE      the role of the person whose it is (common/http/routes.h)
 *                         e=ID,ID     the endpoints that it may ask, and nothing else
 *                         x=SECONDS   the last second since 1970 in which it holds
 *                         k=NET,NET   networks of the key
 *                         o=NET,NET   networks of its organization: an address must lie in one of each list
 *
 *   NET   address and length in hex, AABBCCDDLL for IPv4 and 32 + 2 digits for IPv6: who wrote the word has
 *         read the network's text, and who checks an address compares bytes
 *
 * Fields stand in this order, each at most once. A field that is not known is not passed over: the word
 * cannot be read then, and so neither can the grant. */
#ifndef TAB_BOUNDS_H
#define TAB_BOUNDS_H

#include "common/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TAB_BOUNDS_NETWORKS = 16, /* of a key, and of an organization */
    TAB_BOUNDS_ENDPOINTS = 16,
    TAB_BOUNDS_TEXT = 1600,  /* bytes that hold any word and a NUL */
    TAB_BOUNDS_PUBLIC = 440, /* and any with role and endpoints alone */
    TAB_NETWORK_TEXT = 52    /* a network as people write it, with a NUL */
};

/* An address is a network of full length. IPv4 in IPv6 (::ffff:0:0/96) is IPv4. */
typedef struct {
    uint8_t address[16]; /* IPv4: the first four */
    uint8_t size;        /* 4 or 16 */
    uint8_t bits;
} tab_network;

/* "10.0.0.0/8", "2001:db8::/32" or one address. False: another form, or bits are set behind its length. */
bool tab_network_read(tab_str text, tab_network *ret) TAB_CHECKED;
/* Of an address in the bytes of a socket: 4 or 16 of them. */
tab_network tab_network_of(const uint8_t *bytes, size_t size);
/* As it is read, shortest; one address without its length. */
void tab_network_write(const tab_network *n, char buf[TAB_NETWORK_TEXT]);
bool tab_network_holds(const tab_network *n, const tab_network *address);

typedef struct {
    tab_str role;                                  /* p NULL: none */
    tab_str endpoints, key_networks, org_networks; /* lists as they stand in the word; p NULL: not bound */
    int64_t until_s;                               /* 0: no end */
} tab_bounds;

/* Views into the word, "" for none. False: another form. */
bool tab_bounds_read(tab_str word, tab_bounds *ret) TAB_CHECKED;
/* The word with role and endpoints alone, which is what the api needs to know; "" where it has neither. */
tab_str tab_bounds_public(tab_str word);
bool tab_bounds_has_endpoint(const tab_bounds *b, tab_str id);
/* Whether the address lies in a network of the list. */
bool tab_bounds_has_address(tab_str networks, const tab_network *address);

/* A word while it is written: fields in their order. */
typedef struct {
    char text[TAB_BOUNDS_TEXT];
    size_t n;
    bool full;
} tab_bounds_writer;
void tab_bounds_put(tab_bounds_writer *w, char field, tab_str item); /* one more item of the field */
void tab_bounds_put_network(tab_bounds_writer *w, char field, const tab_network *n);

#ifdef __cplusplus
}
#endif
#endif
