// gRPC's engine as far as endpoints need it: one thread that runs closures and timers in their order. And the silent
// TCP connection beside a stream, which the test ends.
#ifndef SKEIN_TESTS_UNIT_GRPC_TRANSPORT_EVENT_ENGINE_FAKE_ENGINE_H_
#define SKEIN_TESTS_UNIT_GRPC_TRANSPORT_EVENT_ENGINE_FAKE_ENGINE_H_

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "core/base/deadline.h"
#include "grpc_transport/event_engine/engine_types.h"

namespace skein::grpc_transport {

class FakeEngine : public EventEngine {
 public:
  FakeEngine() : thread_([this] { Work(); }) {}
  ~FakeEngine() override { Stop(); }

  // What has not begun by then never runs.
  void Stop() {
    {
      const std::lock_guard lock(mu_);
      stopped_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    tasks_.clear();
  }
  std::thread::id thread() const { return thread_.get_id(); }
  // Until everything that was given to it before has run, but timers.
  void Flush() {
    absl::Notification flushed;
    Run([&] { flushed.Notify(); });
    flushed.WaitForNotification();
  }

  // Until nothing is left to run, also of what that has given to it, but timers.
  void Settle() {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [&] { return !runs_ && (tasks_.empty() || tasks_.begin()->first.first > Clock::now()); });
  }

  void Run(absl::AnyInvocable<void()> closure) override { RunAfter(Duration(0), std::move(closure)); }
  void Run(Closure* closure) override {
    Run([closure] { closure->Run(); });
  }
  TaskHandle RunAfter(Duration when, absl::AnyInvocable<void()> closure) override {
    const std::lock_guard lock(mu_);
    const Key key{Clock::now() + when, ++last_};
    tasks_.emplace(key, std::move(closure));
    changed_.notify_all();
    return {{static_cast<intptr_t>(key.first.time_since_epoch().count()), key.second}};
  }
  TaskHandle RunAfter(Duration when, Closure* closure) override {
    return RunAfter(when, [closure] { closure->Run(); });
  }
  bool Cancel(TaskHandle handle) override {
    absl::AnyInvocable<void()> closure;  // outlives the lock
    const std::lock_guard lock(mu_);
    const auto found = tasks_.find({Deadline(Clock::duration(handle.keys[0])), handle.keys[1]});
    if (found == tasks_.end()) return false;
    closure = std::move(found->second);
    tasks_.erase(found);
    return true;
  }
  bool IsWorkerThread() override { return std::this_thread::get_id() == thread_.get_id(); }

  absl::StatusOr<std::unique_ptr<Listener>> CreateListener(Listener::AcceptCallback,
                                                           absl::AnyInvocable<void(absl::Status)>,
                                                           const EndpointConfig&,
                                                           std::unique_ptr<MemoryAllocatorFactory>) override {
    return absl::UnimplementedError("a fake");
  }
  ConnectionHandle Connect(OnConnectCallback, const ResolvedAddress&, const EndpointConfig&, MemoryAllocator,
                           Duration) override {
    return ConnectionHandle::kInvalid;
  }
  bool CancelConnect(ConnectionHandle) override { return false; }
  absl::StatusOr<std::unique_ptr<DNSResolver>> GetDNSResolver(const DNSResolver::ResolverOptions&) override {
    return absl::UnimplementedError("a fake");
  }

 private:
  using Key = std::pair<Deadline, intptr_t>;

  void Work() {
    std::unique_lock lock(mu_);
    while (!stopped_) {
      if (tasks_.empty()) {
        changed_.wait(lock);
      } else if (const Deadline due = tasks_.begin()->first.first; due > Clock::now()) {
        changed_.wait_until(lock, due);
      } else {
        absl::AnyInvocable<void()> task = std::move(tasks_.begin()->second);
        tasks_.erase(tasks_.begin());
        runs_ = true;
        lock.unlock();
        task();
        task = nullptr;
        lock.lock();
        runs_ = false;
        changed_.notify_all();
      }
    }
  }

  std::mutex mu_;
  std::condition_variable changed_;
  std::map<Key, absl::AnyInvocable<void()>> tasks_;
  intptr_t last_ = 0;
  bool stopped_ = false;
  bool runs_ = false;
  std::thread thread_;
};

// What a FakeTcp has in common with its test, which outlives it.
class TcpEnd {
 public:
  explicit TcpEnd(std::shared_ptr<EventEngine> engine) : engine_(std::move(engine)) {}

  // What the peer does.
  void End(absl::Status why) { Finish(std::move(why), ""); }
  void Send(const std::string& bytes) { Finish(absl::OkStatus(), bytes); }
  std::string sent() const {
    const std::lock_guard lock(mu_);
    return sent_;
  }
  absl::Notification destroyed;
  std::atomic<bool> gives_at_once{false};  // what has arrived already, to who reads then

 private:
  friend class FakeTcp;
  void Finish(absl::Status status, const std::string& bytes) {
    const std::lock_guard lock(mu_);
    arrived_ += bytes;
    ended_.Update(status);
    Deliver();
  }
  // To the read under way, if there is something.
  void Deliver() {
    if (on_read_ == nullptr || (arrived_.empty() && ended_.ok())) return;
    const absl::Status status = arrived_.empty() ? ended_ : absl::OkStatus();
    if (status.ok()) {
      buffer_->Append(grpc_event_engine::experimental::Slice::FromCopiedString(std::exchange(arrived_, "")));
    }
    engine_->Run([on_read = std::exchange(on_read_, nullptr), status]() mutable { on_read(status); });
  }

  const std::shared_ptr<EventEngine> engine_;
  mutable std::mutex mu_;
  absl::AnyInvocable<void(absl::Status)> on_read_;
  SliceBuffer* buffer_ = nullptr;
  std::string arrived_;  // and not read yet
  absl::Status ended_;
  std::string sent_;
};

class FakeTcp final : public EventEngine::Endpoint {
 public:
  explicit FakeTcp(std::shared_ptr<TcpEnd> end, const EventEngine::ResolvedAddress& address = {})
      : end_(std::move(end)), address_(address) {}
  ~FakeTcp() override {
    end_->End(absl::CancelledError("destroyed"));
    end_->destroyed.Notify();
  }
  bool Read(absl::AnyInvocable<void(absl::Status)> on_read, SliceBuffer* buffer, ReadArgs) override {
    const std::lock_guard lock(end_->mu_);
    buffer->Clear();
    if (end_->gives_at_once && !end_->arrived_.empty()) {
      buffer->Append(grpc_event_engine::experimental::Slice::FromCopiedString(std::exchange(end_->arrived_, "")));
      return true;
    }
    end_->on_read_ = std::move(on_read);
    end_->buffer_ = buffer;
    end_->Deliver();
    return false;
  }
  bool Write(absl::AnyInvocable<void(absl::Status)>, SliceBuffer* data, WriteArgs) override {
    std::string bytes(data->Length(), '\0');
    data->MoveFirstNBytesIntoBuffer(bytes.size(), bytes.data());
    const std::lock_guard lock(end_->mu_);
    end_->sent_ += bytes;
    return true;
  }
  const EventEngine::ResolvedAddress& GetPeerAddress() const override { return address_; }
  const EventEngine::ResolvedAddress& GetLocalAddress() const override { return address_; }
  std::shared_ptr<TelemetryInfo> GetTelemetryInfo() const override { return nullptr; }

 private:
  const std::shared_ptr<TcpEnd> end_;
  const EventEngine::ResolvedAddress address_;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_TESTS_UNIT_GRPC_TRANSPORT_EVENT_ENGINE_FAKE_ENGINE_H_
