/* An endpoint's state as bytes, and back (decision 0407): what is written once, kept on disk, and served.
 *
 *   0    8 bytes    "TABS\r\n\x1a\n"
 *   8    u32        form, 1
 *   12   u32        bytes of the release
 *   16   u64        bytes of the body as packed (engine/pack/pack.h)
 *   24   32 bytes   keyed BLAKE2b of all else: this header with zeros here, the release, the state's name and
 *                   what follows
 *   56   release    the engine that wrote it; another one's is refitted, for answers may differ
 *   ..   zstd       the body
 *
 * The digest's key is the installation's (TAB_ORG_KEY); a state that was moved to another name, or written by
 * nobody who has the key, is refused before anything of it is read. */
#ifndef TAB_STATE_PACK_H
#define TAB_STATE_PACK_H

#include "services/inference/states/serve_state.h"

enum { STATE_KEY = 32, STATE_RELEASE = 80 };

/* The build of the engine, and of the weights that it answers with. */
const char *state_release(void);

/* *ret: malloc'd. Errors: INTERNAL (memory). */
tab_status state_write(serve_state *st, tab_str name, const uint8_t key[STATE_KEY], uint8_t **ret,
                       size_t *ret_n, tab_error *err) TAB_CHECKED;
/* VALIDATION: of another release, broken, or no state; INTERNAL: memory. */
tab_status state_read(tab_str bytes, tab_str name, const uint8_t key[STATE_KEY], serve_state **ret,
                      tab_error *err) TAB_CHECKED;

/* What state_write compresses, malloc'd. */
tab_status state_body_write(serve_state *st, uint8_t **ret, size_t *ret_n, tab_error *err) TAB_CHECKED;
/* What state_read does once the digest has been held against the bytes. */
tab_status state_body_read(tab_str body, serve_state **ret, tab_error *err) TAB_CHECKED;

#endif
