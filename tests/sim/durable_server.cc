#include "tests/sim/durable_server.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "core/durable/log/layout.h"

namespace skein::chaos {
namespace {

using durable::sim::Granule;
using durable::sim::SimulatedMedium;

uint64_t NumberOf(absl::string_view request) {
  uint64_t number = 0;
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(request, absl::MaxSplits(' ', 1));
  return absl::SimpleAtoi(parts.first, &number) ? number : 0;
}

}  // namespace

DurableServer::DurableServer(World& world, DurableRecords& records)
    : world_(world),
      records_(records),
      laziness_(world.dice().OneIn(2) ? 1 : world.dice().Between(2, 40)),
      medium_(std::make_shared<SimulatedMedium>(durable::kRingOffset + (uint64_t{1} << world.dice().Between(15, 17)),
                                                world.dice().OneIn(2) ? Granule::kWord : Granule::kSector,
                                                world.dice().Next())) {
  options_.threads = 0;
  options_.ledger.clients = 64;
  options_.ledger.outcome_room = 128;
  options_.ledger.kept_outcomes = world_.dice().Between(1, 100);
  options_.ledger.slow_requests = world_.dice().Between(4, 200);
  options_.ledger.client_window = 512;
  options_.ledger.hold_outcomes = world_.dice().OneIn(2);
  options_.ledger.now = [this] { return world_.wall_clock(); };
  options_.on_outcome = [this](const durable::DurableOutcome& outcome) { OnOutcome(outcome); };
  Open();
}

void DurableServer::Open() {
  ++life_;
  last_.clear();
  auto service = durable::CallService::Open(medium_->Open(), options_,
                                            [this](const durable::DurableCall& call) { return Execute(call); });
  if (!service.ok()) return world_.journal().Violate("a log is not opened again: ", service.status().ToString());
  service_ = *std::move(service);
  if (options_.ledger.hold_outcomes) {
    counted_ = safe_;
    counted_to_ = safe_to_;
    const absl::Status told =
        service_->ForEachOutcome(safe_to_, [this](const durable::DurableOutcome& outcome) { OnOutcome(outcome); });
    world_.journal().Check(told.ok(), "outcomes: ", told.ToString());
  }
  service_->Start();
}

void DurableServer::Die() {
  if (service_ == nullptr) return;
  for (const auto& [connection, session] : sessions_) session->session->Disconnected();
  sessions_.clear();
  if (world_.dice().OneIn(2)) {
    medium_->CrashAt(world_.dice().Below(8), world_.dice().OneIn(2));
    for (int i = 0; i < 4; ++i) service_->Work();
  }
  world_.dice().OneIn(4) ? medium_->LoseProcess() : medium_->LosePower();
  service_.reset();
}

std::string DurableServer::Execute(const durable::DurableCall& call) {
  Journal& journal = world_.journal();
  const uint64_t number = NumberOf(call.request);
  const auto found = records_.find(number);
  if (found == records_.end()) {
    journal.Violate("a durable call that nobody has made");
    return "";
  }
  DurableRecord& record = found->second;
  journal.Check(record.executed == 0 || record.life < life_, "durable call ", number, " is executed twice in one life");
  journal.Check(!record.answered, "durable call ", number, " is executed after its reply");
  uint64_t& last = last_[call.client];
  journal.Check(call.sequence > last, "durable call ", number, " is executed after later ones of its client");
  last = call.sequence;
  ++record.executed;
  record.life = life_;
  NoteExecution(record, call.request.size());
  journal.See(number);
  return DurableClient::ReplyTo(call.request);
}

void DurableServer::NoteExecution(DurableRecord& record, size_t request) {
  load_ = service_->load();
  record.execution = ++executions_;
  record.execution_bytes = execution_bytes_;
  record.log_tail = log_tail();
  record.wall_jumps = world_.wall_jumps();
  execution_bytes_ += durable::EntryBytes(DurableClient::ReplyTo(std::string(request, ' ')).size() + 1);
}

bool DurableServer::MayBeLetGo(const DurableRecord& record) const {
  const durable::LedgerOptions& ledger = options_.ledger;
  const uint64_t capacity = load_.log_capacity;
  return executions_ - record.execution >= ledger.kept_outcomes ||
         execution_bytes_ - record.execution_bytes > capacity / 100 * ledger.kept_percent ||
         log_tail() > record.log_tail + capacity / 2 || world_.wall_jumps() - record.wall_jumps >= ledger.kept_for;
}

void DurableServer::OnOutcome(const durable::DurableOutcome& outcome) {
  constexpr size_t kDid = 4;  // "did "
  if (!options_.ledger.hold_outcomes || outcome.reply.size() < kDid) return;
  const uint64_t number = NumberOf(outcome.reply.substr(kDid));
  world_.journal().Check(counted_.insert(number).second, "durable call ", number, " counts twice");
  world_.journal().Check(outcome.position > counted_to_, "an outcome out of its order");
  counted_to_ = outcome.position;
}

void DurableServer::Connect(uint64_t connection, std::shared_ptr<stream::Stream> stream, EndsMissing missing) {
  auto session = std::make_unique<Session>();
  session->stream = std::make_shared<FramedStream>(std::move(stream), std::move(missing), world_.journal());
  session->session = service_->Connect([frames = session->stream](const std::string& message) { frames->Put(message); },
                                       [ended = &session->ended] { *ended = true; });
  sessions_[connection] = std::move(session);
}

bool DurableServer::Pump(Session& session) {
  const bool on = session.stream->Pump([&](const std::string& message) {
    const absl::Status status = session.session->OnMessage(message);
    world_.journal().Check(status.ok(), "a durable session: ", status.ToString());
    return status.ok();
  });
  return on && !session.ended;
}

void DurableServer::Disconnect(uint64_t connection, bool drain) {
  const auto found = sessions_.find(connection);
  if (found == sessions_.end()) return;
  if (drain && found->second->stream->Drain()) Pump(*found->second);
  found->second->session->Disconnected();
  sessions_.erase(found);
}

void DurableServer::Work() {
  std::vector<uint64_t> ended;
  for (const auto& [connection, session] : sessions_) {
    if (!Pump(*session)) ended.push_back(connection);
  }
  for (const uint64_t connection : ended) Disconnect(connection, /*drain=*/false);
  if (world_.dice().OneIn(laziness_)) {
    for (uint64_t i = world_.dice().Below(4 * laziness_); i > 0; --i) service_->Work();
  }
  load_ = service_->load();
  world_.journal().Check(service_->health().ok(), "the log has failed: ", service_->health().ToString());
  if (options_.ledger.hold_outcomes && world_.dice().OneIn(20)) Checkpoint();
}

void DurableServer::Checkpoint() {
  safe_ = counted_;
  safe_to_ = counted_to_;
  service_->Checkpoint(safe_to_);
}

void DurableServer::CheckAtEnd() const {
  for (const auto& [number, record] : records_) {
    world_.journal().Check(!record.persisted || record.executed > 0, "durable call ", number, " was safe, and is lost");
    const bool counts = !options_.ledger.hold_outcomes || counted_.contains(number);
    world_.journal().Check(!record.answered || counts, "durable call ", number, " was answered, and does not count");
  }
}

}  // namespace skein::chaos
