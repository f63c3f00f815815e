// A service on a ledger whose host crashes, its clients, and what they may rely on.
#ifndef SKEIN_TESTS_UNIT_DURABLE_CRASHING_SERVICE_H_
#define SKEIN_TESTS_UNIT_DURABLE_CRASHING_SERVICE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/durable/ledger/ledger.h"
#include "core/durable/sim/simulated_medium.h"

namespace skein::durable {

// One client as it sees things itself; none of this is lost in a crash of the service.
struct ClientView {
  uint8_t life = 0;                                 // begins anew when it is forgotten
  uint64_t before = 0;                              // executed in its former lives
  uint64_t sent = 0;                                // sequences that it has ever sent
  uint64_t next = 1;                                // to be sent, as far as it knows
  uint64_t persisted = 0;                           // it was told that these are safe
  uint64_t mark = 0;                                // the highest that it has ever been shown
  uint64_t acknowledged = 0;                        // outcomes that it does not want any more
  std::map<uint64_t, std::string> told;             // outcomes that were told to be safe
  std::map<uint64_t, std::set<std::string>> tried;  // all that the service has ever tried to finish with
  uint64_t taken = 0;                               // last to be executed in this life
};

// Everything from one seed. Every promise that is broken is a failure of the running test, with what led to it.
class CrashingService {
 public:
  explicit CrashingService(uint64_t seed);

  // Opens the ledger, checks what it says against what its clients know, and does `operations` random things, or until
  // the host crashes. Then it is gone.
  void Live(int operations);
  // The last life: everything is executed; then nothing may be missing.
  void LiveToTheEnd();
  // After a crash: power, or only the process.
  void Lose();

  sim::SimulatedMedium& medium() { return *medium_; }
  uint64_t executed() const { return executed_; }
  uint64_t forgotten() const { return forgotten_; }  // clients

 private:
  bool Open();
  void CheckStanding(size_t number);
  void CheckOutcomes(size_t number);
  void CheckFold();
  void DoSomething();
  void Send(size_t number);
  void SendAgain(size_t number);
  void Execute();
  bool FinishOne();
  void Finish(size_t number, uint64_t sequence);
  void Acknowledge(size_t number);
  ClientId IdOf(size_t number) const;
  // Whether the ledger knows nothing of it any more; then it begins anew.
  bool IsForgotten(size_t number);
  std::string RequestOf(size_t number, uint64_t sequence) const;
  uint64_t Draw(uint64_t below) { return random_() % below; }

  std::mt19937_64 random_;
  const std::shared_ptr<sim::SimulatedMedium> medium_;
  absl::Time now_ = absl::UnixEpoch();
  LedgerOptions options_;
  std::vector<ClientView> clients_;
  std::vector<std::pair<size_t, uint64_t>> running_;
  std::unique_ptr<Ledger> ledger_;
  uint64_t executed_ = 0;
  uint64_t forgotten_ = 0;
  uint64_t life_ = 0;
  // What a service that is made of its outcomes has safe elsewhere: how many of each client, up to a position.
  std::vector<uint64_t> folded_;
  uint64_t folded_to_ = 0;
};

}  // namespace skein::durable

#endif  // SKEIN_TESTS_UNIT_DURABLE_CRASHING_SERVICE_H_
