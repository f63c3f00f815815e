// A primary and its replicas, each on a host that can be cut off, on one thread: nothing moves but when the primary
// waits, or is told to.
#ifndef SKEIN_TESTS_UNIT_DURABLE_REPLICA_HOSTS_H_
#define SKEIN_TESTS_UNIT_DURABLE_REPLICA_HOSTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/durable/replicas/follower.h"
#include "core/durable/replicas/primary.h"
#include "core/durable/replicas/promotion.h"
#include "core/durable/replicas/replica_log.h"
#include "core/durable/replicas/replica_session.h"
#include "core/durable/replicas/replicated_storage.h"
#include "tests/support/memory_path.h"
#include "tests/unit/durable/simulated_host.h"

namespace skein::durable {

class ReplicaHosts {
 public:
  ReplicaHosts(size_t hosts, uint32_t acknowledge, uint64_t log_bytes, uint64_t seed)
      : acknowledge_(acknowledge), log_bytes_(log_bytes) {
    for (size_t i = 0; i < hosts; ++i) nodes_.push_back(std::make_unique<Node>(seed * 101 + i));
  }
  ~ReplicaHosts() {
    for (size_t i = 0; i < nodes_.size(); ++i) StopReplica(i);
  }

  SimulatedHost& host(size_t i) { return nodes_[i]->host; }
  ReplicaLog* replica(size_t i) { return nodes_[i]->log.get(); }
  uint32_t acknowledge() const { return acknowledge_; }

  absl::Status StartReplica(size_t i) {
    StopReplica(i);
    absl::StatusOr<std::unique_ptr<ReplicaLog>> log = ReplicaLog::Open(host(i).place());
    if (log.ok()) nodes_[i]->log = *std::move(log);
    return log.status();
  }
  // As its process: its connection ends.
  void StopReplica(size_t i) {
    nodes_[i]->group.reset();
    nodes_[i]->session.reset();
    nodes_[i]->log.reset();
  }

  // The log of host `i`, followed by those of all other hosts. Lives as long as what the caller makes of it, a
  // RedoLog's or a Ledger's storage.
  absl::StatusOr<std::unique_ptr<ReplicatedStorage>> StartPrimary(size_t i, std::function<bool()> idle) {
    std::unique_ptr<Storage> own = host(i).OpenOrMake(log_bytes_);
    JournalOptions options{.replicas = {}, .acknowledge = acknowledge_, .kept_bytes = kept_bytes};
    followed_by_.clear();
    for (size_t other = 0; other < nodes_.size(); ++other) {
      if (other == i) continue;
      followed_by_.push_back(other);
      options.replicas.push_back(absl::StrCat("host ", other));
    }
    options.move = [this, idle = std::move(idle)] { return Move() || idle(); };
    absl::StatusOr<ReplicaRequest> request = PrepareLog(*own, static_cast<uint32_t>(nodes_.size()), acknowledge_);
    if (!request.ok()) return request.status();
    request_ = *std::move(request);
    auto storage = std::make_unique<ReplicatedStorage>(std::move(own), options);
    primary_ = storage.get();
    for (size_t follower = 0; follower < followed_by_.size(); ++follower) Connect(follower);
    return storage;
  }
  ReplicatedStorage* primary() { return primary_; }
  // Its process: before its storage goes.
  void StopPrimary() { primary_ = nullptr; }

  // Host `i` meets the primary, if both are there.
  void ConnectHost(size_t i) {
    for (size_t follower = 0; primary_ != nullptr && follower < followed_by_.size(); ++follower) {
      if (followed_by_[follower] == i) Connect(follower);
    }
  }
  // Its connection is lost.
  void Disconnect(size_t i) {
    if (nodes_[i]->group != nullptr) nodes_[i]->group->Fail(absl::UnavailableError("the cable is out"));
    while (Move()) {
    }
  }

  // What is on its way arrives, and is applied. False: nothing was.
  bool Move() {
    bool moved = network_.Run();
    for (const auto& node : nodes_) {
      if (node->group != nullptr && !node->host.crashed()) moved |= node->session->Work(*node->group);
    }
    return moved;
  }

  // As `skein durable promote` at host `i`, whose replica must not run.
  absl::StatusOr<Promotion> PromoteHost(size_t i, const std::vector<size_t>& others, bool accept_loss = false) {
    std::unique_ptr<Storage> storage = host(i).OpenOrMake(log_bytes_);
    std::vector<OtherReplica> asked;
    for (const size_t other : others) {
      asked.push_back(
          {absl::StrCat("host ", other), [this, other](const ReplicaRequest& request) -> absl::StatusOr<ReplicaAnswer> {
             if (replica(other) == nullptr) return absl::UnavailableError("is not there");
             return replica(other)->Answer(request);
           }});
    }
    return Promote(*storage, asked, accept_loss);
  }

  uint64_t kept_bytes = uint64_t{16} << 20;

 private:
  struct Node {
    explicit Node(uint64_t seed) : host(seed) {}
    SimulatedHost host;
    std::unique_ptr<ReplicaLog> log;
    std::shared_ptr<ReplicaSession> session;
    std::shared_ptr<replicate::Group> group;
  };

  void Connect(size_t follower) {
    Node& node = *nodes_[followed_by_[follower]];
    if (node.log == nullptr || node.host.crashed()) return;
    request_.group = ++groups_;
    const ReplicaAnswer answer = node.log->Answer(request_);
    Journal& journal = primary_->journal();
    if (IsSuperseded(answer, request_)) journal.End(answer.status);
    if (const absl::Status why = WhyNot(answer, request_, primary_->persistence()); !why.ok()) {
      return journal.Lack(follower, why);
    }
    auto [here, there] = replicate::MemoryPath::MakePair(network_, 5000);
    replicate::GroupOptions options{
        .id = request_.group, .members = 2, .schedule = replicate::ScheduleKind::kSequential};
    options.block_bytes = 4096;
    const std::shared_ptr<Follower> primarys = primary_->followers()[follower];
    std::vector<replicate::MemberPath> path;
    path.push_back({1, std::move(here)});
    auto connection = primarys->Observe([](const absl::Status&) {});
    std::shared_ptr<replicate::Group> group = replicate::CreateGroup(options, std::move(path), connection).value();
    options.self = 1;
    node.session = std::make_shared<ReplicaSession>(*node.log);
    path.clear();
    path.push_back({0, std::move(there)});
    node.group = replicate::CreateGroup(options, std::move(path), node.session).value();
    primarys->Begin(std::move(connection), std::move(group), answer.has);
  }

  const uint32_t acknowledge_;
  const uint64_t log_bytes_;
  replicate::MemoryNetwork network_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<size_t> followed_by_;  // hosts, in the order of followers
  ReplicaRequest request_;
  ReplicatedStorage* primary_ = nullptr;
  uint64_t groups_ = 0;
};

}  // namespace skein::durable

#endif  // SKEIN_TESTS_UNIT_DURABLE_REPLICA_HOSTS_H_
