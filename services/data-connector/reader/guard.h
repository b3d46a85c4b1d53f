/* What a thread may do while it reads a source, whatever library tries: guard.c defines connect(), recv() and
 * HMAC_Init_ex() of this program. */
#ifndef DATA_GUARD_H
#define DATA_GUARD_H

#include <stdbool.h>
#include <stdint.h>

/* Between these two, this thread connects to allowed addresses only, receives `most` bytes at most, and
 * keys an HMAC GUARD_KEYINGS times at most: connect(), recv() and HMAC_Init_ex() of this program refuse
 * what is more, whatever library calls them. The last bounds a login by SCRAM: 4,096 iterations are
 * PostgreSQL's default, 600,000 are what OWASP asks of PBKDF2-HMAC-SHA256 today; a server may name two
 * thousand million. */
enum { GUARD_KEYINGS = 1000000 };
void guard_begin(const char *allow, int64_t most);
void guard_end(void);
void guard_resume(void);   /* after guard_end: as it was */
bool guard_spent(void);    /* more was there to be received */
bool guard_laboured(void); /* more was there to be computed */

#endif
