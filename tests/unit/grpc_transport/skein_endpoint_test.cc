// What gRPC writes to a peer that does not read, over shared memory and a TCP connection that the test ends.
#include "grpc_transport/skein_endpoint.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/stream/two_ends.h"

namespace skein::grpc_transport {
namespace {

constexpr size_t kWindow = size_t{64} << 10;
constexpr size_t kKept = size_t{16} << 20;
constexpr size_t kQuota = size_t{8} << 20;
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
  Writing(grpc_endpoint* endpoint, const std::string& bytes) {
    grpc_slice_buffer_add(&slices_, grpc_slice_from_copied_buffer(bytes.data(), bytes.size()));
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

// Another thread is polling the link of this stream, as long as the test says so.
class ContendedStream final : public stream::Stream {
 public:
  explicit ContendedStream(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {}

  void SetObserver(std::shared_ptr<stream::StreamObserver> observer) override {
    stream_->SetObserver(std::move(observer));
  }
  absl::StatusOr<size_t> Write(absl::Span<const stream::ConstBytes> buffers) override {
    return stream_->Write(buffers);
  }
  absl::Status Read(size_t most, std::vector<stream::Buffer>& out) override { return stream_->Read(most, out); }
  void CloseWrite() override { stream_->CloseWrite(); }
  void Abort(const absl::Status& reason) override { stream_->Abort(reason); }
  void WhenReached(std::function<void(const absl::Status&)> then) override { stream_->WhenReached(std::move(then)); }
  std::string path() const override { return stream_->path(); }
  std::shared_ptr<link::Link> link() const override { return stream_->link(); }
  bool Drain() override {
    ++drains;
    return !polled_elsewhere && stream_->Drain();
  }
  bool Coming() override { return stream_->Coming(); }
  bool PeerHasClosed() const override { return stream_->PeerHasClosed(); }
  link::Arrival last_arrival() override { return stream_->last_arrival(); }

  std::atomic<bool> polled_elsewhere = false;
  std::atomic<int> drains = 0;

 private:
  const std::shared_ptr<Stream> stream_;
};

class SkeinEndpointTest : public testing::Test {
 protected:
  SkeinEndpointTest() {
    grpc_init();
    const grpc_core::ExecCtx exec_ctx;
    streams_ = ends_.Connect();
    auto contended = std::make_shared<ContendedStream>(std::move(streams_.client));
    stream_ = contended;
    endpoint_ = NewSkeinEndpoint(std::move(contended), tcp_.get(), grpc_core::MakeRefCounted<TcpReader>(tcp_.get()),
                                 std::make_unique<Waiter::User>(&waiter_), nullptr,
                                 grpc_core::MakeRefCounted<ConnectionTrace>(trace::Path::kShm),
                                 QuotaOf(grpc_core::ChannelArgs().SetObject(quota_), "connection"), nullptr);
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
  std::weak_ptr<ContendedStream> stream_;  // the endpoint's
  const grpc_core::RefCountedPtr<grpc_core::ResourceQuota> quota_ =
      grpc_core::MakeRefCounted<grpc_core::ResourceQuota>("test");
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
  EXPECT_TRUE(tcp_.destroyed().WaitForNotificationWithTimeout(kPatience)) << "without an end of the endpoint's own";
}

// gRPC 1.51 never destroys some of the endpoints that it has shut down.
TEST_F(SkeinEndpointTest, ItsShutdownGivesLinkAndConnectionBack) {
  const grpc_core::ExecCtx exec_ctx;
  const Writing write(endpoint_, "bye");
  ASSERT_TRUE(write.IsDone(kPatience));
  grpc_endpoint_shutdown(endpoint_, GRPC_ERROR_CREATE("enough"));
  grpc_core::ExecCtx::Get()->Flush();
  EXPECT_TRUE(stream_.expired());
  EXPECT_TRUE(tcp_.destroyed().HasBeenNotified());
  std::string bytes;
  EXPECT_TRUE(absl::IsOutOfRange(ReadToTheEnd(bytes)));
  EXPECT_EQ(bytes, "bye");
  // gRPC may still ask it.
  grpc_endpoint_add_to_pollset_set(endpoint_, nullptr);
  grpc_endpoint_delete_from_pollset_set(endpoint_, nullptr);
  EXPECT_EQ(grpc_endpoint_get_fd(endpoint_), -1);
  EXPECT_EQ(grpc_endpoint_get_peer(endpoint_), "peer");
  const Writing late(endpoint_, "late");
  EXPECT_FALSE(late.error().ok());
}

// The endpoint tells the owner of the read, although the owner itself shut the endpoint down.
TEST_F(SkeinEndpointTest, AReadUnderWayAtTheShutdownFails) {
  const grpc_core::ExecCtx exec_ctx;
  const Reading read(endpoint_);
  grpc_endpoint_shutdown(endpoint_, GRPC_ERROR_CREATE("enough"));
  grpc_core::ExecCtx::Get()->Flush();
  EXPECT_FALSE(read.error().ok());
  EXPECT_TRUE(stream_.expired());
}

TEST_F(SkeinEndpointTest, WhatIsKeptCountsInGrpcsQuota) {
  const grpc_core::ExecCtx exec_ctx;
  quota_->memory_quota()->SetSize(kQuota);
  const double before = Pressure();
  const std::string text = stream::RandomText(kQuota / 2, 1);
  const Writing write(endpoint_, text);
  const double meanwhile = Pressure();
  // This thread may have lost its processor for longer than the peer may be silent.
  if (!write.IsDone(absl::ZeroDuration())) {
    EXPECT_LT(meanwhile, before + 0.1) << "the write's owner has it";
  }
  ASSERT_TRUE(write.IsDone(kPatience));
  EXPECT_GE(Pressure(), before + 0.4);
  std::string bytes;
  EXPECT_TRUE(Read(bytes, text.size()).ok());
  EXPECT_TRUE(bytes == text);
  EXPECT_LT(Pressure(), before + 0.2) << "the quota's allocator keeps up to a mebibyte for its next";
}

TEST_F(SkeinEndpointTest, AConnectionIsLostWhoseKeptBytesAreMoreThanTheQuotaHas) {
  const grpc_core::ExecCtx exec_ctx;
  quota_->memory_quota()->SetSize(kQuota / 4);
  const Reading read(endpoint_);
  const Writing write(endpoint_, stream::RandomText(kQuota / 2, 1));
  ASSERT_TRUE(write.IsDone(kPatience));
  EXPECT_TRUE(read.IsDone(kPatience));
  EXPECT_THAT(grpc_core::StatusToString(read.error()), testing::HasSubstr("memory is short"));
  EXPECT_LT(Pressure(), 0.5) << "nothing is kept any more";
  const Writing next(endpoint_, "next");
  EXPECT_TRUE(next.IsDone(kPatience)) << "which would come behind a gap";
  EXPECT_FALSE(next.error().ok());
}

TEST_F(SkeinEndpointTest, SoIsOneThatWasShutDownBefore) {
  const grpc_core::ExecCtx exec_ctx;
  const Writing write(endpoint_, stream::RandomText(kQuota / 2, 1));
  ASSERT_TRUE(write.IsDone(kPatience));
  Destroy();
  EXPECT_FALSE(tcp_.destroyed().HasBeenNotified());
  quota_->memory_quota()->SetSize(kQuota / 4);
  grpc_core::ExecCtx::Get()->Flush();
  EXPECT_TRUE(tcp_.destroyed().WaitForNotificationWithTimeout(kPatience));
}

// The other thread may have lost its processor in the middle of it.
TEST_F(SkeinEndpointTest, TheEndOfTheConnectionWaitsForAnotherPollerWithoutSpinning) {
  const grpc_core::ExecCtx exec_ctx;
  const Reading read(endpoint_);
  const std::shared_ptr<ContendedStream> stream = stream_.lock();
  stream->polled_elsewhere = true;
  absl::Notification flushed;
  std::thread other([&] {
    // Unless the first thread comes to an end with that by itself, it never would.
    flushed.WaitForNotificationWithTimeout(kPatience);
    stream->polled_elsewhere = false;
  });
  tcp_.End(GRPC_ERROR_CREATE("the peer has ended"));
  grpc_core::ExecCtx::Get()->Flush();
  EXPECT_LT(stream->drains, 10'000) << "one each millisecond, however long this thread waits for a processor";
  EXPECT_FALSE(read.IsDone(absl::ZeroDuration()));
  flushed.Notify();
  other.join();
  EXPECT_TRUE(read.IsDone(kPatience));
  EXPECT_FALSE(read.error().ok());
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
