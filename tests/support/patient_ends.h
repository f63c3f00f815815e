// For tests that connect through sockets: on a busy machine either end of a negotiation may be late by more than the
// second that is usual.
#ifndef SKEIN_TESTS_SUPPORT_PATIENT_ENDS_H_
#define SKEIN_TESTS_SUPPORT_PATIENT_ENDS_H_

#include <stdlib.h>

namespace skein {

// An option that a test does not set is the environment's. Before main, because no other thread reads the environment
// then.
inline const bool kWaitsLongForAnswers = setenv("SKEIN_NEGOTIATION_TIMEOUT", "60000", /*overwrite=*/1) == 0;

}  // namespace skein

#endif  // SKEIN_TESTS_SUPPORT_PATIENT_ENDS_H_
