// The skein command: a verb, and what it is to work on. Exit status: 0 as asked, 1 something failed, 2 called wrongly.
#include <cstdio>
#include <iostream>

#include "tools/skein/command.h"
#include "tools/skein/verbs.h"

int main(int argc, char** argv) {
  const skein::Command command({skein::RunVerb(), skein::DoctorVerb(), skein::PathsVerb(), skein::TopVerb(),
                                skein::BreakdownVerb(), skein::RecordVerb(), skein::MetricsVerb(),
                                skein::ExporterVerb(), skein::OptionsVerb(), skein::DurableVerb()});
  const int status = command.Run({argv + 1, argv + argc}, std::cout, std::cerr);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  std::cerr << "skein: cannot write to standard output\n";
  return status == 0 ? 1 : status;
}
