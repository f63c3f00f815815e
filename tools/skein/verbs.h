// All verbs of the skein command.
#ifndef SKEIN_TOOLS_SKEIN_VERBS_H_
#define SKEIN_TOOLS_SKEIN_VERBS_H_

#include "tools/skein/verb.h"

namespace skein {

Verb RunVerb();
Verb DoctorVerb();
Verb PathsVerb();
Verb TopVerb();
Verb BreakdownVerb();
Verb RecordVerb();
Verb MetricsVerb();
Verb ExporterVerb();
Verb OptionsVerb();
Verb DurableVerb();

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_VERBS_H_
