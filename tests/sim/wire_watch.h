// Looks at what queue pairs of links post, and holds both ends to what a ring and its credits promise:
//
//   - a message follows the last one, and never reaches what its reader has not said to have read in its control line;
//   - a reader says so of no more than was written, and never takes it back;
//   - credits are conserved: a sender's balance is what was granted less what it has sent, neither more nor less
//     (credit_model.h);
//   - a WRITE_WITH_IMM always finds a receive posted.
#ifndef SKEIN_TESTS_CHAOS_WIRE_WATCH_H_
#define SKEIN_TESTS_CHAOS_WIRE_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/fabric/fabric.h"
#include "core/wire/control.h"
#include "core/wire/message.h"
#include "tests/sim/credit_model.h"
#include "tests/sim/journal.h"
#include "tests/sim/link_end.h"

namespace skein::chaos {

// Receives that were posted to one place, of one queue pair or shared.
struct Receives {
  uint64_t posted = 0;
  uint64_t taken = 0;      // their completions have been seen
  uint64_t under_way = 0;  // messages posted that will take one
  // Completions of some have been held back: then notifications of lines, which cost no credits, may outrun them and
  // wait.
  bool late = false;
};

class WireWatch {
 public:
  explicit WireWatch(Journal& journal) : journal_(journal) {}

  // Memory that peers may WRITE: a ring, and its control line behind it.
  void AddRing(const fabric::RemoteAddress& at, size_t size) {
    rings_[at.rkey] = {at.address, size - wire::kControlBytes};
  }
  void RemoveRing(const fabric::RemoteAddress& at) { rings_.erase(at.rkey); }

  // Queue pairs, by any number.
  void Add(uint64_t queue_pair, const fabric::QueuePair* inner, std::shared_ptr<Receives> receives,
           std::shared_ptr<LinkEnd> end);
  void Remove(uint64_t queue_pair);
  void Offer(uint64_t queue_pair, absl::string_view offer);
  void Accept(uint64_t queue_pair, absl::string_view offer);

  // Will be posted; and was: only then it counts.
  void OnPosted(uint64_t queue_pair, const fabric::SendRequest& request);
  void OnReceived(uint64_t queue_pair);

 private:
  struct Ring {
    uint64_t address = 0;
    uint64_t size = 0;
  };
  struct Wire {
    uint64_t peer = 0;  // 0: not connected yet, or gone
    const fabric::QueuePair* inner = nullptr;
    std::shared_ptr<Receives> receives;
    std::shared_ptr<LinkEnd> end;
    uint64_t tail = 0;       // written by this end
    wire::Control says;      // of itself, in its last control line
    CreditModel credits;     // of this end
    uint64_t under_way = 0;  // messages that will take a receive
  };

  void OnWakeup(Wire& wire, const Wire& peer);
  void OnMessage(Wire& wire, const Ring& ring, uint64_t offset, absl::Span<const std::byte> message, bool renews);
  void OnLine(Wire& wire, absl::Span<const std::byte> line, bool renews);
  void OnCredits(Wire& wire, const CreditModel::Posted& posted);
  bool LookForData(Wire& wire, absl::Span<const std::byte> bytes);

  Journal& journal_;
  absl::btree_map<uint32_t, Ring> rings_;  // by rkey
  absl::btree_map<uint64_t, Wire> wires_;
  absl::btree_map<std::string, uint64_t> offers_;
};

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_WIRE_WATCH_H_
