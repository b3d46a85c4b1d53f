/* Where keys are used from: address and agent of each key's last call, told to keys once a second where they
 * changed, and each ten seconds where they did not. What is lost with a process is only the last of them. */
#ifndef TAB_API_USES_H
#define TAB_API_USES_H

#include "services/api/api.h"

void uses_note(const request *r); /* of one whose identity holds */
void uses_tell(api *a);

#endif
