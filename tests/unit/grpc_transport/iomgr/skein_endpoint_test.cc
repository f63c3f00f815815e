// What gRPC writes to a peer that does not read.
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "core/base/forked.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/in_child.h"
#include "tests/unit/grpc_transport/iomgr/endpoint_fixture.h"

namespace skein::grpc_transport {
namespace {

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
  Pump();  // there is space again
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
  EXPECT_TRUE(LetsGoOfTcp());
}

// A thread of the parent stops under the connection's lock, of which the child has a copy.
TEST_F(SkeinEndpointTest, InAForkedChildReadsAndWritesFailAtOnce) {
  const grpc_core::ExecCtx exec_ctx;
  BeginUse();
  Held held;
  on_lost_ = [&held] { held.Wait(); };
  stream_.lock()->failure = absl::UnavailableError("the link is lost");
  std::unique_ptr<Reading> parents;
  std::thread reader = OnAnotherThread([&] { parents = std::make_unique<Reading>(endpoint_); });
  ASSERT_TRUE(held.HasBegun());
  EXPECT_EQ(InChild([&] {
              const auto made_before = [](const grpc_error_handle& error) {
                return absl::StrContains(grpc_core::StatusToString(error), "made before fork");
              };
              const Reading read(endpoint_);
              if (!read.IsDone(absl::ZeroDuration()) || !made_before(read.error())) return 1;
              const Writing write(endpoint_, "hello");
              if (!write.IsDone(absl::ZeroDuration()) || !made_before(write.error())) return 2;
              grpc_endpoint_get_fd(endpoint_);
              Destroy();
              return tcp_.destroyed().HasBeenNotified() ? 0 : 3;
            }),
            0);
  GoOn(held, reader);
  EXPECT_TRUE(parents->IsDone(kPatience));
}

}  // namespace
}  // namespace skein::grpc_transport
