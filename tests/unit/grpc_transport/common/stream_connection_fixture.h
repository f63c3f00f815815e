// A stream connection without gRPC's threads, with the peer's end of the stream. What the connection schedules waits
// until the test runs it, and a timer fires when the test says so.
#ifndef SKEIN_TESTS_UNIT_GRPC_TRANSPORT_COMMON_STREAM_CONNECTION_FIXTURE_H_
#define SKEIN_TESTS_UNIT_GRPC_TRANSPORT_COMMON_STREAM_CONNECTION_FIXTURE_H_

#include <grpc/grpc.h>
#include <grpc/slice.h>
#include <grpc/slice_buffer.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/forked.h"
#include "grpc_transport/common/stream_connection.h"
#include "gtest/gtest.h"
#include "tests/unit/grpc_transport/common/contended_stream.h"
#include "tests/unit/stream/two_ends.h"

namespace skein::grpc_transport {

inline constexpr size_t kWindow = size_t{64} << 10;

// Something that gRPC asks for, with its slices: it ends once. Lives until then.
class Operation {
 public:
  explicit Operation(absl::string_view bytes = "", size_t slice_bytes = SIZE_MAX) {
    grpc_slice_buffer_init(&slices_);
    for (; !bytes.empty(); bytes.remove_prefix(std::min(slice_bytes, bytes.size()))) {
      const absl::string_view part = bytes.substr(0, slice_bytes);
      grpc_slice_buffer_add(&slices_, grpc_slice_from_copied_buffer(part.data(), part.size()));
    }
  }
  ~Operation() { grpc_slice_buffer_destroy(&slices_); }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  bool is_done() const { return done_.HasBeenNotified(); }
  const absl::Status& status() const { return status_; }
  grpc_slice_buffer* slices() { return &slices_; }
  void Finish(absl::Status status) {
    status_ = std::move(status);
    done_.Notify();
  }

 private:
  grpc_slice_buffer slices_;
  absl::Status status_;
  absl::Notification done_;
};

// The adapter.
class FakeStreamConnection final : public StreamConnection {
 public:
  using StreamConnection::StreamConnection;
  using StreamConnection::Timer;

  void Read(Operation& read) {
    MutexLock lock(&mu_);
    read_ = &read;
    if (Result result = BeginRead(read.slices()); result.has_value()) FinishRead(*std::move(result));
  }
  void Write(Operation& write) {
    MutexLock lock(&mu_);
    write_ = &write;
    if (Result result = BeginWrite(write.slices()); result.has_value()) FinishWrite(*std::move(result));
  }
  // All that was scheduled, and what that schedules.
  void RunScheduled() {
    for (std::function<void()> act = Next(); act; act = Next()) act();
  }
  // False: it does not run.
  bool Fire(Timer timer, bool over = false) {
    if (!runs_[static_cast<size_t>(timer)].exchange(false)) return false;
    OnTimer(timer, over);
    return true;
  }
  using StreamConnection::OnTcp;

  std::string sent_on_tcp() {
    const std::lock_guard lock(fake_mu_);
    return sent_on_tcp_;
  }
  absl::Notification let_go;
  std::atomic<size_t> reserved = 0;

 private:
  void FinishRead(absl::Status status) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    RunSoon([read = std::exchange(read_, nullptr), status = std::move(status)] { read->Finish(status); });
  }
  void FinishWrite(absl::Status status) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    RunSoon([write = std::exchange(write_, nullptr), status = std::move(status)] { write->Finish(status); });
  }
  void RunSoon(std::function<void()> act) override {
    const std::lock_guard lock(fake_mu_);
    scheduled_.push_back(std::move(act));
  }
  std::function<void()> Next() {
    const std::lock_guard lock(fake_mu_);
    if (scheduled_.empty()) return nullptr;
    std::function<void()> next = std::move(scheduled_.front());
    scheduled_.pop_front();
    return next;
  }
  void StartTimer(Timer timer, absl::Duration /*after*/) override {
    EXPECT_FALSE(runs_[static_cast<size_t>(timer)].exchange(true)) << "one of each kind at a time";
  }
  void StopTimer() override { runs_[static_cast<size_t>(Timer::kSilence)] = false; }
  grpc_slice Received(stream::Buffer buffer) override {
    return grpc_slice_from_copied_buffer(reinterpret_cast<const char*>(buffer.data.get()), buffer.size);
  }
  std::shared_ptr<void> Reserve(size_t bytes) override {
    reserved += bytes;
    return {nullptr, [self = shared_from_this(), this, bytes](void*) { reserved -= bytes; }};
  }
  void SendOnTcp(absl::string_view bytes) override {
    const std::lock_guard lock(fake_mu_);
    sent_on_tcp_.append(bytes.data(), bytes.size());
  }
  void LetGo() override { let_go.Notify(); }

  std::array<std::atomic<bool>, 2> runs_ = {};
  Operation* read_ ABSL_GUARDED_BY(mu_) = nullptr;
  Operation* write_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::mutex fake_mu_;
  std::deque<std::function<void()>> scheduled_;
  std::string sent_on_tcp_;
};

class StreamConnectionTest : public testing::Test {
 protected:
  using Timer = FakeStreamConnection::Timer;

  StreamConnectionTest() {
    grpc_init();
    streams_ = ends_.Connect();
    auto contended = std::make_shared<ContendedStream>(std::move(streams_.client));
    stream_ = contended;
    connection_ = std::make_shared<FakeStreamConnection>(
        StreamConnection::Parts{std::move(contended), &busy_set_, nullptr, nullptr, [this] { on_lost_(); }});
    connection_->Start();
  }
  ~StreamConnectionTest() override {
    ShutDown();
    streams_.server = nullptr;
    for (const absl::Time end = absl::Now() + kPatience; !IsLetGo() && absl::Now() < end;) {
      Pump();
      connection_->Fire(Timer::kSilence);
    }
    EXPECT_TRUE(IsLetGo());
    grpc_shutdown();
  }

  bool IsLetGo() const { return connection_->let_go.HasBeenNotified(); }
  void ShutDown() {
    connection_->Shutdown(absl::CancelledError("enough"));
    connection_->RunScheduled();
  }
  void Read(Operation& read) {
    connection_->Read(read);
    connection_->RunScheduled();
  }
  void Write(Operation& write) {
    connection_->Write(write);
    connection_->RunScheduled();
  }
  // The peer has read nothing for long.
  void PassSilence() {
    EXPECT_TRUE(connection_->Fire(Timer::kSilence));
    connection_->RunScheduled();
  }
  void EndTcp(absl::string_view why = "the peer has ended") {
    connection_->OnTcp(absl::UnavailableError(why));
    connection_->RunScheduled();
  }
  void Pump() {
    ends_.Pump();
    connection_->RunScheduled();
  }
  // The peer reads so many bytes, or until the end. This end's link is polled, too, unless `here` is false.
  absl::Status PeerReads(std::string& bytes, size_t size, bool here = true) {
    return stream::ReadUntil(*streams_.server, kWindow, bytes, size, kPatience,
                             [&] { here ? Pump() : void(ends_.server_waiter.PollAll()); });
  }
  absl::Status PeerReadsToTheEnd(std::string& bytes) { return PeerReads(bytes, SIZE_MAX); }

  // Another thread writes, and stops inside the stream before the stream takes anything.
  std::thread WriteAndStop(Operation& write, Held& held) {
    stream_.lock()->held_before = &held;
    std::thread writer([this, &write] { Write(write); });
    EXPECT_TRUE(held.HasBegun());
    return writer;
  }
  static void GoOn(Held& held, std::thread& other) {
    EXPECT_FALSE(held.gave_up()) << "this thread has waited for the other one";
    held.GoOn();
    other.join();
  }

  stream::TwoEnds ends_{stream::FabricKindUnderTest::kShm, {.link = {.ring_bytes = kWindow}, .window_bytes = kWindow}};
  stream::TwoEnds::Pair streams_;
  std::weak_ptr<ContendedStream> stream_;  // the connection's
  wait::BusySet busy_set_{/*enabled=*/true};
  std::function<void()> on_lost_ = [] {};
  std::shared_ptr<FakeStreamConnection> connection_;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_TESTS_UNIT_GRPC_TRANSPORT_COMMON_STREAM_CONNECTION_FIXTURE_H_
