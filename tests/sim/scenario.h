// What happens in a world: processes that use a part of Skein, and what they may rely on.
#ifndef SKEIN_TESTS_CHAOS_SCENARIO_H_
#define SKEIN_TESTS_CHAOS_SCENARIO_H_

#include <cstddef>
#include <memory>
#include <string>

#include "tests/sim/world.h"

namespace skein::chaos {

// One run's. Its objects are gone with it, in an order that the dice choose.
class Scenario {
 public:
  virtual ~Scenario() = default;

  // What processes do of their own accord at one moment; then whoever is awake polls.
  virtual void Step() = 0;
  // The process is about to end: it lets go of what it has, and dies before it hears what becomes of that.
  virtual void OnExit(size_t process) = 0;
  // World::Kill comes before; the process' objects go. And it is there again.
  virtual void OnDeath(size_t process) = 0;
  virtual void OnStart(size_t process) = 0;
  // Somebody of the process ends something that others use.
  virtual void OnClose(const Fault& fault) = 0;

  // From now on nothing new is begun, and nothing breaks: what has been begun comes to its end.
  virtual void Finish() = 0;
  virtual bool Settled() const = 0;
  // Who has not, for people.
  virtual std::string Unsettled() const = 0;
  // What must hold at the end.
  virtual void CheckAtEnd() = 0;
};

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_SCENARIO_H_
