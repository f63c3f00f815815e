// Groups whose members' paths are polled by a thread each, over TCP and over shared memory.
#include <condition_variable>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/channel/shm/shm_transport.h"
#include "core/connect/fabrics.h"
#include "core/replicate/group.h"
#include "core/replicate/stream_path.h"
#include "core/replicate/tcp_path.h"
#include "core/stream/connector.h"
#include "core/wait/background_poller.h"
#include "gtest/gtest.h"
#include "tests/support/loopback_pair.h"
#include "tests/support/member_log.h"

namespace skein::replicate {
namespace {

constexpr uint32_t kMembers = 6;

class PollingThread final : public wait::Watcher {
 public:
  void Watch(std::shared_ptr<wait::Source> source) override { poller_.Add(std::move(source)); }

 private:
  wait::BackgroundPoller poller_;
};

// Of the sender: lets a thread wait until all have a write, or until the group has failed.
class Waiting final : public GroupObserver {
 public:
  absl::StatusOr<Bytes> OnIncoming(uint64_t, uint64_t) override { return absl::InternalError("to the sender"); }
  void OnReceived(uint64_t) override {}
  void OnReleased(uint64_t) override {}
  void OnHave(uint64_t write, uint32_t receivers) override {
    if (receivers == kMembers - 1) Set(write, absl::OkStatus());
  }
  void OnFailed(const absl::Status& why) override { Set(0, why); }

  absl::Status Await(uint64_t write) {
    MutexLock lock(&mu_);
    Lockable lockable{mu_};
    changed_.wait(lockable, [&] { return written_ >= write || !failure_.ok(); });
    return failure_;
  }

 private:
  void Set(uint64_t write, const absl::Status& failure) {
    MutexLock lock(&mu_);
    if (write > 0) written_ = write;
    failure_.Update(failure);
    changed_.notify_all();
  }

  Mutex mu_;
  std::condition_variable_any changed_;
  uint64_t written_ = 0;
  absl::Status failure_;
};

// Keeps the last write for whoever waits for the sender.
class Receiver final : public GroupObserver {
 public:
  absl::StatusOr<Bytes> OnIncoming(uint64_t, uint64_t bytes) override {
    text_.assign(bytes, '\0');
    return Bytes(reinterpret_cast<std::byte*>(text_.data()), text_.size());
  }
  void OnReceived(uint64_t write) override {
    {
      MutexLock lock(&mu_);
      last_ = text_;
    }
    group->Acknowledge(write);
  }
  void OnReleased(uint64_t) override {}
  void OnHave(uint64_t, uint32_t) override {}
  void OnFailed(const absl::Status&) override {}

  std::string Last() {
    MutexLock lock(&mu_);
    return last_;
  }

  Group* group = nullptr;  // before the sender writes

 private:
  std::string text_;
  Mutex mu_;
  std::string last_;
};

struct Ends {
  std::unique_ptr<Path> here;
  std::unique_ptr<Path> there;
};

class ThreadsTest : public ::testing::Test {
 public:
  Ends OverTcp(uint32_t here, uint32_t there) {
    auto [a, b] = LoopbackPair();
    return {CreateTcpPath(std::move(a), threads_[here]).value(), CreateTcpPath(std::move(b), threads_[there]).value()};
  }
  Ends OverShm(uint32_t here, uint32_t there) {
    connectors_.push_back(stream::CreateConnector(NewShm(), {}, &threads_[here]));
    listeners_.push_back(stream::CreateListener(NewShm(), {}, &threads_[there]));
    auto attempt = connectors_.back()->Begin({}).value();
    stream::Listener::Result result = listeners_.back()->Accept(attempt->offer(), {});
    stream::Outcome outcome = attempt->Complete(result.answer);
    return {std::make_unique<StreamPath>(outcome.stream), std::make_unique<StreamPath>(result.outcome.stream)};
  }
  static std::shared_ptr<connect::Fabrics> NewShm() { return std::make_shared<connect::OneFabric>(channel::OpenShm()); }

 protected:
  ~ThreadsTest() override {
    for (auto& group : groups_) group.reset();
  }
  absl::Status Await(uint64_t write) { return waiting_->Await(write); }
  void Leave(uint32_t member) { groups_[member].reset(); }

  void Make(Ends (ThreadsTest::*connect)(uint32_t, uint32_t)) {
    GroupOptions options{.id = 3, .members = kMembers, .block_bytes = 20'000};
    std::vector<std::vector<MemberPath>> paths(kMembers);
    for (uint32_t member = 0; member < kMembers; ++member) {
      for (const uint32_t peer : BinomialPipeline().PeersOf(kMembers, member)) {
        if (peer < member) continue;
        Ends ends = (this->*connect)(member, peer);
        paths[member].push_back({peer, std::move(ends.here)});
        paths[peer].push_back({member, std::move(ends.there)});
      }
    }
    for (options.self = kMembers - 1; options.self > 0; --options.self) {
      const auto receiver = std::make_shared<Receiver>();
      receivers_[options.self] = receiver;
      receiver->group = MakeMember(options, paths, receiver);
    }
    MakeMember(options, paths, waiting_);
  }

  void WriteMany() {
    for (uint32_t write = 1; write <= 30; ++write) {
      text_ = TextToWrite(300'000 + write, write);
      ASSERT_EQ(groups_[0]->Write(BytesOf(text_)).value(), write);
      ASSERT_EQ(Await(write), absl::OkStatus());
      for (uint32_t member = 1; member < kMembers; ++member) ASSERT_TRUE(receivers_[member]->Last() == text_) << member;
    }
  }

 private:
  Group* MakeMember(const GroupOptions& options, std::vector<std::vector<MemberPath>>& paths,
                    std::shared_ptr<GroupObserver> observer) {
    groups_[options.self] = CreateGroup(options, std::move(paths[options.self]), std::move(observer)).value();
    return groups_[options.self].get();
  }

  // The threads end before what they tell of, and after what they were given to.
  const std::shared_ptr<Waiting> waiting_ = std::make_shared<Waiting>();
  std::shared_ptr<Receiver> receivers_[kMembers];
  std::string text_;
  PollingThread threads_[kMembers];
  std::vector<std::unique_ptr<stream::Connector>> connectors_;
  std::vector<std::unique_ptr<stream::Listener>> listeners_;
  std::shared_ptr<Group> groups_[kMembers];
};

TEST_F(ThreadsTest, EachMembersThreadMovesItOverTcp) {
  Make(&ThreadsTest::OverTcp);
  WriteMany();
}

TEST_F(ThreadsTest, EachMembersThreadMovesItOverSharedMemory) {
  Make(&ThreadsTest::OverShm);
  WriteMany();
}

TEST_F(ThreadsTest, AMemberThatLeavesIsNoticedByASenderThatWaits) {
  Make(&ThreadsTest::OverTcp);
  WriteMany();
  Leave(3);
  const absl::Status status = Await(1000);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

}  // namespace
}  // namespace skein::replicate
