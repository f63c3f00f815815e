// What gRPC writes to a peer that does not read, over shared memory and a TCP connection that the test ends.
#include "grpc_transport/skein_endpoint.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/unit/stream/two_ends.h"

namespace skein::grpc_transport {
namespace {

constexpr size_t kWindow = size_t{64} << 10;
constexpr size_t kKept = size_t{16} << 20;
constexpr absl::Duration kPatience = absl::Seconds(20);
constexpr absl::Duration kLongSilence = absl::Milliseconds(300);  // thrice as long as a write waits for the peer

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

// One write of the endpoint's owner.
class Writing {
 public:
  Writing(grpc_endpoint* endpoint, const std::string& bytes) {
    grpc_slice_buffer_init(&slices_);
    grpc_slice_buffer_add(&slices_, grpc_slice_from_copied_buffer(bytes.data(), bytes.size()));
    GRPC_CLOSURE_INIT(&closure_, Done, this, nullptr);
    grpc_endpoint_write(endpoint, &slices_, &closure_, nullptr, INT_MAX);
    grpc_core::ExecCtx::Get()->Flush();
  }
  ~Writing() { grpc_slice_buffer_destroy(&slices_); }

  bool IsDone(absl::Duration within) const { return done_.WaitForNotificationWithTimeout(within); }
  const grpc_error_handle& error() const { return error_; }

 private:
  static void Done(void* arg, grpc_error_handle error) {
    auto* self = static_cast<Writing*>(arg);
    self->error_ = std::move(error);
    self->done_.Notify();
  }

  grpc_slice_buffer slices_;
  grpc_closure closure_;
  grpc_error_handle error_;
  absl::Notification done_;
};

class SkeinEndpointTest : public testing::Test {
 protected:
  SkeinEndpointTest() {
    grpc_init();
    const grpc_core::ExecCtx exec_ctx;
    streams_ = ends_.Connect();
    const grpc_core::ChannelArgs arguments = grpc_core::ChannelArgs().SetObject(grpc_core::ResourceQuota::Default());
    endpoint_ = NewSkeinEndpoint(
        std::move(streams_.client), tcp_.get(), grpc_core::MakeRefCounted<TcpReader>(tcp_.get()),
        std::make_unique<Waiter::User>(&waiter_), nullptr,
        grpc_core::MakeRefCounted<ConnectionTrace>(trace::Path::kShm), QuotaOf(arguments, "connection"), nullptr);
  }
  ~SkeinEndpointTest() override {
    {
      const grpc_core::ExecCtx exec_ctx;
      Destroy();
      streams_.server = nullptr;
      Pump();
      EXPECT_TRUE(tcp_.destroyed().WaitForNotificationWithTimeout(kPatience));
    }
    grpc_shutdown_blocking();
  }

  void Destroy() {
    if (endpoint_ != nullptr) grpc_endpoint_destroy(std::exchange(endpoint_, nullptr));
    grpc_core::ExecCtx::Get()->Flush();
  }
  void Pump() {
    ends_.Pump();
    grpc_core::ExecCtx::Get()->Flush();
  }
  // So many, or until the end. This end's link is polled too unless `here` is false.
  absl::Status Read(std::string& bytes, size_t size, bool here = true) {
    for (const absl::Time end = absl::Now() + kPatience; bytes.size() < size && absl::Now() < end;) {
      here ? Pump() : void(ends_.server_waiter.PollAll());
      std::vector<stream::Buffer> buffers;
      if (absl::Status status = streams_.server->Read(kWindow, buffers); !status.ok()) return status;
      for (const stream::Buffer& buffer : buffers) {
        bytes.append(reinterpret_cast<const char*>(buffer.data.get()), buffer.size);
      }
    }
    return absl::OkStatus();
  }
  absl::Status ReadToTheEnd(std::string& bytes) { return Read(bytes, SIZE_MAX); }

  stream::TwoEnds ends_{stream::FabricKindUnderTest::kShm, {.ring_bytes = kWindow, .window_bytes = kWindow}};
  stream::TwoEnds::Pair streams_;
  FakeTcp tcp_;
  Waiter waiter_{progress::SpinPolicy{}};
  grpc_endpoint* endpoint_ = nullptr;
};

TEST_F(SkeinEndpointTest, AWriteToAPeerThatDoesNotReadCountsAsDone) {
  const grpc_core::ExecCtx exec_ctx;
  const std::string first = stream::RandomText(kWindow * 10, 1);
  const std::string second = stream::RandomText(1000, 2);
  const Writing one(endpoint_, first);
  EXPECT_TRUE(one.IsDone(kPatience)) << "a call would not end at its deadline";
  EXPECT_TRUE(one.error().ok());
  const Writing two(endpoint_, second);
  EXPECT_TRUE(two.IsDone(absl::ZeroDuration())) << "the peer is known to be silent";
  std::string bytes;
  EXPECT_TRUE(Read(bytes, first.size() + second.size()).ok());
  EXPECT_TRUE(bytes == first + second);
}

TEST_F(SkeinEndpointTest, AWriteToAPeerThatReadsIsDoneWhenItIsSent) {
  const grpc_core::ExecCtx exec_ctx;
  const std::string text = stream::RandomText(kKept * 2, 1);
  const Writing write(endpoint_, text);
  EXPECT_FALSE(write.IsDone(absl::ZeroDuration())) << "it is longer than all that is kept";
  std::string bytes;
  EXPECT_TRUE(Read(bytes, text.size()).ok());
  EXPECT_TRUE(write.IsDone(kPatience));
  EXPECT_TRUE(bytes == text);
}

TEST_F(SkeinEndpointTest, NoMoreIsKeptThanSixteenMebibytes) {
  const grpc_core::ExecCtx exec_ctx;
  const std::string first = stream::RandomText(kKept, 1);
  const std::string second = stream::RandomText(kWindow * 10, 2);
  const Writing one(endpoint_, first);
  EXPECT_TRUE(one.IsDone(kPatience));
  const Writing two(endpoint_, second);
  EXPECT_FALSE(two.IsDone(kLongSilence));
  std::string bytes;
  EXPECT_TRUE(Read(bytes, first.size() + second.size()).ok());
  EXPECT_TRUE(two.IsDone(kPatience));
  EXPECT_TRUE(bytes == first + second);
}

TEST_F(SkeinEndpointTest, WhatWasKeptArrivesAfterItsEnd) {
  const grpc_core::ExecCtx exec_ctx;
  const std::string text = stream::RandomText(kWindow * 10, 1);
  const Writing write(endpoint_, text);
  ASSERT_TRUE(write.IsDone(kPatience));
  Destroy();
  EXPECT_FALSE(tcp_.shut_down().HasBeenNotified()) << "the peer would take that for the end";
  std::string bytes;
  EXPECT_TRUE(absl::IsOutOfRange(ReadToTheEnd(bytes)));
  EXPECT_TRUE(bytes == text);
  EXPECT_TRUE(tcp_.destroyed().WaitForNotificationWithTimeout(kPatience));
}

TEST_F(SkeinEndpointTest, WhatWasKeptArrivesBetweenItsShutdownAndItsEnd) {
  const grpc_core::ExecCtx exec_ctx;
  const std::string text = stream::RandomText(kWindow * 10, 1);
  const Writing write(endpoint_, text);
  ASSERT_TRUE(write.IsDone(kPatience));
  grpc_endpoint_shutdown(endpoint_, GRPC_ERROR_CREATE("enough"));
  const Writing late(endpoint_, "late");
  EXPECT_TRUE(late.IsDone(absl::ZeroDuration()));
  EXPECT_FALSE(late.error().ok());
  std::string bytes;
  EXPECT_TRUE(absl::IsOutOfRange(ReadToTheEnd(bytes)));
  EXPECT_TRUE(bytes == text);
  EXPECT_TRUE(tcp_.shut_down().WaitForNotificationWithTimeout(kPatience));
  EXPECT_FALSE(tcp_.destroyed().HasBeenNotified());
}

TEST_F(SkeinEndpointTest, AWriteUnderWayAtTheShutdownFails) {
  const grpc_core::ExecCtx exec_ctx;
  const Writing write(endpoint_, stream::RandomText(kKept * 2, 1));
  grpc_endpoint_shutdown(endpoint_, GRPC_ERROR_CREATE("enough"));
  grpc_core::ExecCtx::Get()->Flush();
  EXPECT_TRUE(write.IsDone(kPatience));
  EXPECT_FALSE(write.error().ok());
  EXPECT_TRUE(tcp_.shut_down().WaitForNotificationWithTimeout(kPatience));
}

TEST_F(SkeinEndpointTest, NothingIsKeptForAPeerThatHasEnded) {
  const grpc_core::ExecCtx exec_ctx;
  const Writing write(endpoint_, stream::RandomText(kWindow * 10, 1));
  ASSERT_TRUE(write.IsDone(kPatience));
  tcp_.End(GRPC_ERROR_CREATE("the peer has ended"));
  grpc_core::ExecCtx::Get()->Flush();
  std::string bytes;
  EXPECT_TRUE(Read(bytes, kWindow / 2).ok());
  Pump();  // there is room again
  const Writing next(endpoint_, "next");
  EXPECT_TRUE(next.IsDone(kPatience)) << "which would come behind a gap";
  EXPECT_FALSE(next.error().ok());
  Destroy();
  EXPECT_TRUE(tcp_.destroyed().WaitForNotificationWithTimeout(kPatience));
}

TEST_F(SkeinEndpointTest, NothingIsKeptForAPeerThatEndsLater) {
  const grpc_core::ExecCtx exec_ctx;
  const Writing write(endpoint_, stream::RandomText(kWindow * 10, 1));
  ASSERT_TRUE(write.IsDone(kPatience));
  Destroy();
  EXPECT_FALSE(tcp_.destroyed().HasBeenNotified());
  tcp_.End(GRPC_ERROR_CREATE("the peer has ended"));
  grpc_core::ExecCtx::Get()->Flush();
  EXPECT_TRUE(tcp_.destroyed().WaitForNotificationWithTimeout(kPatience));
}

TEST_F(SkeinEndpointTest, NothingIsKeptBeyondGrpcsShutdown) {
  {
    const grpc_core::ExecCtx exec_ctx;
    const Writing write(endpoint_, stream::RandomText(kWindow * 10, 1));
    ASSERT_TRUE(write.IsDone(kPatience));
    Destroy();
    EXPECT_FALSE(tcp_.destroyed().HasBeenNotified());
  }
  grpc_shutdown_blocking();
  EXPECT_TRUE(tcp_.destroyed().WaitForNotificationWithTimeout(kPatience));
  grpc_init();
}

TEST_F(SkeinEndpointTest, WhatWasKeptGoesAlsoIfNobodyPollsHere) {
  const grpc_core::ExecCtx exec_ctx;
  const std::string text = stream::RandomText(kWindow * 3, 1);
  const Writing write(endpoint_, text);
  ASSERT_TRUE(write.IsDone(kPatience));
  Destroy();
  std::string bytes;
  EXPECT_TRUE(Read(bytes, text.size(), /*here=*/false).ok());
  EXPECT_TRUE(bytes == text);
}

TEST_F(SkeinEndpointTest, NothingIsKeptWhenTheLinkIsLost) {
  const grpc_core::ExecCtx exec_ctx;
  const Writing write(endpoint_, stream::RandomText(kWindow * 10, 1));
  ASSERT_TRUE(write.IsDone(kPatience));
  Destroy();
  streams_.server->Abort(absl::CancelledError("the server's end"));
  Pump();
  EXPECT_TRUE(tcp_.destroyed().WaitForNotificationWithTimeout(kPatience));
}

}  // namespace
}  // namespace skein::grpc_transport
