// Both ends of durable calls in one process, over queues that a test can cut.
#ifndef SKEIN_TESTS_UNIT_DURABLE_CALLS_FIXTURE_H_
#define SKEIN_TESTS_UNIT_DURABLE_CALLS_FIXTURE_H_

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/durable/calls/call_service.h"
#include "core/durable/calls/outbox.h"
#include "core/durable/sim/faulty_storage.h"
#include "core/durable/sim/simulated_medium.h"
#include "gtest/gtest.h"
#include "tests/unit/durable/logged.h"

namespace skein::durable {

// Messages on their way, in order, and the thread that brings them.
class Belt {
 public:
  // `take` gives false when nothing more is to come.
  explicit Belt(std::function<bool(const std::string&)> take) : take_(std::move(take)), thread_([this] { Run(); }) {}
  ~Belt() { Cut(); }
  void Put(std::string message) {
    const std::lock_guard lock(mu_);
    messages_.push_back(std::move(message));
    changed_.notify_one();
  }
  // What has not been brought is lost.
  void Cut() {
    {
      const std::lock_guard lock(mu_);
      cut_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Run() {
    for (;;) {
      std::string message;
      {
        std::unique_lock lock(mu_);
        changed_.wait(lock, [this] { return cut_ || !messages_.empty(); });
        if (cut_) return;
        message = std::move(messages_.front());
        messages_.pop_front();
      }
      if (!take_(message)) return;
    }
  }

  const std::function<bool(const std::string&)> take_;
  std::mutex mu_;
  std::condition_variable changed_;
  std::deque<std::string> messages_;
  bool cut_ = false;
  std::thread thread_;
};

// A connection between them.
class Cable {
 public:
  Cable(Outbox& outbox, CallService& service) : outbox_(outbox) {
    to_client_ = std::make_unique<Belt>([this](const std::string& message) {
      const absl::Status status = outbox_.OnMessage(message);
      if (!status.ok()) client_status_.set_value(status);
      return status.ok();
    });
    session_ = service.Connect([this](std::string message) { to_client_->Put(std::move(message)); }, [] {});
    to_server_ = std::make_unique<Belt>([this](const std::string& message) {
      const absl::Status status = session_->OnMessage(message);
      EXPECT_TRUE(status.ok()) << status;
      return status.ok();
    });
    outbox_.Connected([this](std::string message) { to_server_->Put(std::move(message)); });
  }
  ~Cable() {
    outbox_.Disconnected();
    to_server_->Cut();
    session_->Disconnected();
    to_client_->Cut();
  }
  // Why the client ended it.
  absl::Status WhyEnded() { return client_status_.get_future().get(); }

 private:
  Outbox& outbox_;
  std::promise<absl::Status> client_status_;
  std::unique_ptr<Belt> to_client_;
  std::shared_ptr<CallSession> session_;
  std::unique_ptr<Belt> to_server_;
};

// A call and what its caller hears.
struct TestCall {
  std::atomic<bool> answered = false;  // seq_cst: with what executions have seen
  std::promise<absl::StatusOr<Persistence>> persisted;
  std::promise<absl::StatusOr<std::string>> replied;
  std::future<absl::StatusOr<Persistence>> level = persisted.get_future();
  std::future<absl::StatusOr<std::string>> reply = replied.get_future();
};

inline std::shared_ptr<TestCall> StartCall(Outbox& outbox, absl::string_view request,
                                           std::shared_ptr<TestCall> call = std::make_shared<TestCall>()) {
  const absl::Status status = outbox.Start(
      request, [call](const auto& level) { call->persisted.set_value(level); },
      [call](auto reply) {
        call->answered = true;
        call->replied.set_value(std::move(reply));
      });
  if (!status.ok()) {
    call->persisted.set_value(status);
    call->replied.set_value(status);
  }
  return call;
}

class CallsTest : public testing::Test {
 protected:
  CallsTest() {
    options_.ledger.clients = 2;
    options_.ledger.outcome_room = 32;
  }
  // On the same medium, whatever it has kept. Executes when it is Started.
  void Open(uint64_t ring = 1 << 16) {
    if (medium_ == nullptr) {
      medium_ = std::make_shared<sim::SimulatedMedium>(kRingOffset + ring, sim::Granule::kSector, 1);
    }
    absl::StatusOr<std::unique_ptr<CallService>> service =
        CallService::Open(std::make_unique<sim::FaultyStorage>(medium_, faults_), options_,
                          [this](const DurableCall& call) { return Execute(call); });
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
  }
  // The service is gone, and what it had not persisted.
  void Crash() {
    cable_.reset();
    medium_->LosePower();
    service_.reset();
  }
  void Connect() { cable_ = std::make_unique<Cable>(outbox_, *service_); }
  // A call that is executed when its client has gone: who connects again asks for its reply.
  std::shared_ptr<TestCall> ExecuteForNobody(absl::string_view request) {
    Connect();
    auto call = StartCall(outbox_, request);
    EXPECT_TRUE(call->level.get().ok());
    cable_.reset();
    service_->Start();
    while (service_->load().unfinished != 0) std::this_thread::yield();
    return call;
  }
  void Reconnect() {
    cable_.reset();
    Connect();
  }

  std::string Execute(const DurableCall& call) {
    if (gate_.has_value()) gate_->wait();
    if (before_execution_) before_execution_(call.request);
    const std::lock_guard lock(mu_);
    executed_.emplace_back(call.request);
    if (call.request == "much") return std::string(reply_bytes_, 'x');
    return "did " + std::string(call.request);
  }
  // As long as it is not let go, nothing is executed.
  void HoldBack() { gate_ = let_go_.get_future().share(); }
  void LetGo() { let_go_.set_value(); }
  std::vector<std::string> executed() {
    const std::lock_guard lock(mu_);
    return executed_;
  }

  std::shared_ptr<sim::Faults> faults_ = std::make_shared<sim::Faults>();
  std::shared_ptr<sim::SimulatedMedium> medium_;
  CallServiceOptions options_;
  std::function<void(absl::string_view request)> before_execution_;
  size_t reply_bytes_ = 0;  // of "much"
  std::promise<void> let_go_;
  std::optional<std::shared_future<void>> gate_;
  std::mutex mu_;
  std::vector<std::string> executed_;
  Outbox outbox_{{}};
  std::unique_ptr<CallService> service_;
  std::unique_ptr<Cable> cable_;
};

}  // namespace skein::durable

#endif  // SKEIN_TESTS_UNIT_DURABLE_CALLS_FIXTURE_H_
