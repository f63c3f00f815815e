#include "tests/process/probe_flags.h"

void skein::probe::InitTransport() {}
