/* Classes that come in other shares among the asked rows than among the known ones, of which nothing else is
 * otherwise: a study takes as many ill persons as well ones, and asks about all. */
#ifndef TAB_LABEL_SHIFT_H
#define TAB_LABEL_SHIFT_H

#include "services/inference/engine/learn/stack/stack.h"

enum { TAB_LABEL_SHIFTS = 10 /* classes at most */ };

/* By expectation and maximization over the stack's answers to the asked rows (Saerens, Latinne & Decaestecker
 * 2002). moved (outputs): by how much the logarithm of each class's odds moves if so. *may is false where the
 * shares are the same by chance, or where known rows that are weighed so do not lie as the asked ones do in
 * every feature: then more is otherwise than shares. Where it is true, features may still have moved along
 * what tells the classes. False: memory. */
bool tab_label_shift(const tab_problem *p, const tab_stack *s, const bool *asked,
                     double moved[TAB_LABEL_SHIFTS], bool *may) TAB_CHECKED;
#endif
