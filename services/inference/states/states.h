/* Fitted states of endpoints, kept between serve calls: a bounded cache in memory, least recently used out
 * first. A burst of misses for one key fits once, on a thread of its own: callers wait for it, and may leave;
 * the fit goes on to its end, for whoever calls then.
 *
 * A state is borrowed between tab_states_take and tab_states_give; what is borrowed is never freed, even when
 * it has been pushed out. The budget counts the bytes that `fit` reports. */
#ifndef TAB_INFERENCE_STATES_H
#define TAB_INFERENCE_STATES_H

#include <stdatomic.h>

#include "common/base/arena.h"
#include "common/base/base.h"

typedef struct tab_states tab_states;
typedef struct tab_loan tab_loan; /* a borrowed state */

/* Makes the state of a key; called without any lock held. */
typedef struct {
    void *(*own)(void *arg); /* what the fit needs of a call, which may end before it; NULL: memory is out */
    tab_status (*fit)(void *own, void **ret_state, size_t *ret_bytes, tab_error *err);
    void (*disown)(void *own);
} tab_states_maker;

enum { TAB_STATES_FITS = 64 }; /* at once; one more is UNAVAILABLE */

tab_states *tab_states_new(size_t budget_bytes, void (*free_state)(void *state));
void tab_states_free(tab_states *s); /* nothing may be borrowed; waits for fits */
void tab_states_wait(tab_states *s); /* until no fit is under way */
TAB_DEFINE_AUTO(tab_states)

/* *ret_warm tells whether the state was there. A failed fit is the error of all who waited for it and is not
 * kept. Waiting ends when *cancel turns true (looked at ten times a second); NULL: never. */
tab_status tab_states_take(tab_states *s, tab_str key, const tab_states_maker *maker, void *arg,
                           const atomic_bool *cancel, tab_loan **ret, bool *ret_warm,
                           tab_error *err) TAB_CHECKED;
void *tab_loan_state(const tab_loan *loan);
void tab_states_give(tab_states *s, tab_loan *loan);

/* Borrows a state that is there; NULL: it is not. No use of it, in the order of use. */
tab_loan *tab_states_borrow(tab_states *s, tab_str key);

/* Borrows once more what is borrowed, also where it has been pushed out since. */
tab_loan *tab_states_again(tab_states *s, tab_loan *loan);

/* How many fits are under way of keys that start with the prefix, `key` itself not counted. */
size_t tab_states_fitting(tab_states *s, tab_str prefix, tab_str key);

/* Adds a state that was made elsewhere, and borrows it. Where the key is there or being fitted already, the
 * state serves this borrower alone and is freed at its end. False: out of memory, and the state is still the
 * caller's. */
bool tab_states_put(tab_states *s, tab_str key, void *state, size_t bytes, tab_loan **ret) TAB_CHECKED;

/* Drops what is kept for keys that start with the prefix (an endpoint's id), as far as it is not borrowed. */
void tab_states_drop(tab_states *s, tab_str prefix);

/* The keys of what is kept, NUL-terminated, in the arena; NULL: it is full. */
const char **tab_states_keys(tab_states *s, tab_arena *a, size_t *ret_n);

typedef struct {
    size_t count, bytes;
    uint64_t hits, misses, joined, kept,
        evicted; /* kept: put by a creation, a refresh, an upgrade, an edit */
} tab_states_figures;
tab_states_figures tab_states_look(tab_states *s);

#endif
