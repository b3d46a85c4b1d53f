/* Checks for programs without Criterion (threads, sanitizers, servers): counts, and says where. */
#ifndef TAB_TEST_CHECK_H
#define TAB_TEST_CHECK_H

#include <poll.h>
#include <stdio.h>

#include "common/rpc/rpc.h"

/* How long a test waits for what must come, in milliseconds: no machine is so slow. */
#define PATIENCE_MS 120000
#define MAYBE __attribute__((unused)) static

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

MAYBE bool rpc_ready(tab_rpc *rpc)
{
    for (int64_t end = tab_in_ms(PATIENCE_MS); !tab_rpc_alive(rpc) && tab_mono_ms() < end;)
        poll(NULL, 0, 20);
    return tab_rpc_alive(rpc);
}

#endif
