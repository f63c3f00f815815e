// An endpoint of gRPC's over a stream, with the peer's end of the stream, and a TCP connection that the test ends.
#ifndef SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_ENDPOINT_FIXTURE_H_
#define SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_ENDPOINT_FIXTURE_H_

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
#include "absl/time/time.h"
#include "grpc_transport/iomgr/skein_endpoint.h"
#include "gtest/gtest.h"
#include "tests/unit/grpc_transport/common/contended_stream.h"
#include "tests/unit/stream/two_ends.h"

namespace skein::grpc_transport {
inline constexpr size_t kWindow = size_t{64} << 10;
inline constexpr size_t kKept = size_t{16} << 20;
inline constexpr size_t kQuota = size_t{8} << 20;
inline constexpr absl::Duration kLongSilence = absl::Milliseconds(300);  // thrice as long as a write waits for the peer

// The silent connection.
class FakeTcp {
 public:
  FakeTcp() {
    vtable_.read = [](grpc_endpoint* endpoint, grpc_slice_buffer*, grpc_closure* done, bool, int) {
      Of(endpoint)->read_ = done;
    };
    vtable_.shutdown = [](grpc_endpoint* endpoint, grpc_error_handle why) {
      if (!Of(endpoint)->shut_down_.HasBeenNotified()) Of(endpoint)->shut_down_.Notify();
      Of(endpoint)->End(std::move(why));
    };
    vtable_.destroy = [](grpc_endpoint* endpoint) { Of(endpoint)->destroyed_.Notify(); };
    vtable_.get_peer = [](grpc_endpoint*) { return absl::string_view("peer"); };
    vtable_.get_local_address = vtable_.get_peer;
    vtable_.get_fd = [](grpc_endpoint*) { return -1; };
    base_ = {{&vtable_}, this};
  }
  grpc_endpoint* get() { return &base_.endpoint; }
  const absl::Notification& shut_down() const { return shut_down_; }
  const absl::Notification& destroyed() const { return destroyed_; }
  void End(grpc_error_handle why) {
    if (read_ != nullptr) grpc_core::ExecCtx::Run(DEBUG_LOCATION, std::exchange(read_, nullptr), std::move(why));
  }

 private:
  struct Base {
    grpc_endpoint endpoint;  // first
    FakeTcp* self;
  };
  static FakeTcp* Of(grpc_endpoint* endpoint) { return reinterpret_cast<Base*>(endpoint)->self; }

  grpc_endpoint_vtable vtable_ = {};
  Base base_;
  grpc_closure* read_ = nullptr;
  absl::Notification shut_down_;
  absl::Notification destroyed_;
};

// Something that the endpoint's owner asks for, with its slices: it ends once.
class Operation {
 public:
  Operation() {
    grpc_slice_buffer_init(&slices_);
    GRPC_CLOSURE_INIT(&closure_, Done, this, nullptr);
  }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  ~Operation() { grpc_slice_buffer_destroy(&slices_); }

  bool IsDone(absl::Duration within) const { return done_.WaitForNotificationWithTimeout(within); }
  const grpc_error_handle& error() const { return error_; }

 protected:
  grpc_slice_buffer slices_;
  grpc_closure closure_;

 private:
  static void Done(void* arg, grpc_error_handle error) {
    auto* self = static_cast<Operation*>(arg);
    self->error_ = std::move(error);
    self->done_.Notify();
  }

  grpc_error_handle error_;
  absl::Notification done_;
};

class Writing : public Operation {
 public:
  explicit Writing(absl::string_view bytes, size_t slice_bytes = SIZE_MAX) {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(slice_bytes, bytes.size()))) {
      const absl::string_view part = bytes.substr(0, slice_bytes);
      grpc_slice_buffer_add(&slices_, grpc_slice_from_copied_buffer(part.data(), part.size()));
    }
  }
  Writing(grpc_endpoint* endpoint, absl::string_view bytes) : Writing(bytes) { Begin(endpoint); }
  void Begin(grpc_endpoint* endpoint) {
    grpc_endpoint_write(endpoint, &slices_, &closure_, nullptr, INT_MAX);
    grpc_core::ExecCtx::Get()->Flush();
  }
};

class Reading : public Operation {
 public:
  explicit Reading(grpc_endpoint* endpoint) {
    grpc_endpoint_read(endpoint, &slices_, &closure_, /*urgent=*/false, /*min_progress_size=*/1);
    grpc_core::ExecCtx::Get()->Flush();
  }
};

class SkeinEndpointTest : public testing::Test {
 protected:
  SkeinEndpointTest() {
    grpc_init();
    const grpc_core::ExecCtx exec_ctx;
    streams_ = ends_.Connect();
    auto contended = std::make_shared<ContendedStream>(std::move(streams_.client));
    stream_ = contended;
    endpoint_ =
        NewSkeinEndpoint(std::move(contended), tcp_.get(), grpc_core::MakeRefCounted<TcpReader>(tcp_.get()),
                         std::make_unique<Waiter::User>(&waiter_), nullptr,
                         grpc_core::MakeRefCounted<ConnectionTrace>(trace::Path::kShm),
                         QuotaOf(grpc_core::ChannelArgs().SetObject(quota_), "connection"), [this] { on_lost_(); });
  }
  ~SkeinEndpointTest() override {
    {
      const grpc_core::ExecCtx exec_ctx;
      Destroy();
      streams_.server = nullptr;
      EXPECT_TRUE(LetsGoOfTcp());
    }
    grpc_shutdown_blocking();
  }

  double Pressure() const {
    return quota_->memory_quota()->CreateMemoryOwner("probe").GetPressureInfo().instantaneous_pressure;
  }
  void Destroy() {
    if (endpoint_ != nullptr) grpc_endpoint_destroy(std::exchange(endpoint_, nullptr));
    grpc_core::ExecCtx::Get()->Flush();
  }
  void Pump() {
    ends_.Pump();
    grpc_core::ExecCtx::Get()->Flush();
  }
  // The peer's words may wait for space, which this end's timer makes at any time: so both ends are polled until then.
  bool LetsGoOfTcp() {
    for (const absl::Time end = absl::Now() + kPatience; !tcp_.destroyed().HasBeenNotified() && absl::Now() < end;) {
      Pump();
    }
    return tcp_.destroyed().HasBeenNotified();
  }
  // So many, or until the end. This end's link is polled too unless `here` is false.
  absl::Status Read(std::string& bytes, size_t size, bool here = true) {
    return stream::ReadUntil(*streams_.server, kWindow, bytes, size, kPatience,
                             [&] { here ? Pump() : void(ends_.server_waiter.PollAll()); });
  }
  absl::Status ReadToTheEnd(std::string& bytes) { return Read(bytes, SIZE_MAX); }

  static std::thread OnAnotherThread(std::function<void()> act) {
    return std::thread([act = std::move(act)] {
      const grpc_core::ExecCtx exec_ctx;
      act();
    });
  }
  // Another thread writes, and stops inside the stream before the stream takes anything.
  std::thread WriteAndStop(Writing& write, Held& held) {
    stream_.lock()->held_before = &held;
    std::thread writer = OnAnotherThread([this, &write] { write.Begin(endpoint_); });
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
  const grpc_core::RefCountedPtr<grpc_core::ResourceQuota> quota_ =
      grpc_core::MakeRefCounted<grpc_core::ResourceQuota>("test");
  FakeTcp tcp_;
  std::function<void()> on_lost_ = [] {};
  Waiter waiter_{wait::SpinPolicy{}};
  grpc_endpoint* endpoint_ = nullptr;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_ENDPOINT_FIXTURE_H_
