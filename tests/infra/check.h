/* Checks for programs without Criterion (threads, sanitizers, servers): counts, and says where. */
#ifndef TAB_TEST_CHECK_H
#define TAB_TEST_CHECK_H

#include <stdio.h>

extern int passed, failed;

#define CHECK(what)                                                \
    do {                                                           \
        if (what) {                                                \
            passed++;                                              \
        } else {                                                   \
            failed++;                                              \
            printf("FAIL %s:%d: %s\n", __FILE__, __LINE__, #what); \
        }                                                          \
    } while (0)

#endif
