// A server of durable calls, over all of its lives: what it has executed, what its log says, and what of that may be
// said twice.
#ifndef SKEIN_TESTS_CHAOS_DURABLE_SERVER_H_
#define SKEIN_TESTS_CHAOS_DURABLE_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "core/durable/calls/call_service.h"
#include "core/durable/sim/simulated_medium.h"
#include "tests/sim/durable_client.h"
#include "tests/sim/framed_stream.h"

namespace skein::chaos {

class DurableServer {
 public:
  DurableServer(World& world, DurableRecords& records);
  ~DurableServer() { Die(); }

  void Open();
  // Power is lost, or only the process; perhaps in the middle of what it does last.
  void Die();
  void Connect(uint64_t connection, std::shared_ptr<stream::Stream> stream, EndsMissing missing);
  bool connected(uint64_t connection) const { return sessions_.contains(connection); }
  void Disconnect(uint64_t connection, bool drain);
  void Work();
  // Calls that it has taken and not finished.
  uint64_t unfinished() const { return service_->load().unfinished; }
  // Replies are kept until so many newer ones came, or so many bytes of them, or the log has gone on so far, or time.
  bool MayBeLetGo(const DurableRecord& record) const;
  // What it was told to be safe of each call, once.
  void CheckAtEnd() const;

 private:
  struct Session {
    std::shared_ptr<FramedStream> stream;
    std::shared_ptr<durable::CallSession> session;
    bool ended = false;  // by the service
  };

  std::string Execute(const durable::DurableCall& call);
  void NoteExecution(DurableRecord& record, size_t request);
  void OnOutcome(const durable::DurableOutcome& outcome);
  bool Pump(Session& session);
  void Checkpoint();
  uint64_t log_tail() const { return load_.log_head + load_.log_used; }

  World& world_;
  DurableRecords& records_;
  const uint64_t laziness_;  // of who persists and executes
  durable::CallServiceOptions options_;
  const std::shared_ptr<durable::sim::SimulatedMedium> medium_;
  uint64_t life_ = 0;
  uint64_t executions_ = 0;
  uint64_t execution_bytes_ = 0;
  durable::Ledger::Load load_;  // as it was last seen
  std::unique_ptr<durable::CallService> service_;
  absl::btree_map<uint64_t, std::unique_ptr<Session>> sessions_;
  absl::btree_map<durable::ClientId, uint64_t> last_;  // sequence begun in this life
  // A state made of outcomes: which calls have been counted, up to where in the log; and what of that is safe
  // elsewhere.
  absl::btree_set<uint64_t> counted_;
  uint64_t counted_to_ = 0;
  absl::btree_set<uint64_t> safe_;
  uint64_t safe_to_ = 0;
};

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_DURABLE_SERVER_H_
