/* A temperature of probabilities, expected from what rows lose at each of a grid of them (decision 0541). */
#ifndef TAB_ASKED_HEAT_H
#define TAB_ASKED_HEAT_H

#include "services/inference/engine/learn/stack/stack.h"

/* Log-probabilities out (n) at a temperature. */
void tab_heat_apply(double heat, size_t n, float *out);
/* What encoded row i, of that label, loses out of fold at each of a grid of temperatures: ret (TAB_HEATS).
 * scratch: (outputs). */
enum { TAB_HEATS = 33 };
void tab_heat_losses(const tab_stack *s, uint32_t label, size_t i, float *scratch, double *ret);
/* The temperature that is expected from sums of such losses: each of the grid counts by how likely it makes
 * the targets, of which each row is `scale` of one. doubted, surer: how likely it is beforehand that rows are
 * to be doubted, or the other way round. */
double tab_heat_expected(const double *loss, double scale, double doubted, double surer);
/* The same of rows that lie otherwise than the known ones (odds.h). */
double tab_heat_of_asked(const double *loss, double scale);
#endif
