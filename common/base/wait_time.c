#include "common/base/wait_time.h"

_Thread_local tab_wait_time tab_wait_time_of_thread;
