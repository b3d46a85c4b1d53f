/* Named points of the code at which a test may stop a process, fail it or kill it, and which are counted.
 *
 *   TAB_POINT("bills.written");                       waits or dies here, if a test says so
 *   if (TAB_POINT_FAILS("bills.write")) return ...    fails here as well
 *
 * Compiled in by -DTAB_POINTS (make MODE=points) alone: elsewhere the macros are nothing. A name has at most
 * TAB_POINT_NAME - 1 characters. All processes of a test share the file that TAB_POINTS_FILE names:
 *
 *   [ clock 0 | clock 1 | ... | slot 0 | slot 1 | ... ]   a slot belongs to a name, and is found by its hash
 *
 * The test maps the same file (tests/seeds/lib/points.py): it writes what is to happen, and reads who waits.
 */
#ifndef TAB_POINT_H
#define TAB_POINT_H

#include <stdbool.h>
#include <stdint.h>

enum { TAB_POINT_NAME = 88 };

#ifdef TAB_POINTS
bool tab_point_at(const char *name);                            /* true: it is to fail */
bool tab_point_of(const char *a, const char *b, const char *c); /* the same of the name "a.b.c", or "a.b" */
void tab_point_known(const char *a, const char *b, const char *c); /* listed, though never reached */
int64_t tab_point_clock_us(void); /* by how much the test has moved this process's clock */
#define TAB_POINT(name) ((void)tab_point_at(name))
#define TAB_POINT_FAILS(name) tab_point_at(name)
#define TAB_POINT_OF(a, b, c) ((void)tab_point_of(a, b, c))
#define TAB_POINT_OF_FAILS(a, b, c) tab_point_of(a, b, c)
#define TAB_POINT_KNOWN(a, b, c) tab_point_known(a, b, c)
#else
#define TAB_POINT(name) ((void)0)
#define TAB_POINT_FAILS(name) false
#define TAB_POINT_OF(a, b, c) ((void)0)
#define TAB_POINT_OF_FAILS(a, b, c) false
#define TAB_POINT_KNOWN(a, b, c) ((void)0)
#define tab_point_clock_us() ((int64_t)0)
#endif

#endif
