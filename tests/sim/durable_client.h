// A client of durable calls, as long as its process lives, and what it may rely on.
#ifndef SKEIN_TESTS_CHAOS_DURABLE_CLIENT_H_
#define SKEIN_TESTS_CHAOS_DURABLE_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "core/durable/calls/outbox.h"
#include "tests/sim/framed_stream.h"
#include "tests/sim/world.h"

namespace skein::chaos {

// One call, as its client and the server see it. Outlives both.
struct DurableRecord {
  uint64_t client = 0;  // which life of which client
  int executed = 0;
  uint64_t life = 0;  // of the server, in which it was executed last
  // When that was.
  uint64_t execution = 0;        // of all
  uint64_t execution_bytes = 0;  // that all their outcomes had taken
  uint64_t log_tail = 0;
  absl::Duration wall_jumps;
  bool persisted = false;  // the client was told that it is safe
  bool replied = false;    // the client was told its end
  bool answered = false;   // and it was the reply
};
using DurableRecords = absl::btree_map<uint64_t, DurableRecord>;

class DurableClient {
 public:
  // Whether the server may keep the reply of a call no more that it has executed.
  using MayBeLetGo = std::function<bool(const DurableRecord& record)>;
  // `records` outlive it, and get a number for each of its calls.
  DurableClient(World& world, uint64_t number, DurableRecords& records, MayBeLetGo may_be_let_go)
      : world_(world), number_(number), records_(records), may_be_let_go_(std::move(may_be_let_go)), outbox_({}) {}

  void Start();
  void Connect(std::shared_ptr<stream::Stream> stream, EndsMissing missing);
  // Its turn: false if it has no connection, or has just lost it.
  bool Pump();
  void Disconnect();
  bool connected() const { return connection_ != nullptr; }
  // The other channel has ended: what had arrived is taken first.
  void DrainAndDisconnect();
  uint64_t unanswered() const { return outbox_.standing().unanswered; }
  static std::string ReplyTo(absl::string_view request) { return "did " + std::string(request); }

 private:
  void OnReplied(uint64_t call, const absl::StatusOr<std::string>& reply);

  World& world_;
  const uint64_t number_;
  DurableRecords& records_;
  const MayBeLetGo may_be_let_go_;
  durable::Outbox outbox_;
  std::shared_ptr<FramedStream> connection_;
};

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_DURABLE_CLIENT_H_
