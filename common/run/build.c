/* The commit that was built, alone in a file: it changes with each commit, and nothing else is compiled for
 * it. build/gen/commit.h is made by the Makefile. */
#include "commit.h"
#include "common/base/config.h"

const char tab_commit[] = TAB_COMMIT;
