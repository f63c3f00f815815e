// The clock of a thread that counts instructions: it goes by how often it is looked at, not by time, which under
// valgrind is fifty times as long. What is done every 200 us, or after 50 us in vain, is thus done as often in each
// run.
#ifndef SKEIN_TESTS_INSTRUCTIONS_COUNTED_CLOCK_H_
#define SKEIN_TESTS_INSTRUCTIONS_COUNTED_CLOCK_H_

namespace skein::instructions {

// From now on, on this thread. Other threads keep the machine's time.
void BeginCountedClock();

}  // namespace skein::instructions

#endif  // SKEIN_TESTS_INSTRUCTIONS_COUNTED_CLOCK_H_
