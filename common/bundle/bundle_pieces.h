/* A large bundle in pieces, so that a page of it, or a file made of it, costs what the page costs and not the
 * whole (decision 0409).
 *
 *   head     the bundle with the first pages of its paged arrays, and how long each is (Bundle.parts)
 *   slice    elements [from, to) of one array, with what their JSON needs besides: classes, quantile levels,
 *            names of columns
 *
 * Both are bundles: what writes and checks a bundle works on them (bundle_json.h). */
#ifndef TAB_BUNDLE_PIECES_H
#define TAB_BUNDLE_PIECES_H

#include "common/bundle/bundle_json.h"

/* How many elements an array has in all, and which of them the bundle holds. */
size_t tab_bundle_total(const Tabella__Bundle *b, tab_paged array);
size_t tab_bundle_held(const Tabella__Bundle *b, tab_paged array);
size_t tab_bundle_first(const Tabella__Bundle *b, tab_paged array);

/* Of a whole, sound bundle, which the results point into; NULL: the arena is full. */
Tabella__Bundle *tab_bundle_head(tab_arena *a, const Tabella__Bundle *b);
Tabella__Bundle *tab_bundle_slice(tab_arena *a, const Tabella__Bundle *b, tab_paged array, size_t from,
                                  size_t to);

/* How many elements of an array make a slice of about `bytes`. */
size_t tab_bundle_stride(const Tabella__Bundle *b, tab_paged array, size_t bytes);

/* Elements of one array that are a slice. */
typedef struct {
    tab_paged array;
    size_t from, to, step; /* step: elements of a full one; 0: none of its array was made yet */
} tab_bundle_piece;
/* The slice behind this one, of about TAB_PIECE_BYTES; the first one of { 0 }. False: there is none more, so
 * where there is none at all the bundle lies whole. */
bool tab_bundle_next(const Tabella__Bundle *b, tab_bundle_piece *p);
enum { TAB_PIECE_BYTES = 256 << 10 };

#endif
