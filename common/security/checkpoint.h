/* Checkpoints: what is said where a log is cut, signed by the operator (Ed25519; decision 0352).
 *
 * The text that is signed is one line of words, NAME=VALUE with one space between, no space in a value:
 *
 *   tabella-checkpoint kind=audit org=org_1 n=1 seq=500 hash=HEX previous=HEX at=2026-01-01T00:00:00Z
 *
 * `previous` is the SHA-256 of the text before it, 64 zeros in the first, so that none can be left out. */
#ifndef TAB_CHECKPOINT_H
#define TAB_CHECKPOINT_H

#include "common/base/base.h"

enum { TAB_CHECKPOINT_TEXT = 1024, TAB_CHECKPOINT_KEY = 32, TAB_CHECKPOINT_SIGNATURE = 64 };

typedef struct {
    char text[TAB_CHECKPOINT_TEXT];
    uint8_t key[TAB_CHECKPOINT_KEY]; /* the public one */
    uint8_t signature[TAB_CHECKPOINT_SIGNATURE];
} tab_checkpoint;

/* Signs c->text. secret: 64 hex digits; false: it is none. The same text and secret give the same bytes. */
bool tab_checkpoint_sign(const char *secret, tab_checkpoint *c) TAB_CHECKED;

/* The signature is of this text and key, and the key is one of `known`: public keys in hex, commas between;
 * "" or NULL: any. */
bool tab_checkpoint_holds(const tab_checkpoint *c, const char *known) TAB_CHECKED;

/* A value by its name; false where it is not there or too long for ret. */
bool tab_checkpoint_get(const tab_checkpoint *c, const char *name, char *ret, size_t size) TAB_CHECKED;
/* A value that must be this one. */
bool tab_checkpoint_says(const tab_checkpoint *c, const char *name, const char *value) TAB_CHECKED;

/* From text and from hex, as files and tables have them; false: these are none. */
bool tab_checkpoint_read(tab_str text, tab_str key, tab_str signature, tab_checkpoint *ret) TAB_CHECKED;

#endif
