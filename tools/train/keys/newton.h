/* Logistic regression by Newton's method on standardized features, with an L2 term that does not touch the
 * constant; writes its weights as a header of C. */
#ifndef TAB_TRAIN_NEWTON_H
#define TAB_TRAIN_NEWTON_H

#include <stdbool.h>
#include <stddef.h>

enum { NEWTON_MOST = 32 /* features */ };

typedef struct {
    size_t n, d;
    double *x; /* (n, d); standardized by newton_fit */
    double *y; /* (n) 0 or 1 */
} newton_rows;

/* Room for n rows of d features; n counts from 0 again. False: out of memory. */
bool newton_rows_new(newton_rows *r, size_t n, size_t d);
void newton_rows_add(newton_rows *r, const float *x, bool y);
void newton_rows_free(newton_rows *r);

/* Fills w (d + 1): the weights of raw features, the constant last. False: no rows, said so. */
bool newton_fit(newton_rows *r, double l2, double *w);

/* Writes the header PATH: `static const double tab_key_NAME_weights[TAB_KEY_UPPER_FEATURES + 1]`, of features
 * TAB_KEY_UPPER_F_..., which engine/keys/`from` lists. False: said why. */
bool newton_write(const char *path, const char *name, const char *upper, const char *from,
                  const char *const *feature, size_t d, const double *w);

#endif
