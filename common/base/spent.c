#include "common/base/spent.h"

_Thread_local tab_spent tab_spent_here;
