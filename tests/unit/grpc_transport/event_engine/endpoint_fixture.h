// An endpoint of gRPC's over a stream, with the peer's end of the stream, and a TCP connection that the test ends.
#ifndef SKEIN_TESTS_UNIT_GRPC_TRANSPORT_EVENT_ENGINE_ENDPOINT_FIXTURE_H_
#define SKEIN_TESTS_UNIT_GRPC_TRANSPORT_EVENT_ENGINE_ENDPOINT_FIXTURE_H_

#include <grpc/grpc.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpc_transport/event_engine/endpoint.h"
#include "gtest/gtest.h"
#include "tests/unit/grpc_transport/common/contended_stream.h"
#include "tests/unit/grpc_transport/event_engine/fake_engine.h"
#include "tests/unit/stream/two_ends.h"

namespace skein::grpc_transport {

inline constexpr size_t kWindow = size_t{64} << 10;
inline constexpr size_t kKept = size_t{16} << 20;
inline constexpr absl::Duration kLongSilence = absl::Milliseconds(300);  // thrice as long as a write waits for the peer

// gRPC's quota: knows how much is counted.
class CountingAllocator final : public grpc_event_engine::experimental::internal::MemoryAllocatorImpl {
 public:
  size_t Reserve(MemoryRequest request) override {
    reserved += request.max();
    return request.max();
  }
  grpc_slice MakeSlice(MemoryRequest request) override { return grpc_slice_malloc(request.max()); }
  void Release(size_t bytes) override { reserved -= bytes; }
  void Shutdown() override {}
  std::atomic<size_t> reserved = 0;
};

// Something that the endpoint's owner asks for, with its slices: it ends once. Lives until then.
class Operation {
 public:
  Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  bool IsDone(absl::Duration within) const { return done_.WaitForNotificationWithTimeout(within); }
  bool at_once() const { return at_once_; }
  const absl::Status& status() const { return status_; }
  std::string bytes() {
    std::string bytes(slices_.Length(), '\0');
    slices_.MoveFirstNBytesIntoBuffer(bytes.size(), bytes.data());
    return bytes;
  }

 protected:
  absl::AnyInvocable<void(absl::Status)> Callback() {
    return [this](absl::Status status) {
      status_ = std::move(status);
      inline_ = in_call_ == std::this_thread::get_id();
      done_.Notify();
    };
  }
  // `ask`: a call of the endpoint's.
  void Begin(const std::function<bool()>& ask) {
    in_call_ = std::this_thread::get_id();
    at_once_ = ask();
    in_call_ = std::thread::id();
    EXPECT_FALSE(inline_) << "gRPC may hold a lock";
    if (at_once_) done_.Notify();
  }

  SliceBuffer slices_;

 private:
  std::atomic<std::thread::id> in_call_;
  bool at_once_ = false;
  bool inline_ = false;
  absl::Status status_;
  absl::Notification done_;
};

class Writing : public Operation {
 public:
  explicit Writing(absl::string_view bytes, size_t slice_bytes = SIZE_MAX) {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(slice_bytes, bytes.size()))) {
      const absl::string_view part = bytes.substr(0, slice_bytes);
      grpc_slice_buffer_add(slices_.c_slice_buffer(), grpc_slice_from_copied_buffer(part.data(), part.size()));
    }
  }
  Writing(EventEngine::Endpoint& endpoint, absl::string_view bytes) : Writing(bytes) { Begin(endpoint); }
  void Begin(EventEngine::Endpoint& endpoint) {
    Operation::Begin([&] { return endpoint.Write(Callback(), &slices_, {}); });
  }
};

class Reading : public Operation {
 public:
  explicit Reading(EventEngine::Endpoint& endpoint) {
    Begin([&] { return endpoint.Read(Callback(), &slices_, {}); });
  }
};

class EndpointTest : public testing::Test {
 protected:
  EndpointTest() {
    grpc_init();
    streams_ = ends_.Connect();
    auto contended = std::make_shared<ContendedStream>(std::move(streams_.client));
    stream_ = contended;
    auto tcp = std::make_unique<FakeTcp>(tcp_);
    auto reader = std::make_shared<TcpReader>(tcp.get(), engine_);
    endpoint_ = NewSkeinEndpoint({.engine = engine_,
                                  .stream = std::move(contended),
                                  .tcp = std::move(tcp),
                                  .reader = std::move(reader),
                                  .user = std::make_unique<LinkPoller::User>(&poller_),
                                  .path = nullptr,
                                  .allocator = MemoryAllocator(allocator_),
                                  .on_lost = [this] { on_lost_(); },
                                  .traced = TracedConnection::New(Path::Role::kClient, "", trace::Path::kShm, 0)});
  }
  ~EndpointTest() override {
    Destroy();
    streams_.server = nullptr;
    EXPECT_TRUE(LetsGoOfTcp());
    engine_->Stop();
    grpc_shutdown();
  }

  void Destroy() { endpoint_ = nullptr; }
  // The peer's words may wait for space, which this end's timer makes at any time: so both ends are polled until then.
  bool LetsGoOfTcp() {
    for (const absl::Time end = absl::Now() + kPatience; !tcp_->destroyed.HasBeenNotified() && absl::Now() < end;) {
      Pump();
    }
    return tcp_->destroyed.HasBeenNotified();
  }
  void Pump() {
    ends_.Pump();
    engine_->Flush();
  }
  // So many, or until the end. This end's link is polled too unless `here` is false.
  absl::Status Read(std::string& bytes, size_t size, bool here = true) {
    return stream::ReadUntil(*streams_.server, kWindow, bytes, size, kPatience,
                             [&] { here ? Pump() : void(ends_.server_waiter.PollAll()); });
  }
  absl::Status ReadToTheEnd(std::string& bytes) { return Read(bytes, SIZE_MAX); }

  // Another thread writes, and stops inside the stream before the stream takes anything.
  std::thread WriteAndStop(Writing& write, Held& held) {
    stream_.lock()->held_before = &held;
    std::thread writer([this, &write] { write.Begin(*endpoint_); });
    EXPECT_TRUE(held.HasBegun());
    return writer;
  }
  static void GoOn(Held& held, std::thread& writer) {
    EXPECT_FALSE(held.gave_up()) << "this thread has waited for the writer";
    held.GoOn();
    writer.join();
  }

  stream::TwoEnds ends_{stream::FabricKindUnderTest::kShm, {.link = {.ring_bytes = kWindow}, .window_bytes = kWindow}};
  stream::TwoEnds::Pair streams_;
  std::weak_ptr<ContendedStream> stream_;  // the endpoint's
  const std::shared_ptr<FakeEngine> engine_ = std::make_shared<FakeEngine>();
  const std::shared_ptr<TcpEnd> tcp_ = std::make_shared<TcpEnd>(engine_);
  const std::shared_ptr<CountingAllocator> allocator_ = std::make_shared<CountingAllocator>();
  absl::Notification lost_;
  std::function<void()> on_lost_ = [this] { lost_.Notify(); };
  LinkPoller& poller_ = *new LinkPoller({});  // never destroyed
  std::unique_ptr<EventEngine::Endpoint> endpoint_;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_TESTS_UNIT_GRPC_TRANSPORT_EVENT_ENGINE_ENDPOINT_FIXTURE_H_
