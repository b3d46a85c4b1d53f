/* Small odd tables made from bytes, put through what the daemon does with tables: the whole pass, the
 * held-out report, and serve calls with an endpoint's state. The unit tests make the bytes from a generator,
 * tests/fuzz/engine_fuzz.c from libFuzzer. */
#ifndef TAB_ODD_H
#define TAB_ODD_H

#include "common/base/base.h"

/* The first byte chooses between the pass with its report and the pass with serve calls. Any bytes will do.
 * NULL: every answer is sound, its numbers are finite, its confidences and probabilities lie in 0 to 1 and no
 * supplied cell is filled; or the tables are refused with an error of the interface that says what is wrong
 * and where. Else what does not hold; the text lives until the next call. */
const char *odd_try(const uint8_t *bytes, size_t n);

/* Since the start: tries whose answers were bundles, not refusals. */
size_t odd_answered(void);

/* The tables that the bytes make, as JSON text on stderr: to read a finding. */
void odd_print(const uint8_t *bytes, size_t n);
#endif
