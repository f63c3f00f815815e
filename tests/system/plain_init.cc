#include "tests/system/probe_flags.h"

void skein::probe::InitTransport() {}
