/* Fitted states of endpoints, kept between serve calls: a bounded cache in memory, least recently used out
 * first. A burst of misses for one key fits once: the first caller fits, the others wait for it.
 *
 * A state is borrowed between tab_states_take and tab_states_give; what is borrowed is never freed, even when
 * it has been pushed out. The budget counts the bytes that `fit` reports. */
#ifndef TAB_INFERENCE_STATES_H
#define TAB_INFERENCE_STATES_H

#include <stdatomic.h>

#include "common/arena.h"
#include "common/base.h"

typedef struct tab_states tab_states;
typedef struct tab_loan tab_loan; /* a borrowed state */

/* Makes the state of a key. Called without any lock held, by one thread a key. */
typedef tab_status (*tab_states_fit)(void *arg, void **ret_state, size_t *ret_bytes, tab_error *err);

tab_states *tab_states_new(size_t budget_bytes, void (*free_state)(void *state));
void tab_states_free(tab_states *s); /* nothing may be borrowed */
TAB_DEFINE_AUTO(tab_states)

/* *ret_warm tells whether the state was there. A failed fit is the error of all who waited for it and is not
 * kept. Waiting ends when *cancel turns true (looked at ten times a second); NULL: never. */
tab_status tab_states_take(tab_states *s, tab_str key, tab_states_fit fit, void *arg,
                           const atomic_bool *cancel, tab_loan **ret, bool *ret_warm,
                           tab_error *err) TAB_CHECKED;
void *tab_loan_state(const tab_loan *loan);
void tab_states_give(tab_states *s, tab_loan *loan);

/* Adds a state that was made elsewhere and borrows it; where the key is there or being fitted, the state
 * serves this loan alone and is freed at its end. False when memory is out: the state is the caller's
 * still. */
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
