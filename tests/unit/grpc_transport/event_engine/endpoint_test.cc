// What an endpoint over a stream promises gRPC, and what gRPC writes to a peer that does not read.
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "core/base/forked.h"
#include "gmock/gmock.h"
#include "grpc_transport/event_engine/ready.h"
#include "gtest/gtest.h"
#include "tests/support/in_child.h"
#include "tests/unit/grpc_transport/event_engine/endpoint_fixture.h"

namespace skein::grpc_transport {
namespace {

TEST_F(EndpointTest, WhatHasComeIsReadAtOnce) {
  EXPECT_TRUE(stream::WriteText(*streams_.server, "hello").ok());
  Pump();
  Reading read(*endpoint_);
  EXPECT_TRUE(read.at_once());
  EXPECT_EQ(read.bytes(), "hello");
}

TEST_F(EndpointTest, WhatComesLaterEndsTheRead) {
  Reading read(*endpoint_);
  EXPECT_FALSE(read.at_once());
  EXPECT_TRUE(stream::WriteText(*streams_.server, "hello").ok());
  Pump();
  ASSERT_TRUE(read.IsDone(kPatience));
  EXPECT_TRUE(read.status().ok());
  EXPECT_EQ(read.bytes(), "hello");
}

TEST_F(EndpointTest, AWriteThatTheStreamTakesIsDoneAtOnce) {
  const Writing write(*endpoint_, "hello");
  EXPECT_TRUE(write.at_once());
  std::string bytes;
  EXPECT_TRUE(Read(bytes, 5).ok());
  EXPECT_EQ(bytes, "hello");
}

TEST_F(EndpointTest, WhatHasComeCountsInGrpcsQuotaUntilNobodyHoldsIt) {
  EXPECT_TRUE(stream::WriteText(*streams_.server, "hello").ok());
  Pump();
  {
    const Reading read(*endpoint_);
    ASSERT_TRUE(read.at_once());
    EXPECT_GE(allocator_->reserved, 5U);
  }
  EXPECT_EQ(allocator_->reserved, 0U);
}

TEST_F(EndpointTest, AReadUnderWayAtItsEndIsCancelled) {
  const Reading read(*endpoint_);
  Destroy();
  ASSERT_TRUE(read.IsDone(kPatience));
  EXPECT_TRUE(absl::IsCancelled(read.status())) << read.status();
}

TEST_F(EndpointTest, SoIsAWrite) {
  const Writing write(*endpoint_, stream::RandomText(kKept * 2, 1));
  Destroy();
  ASSERT_TRUE(write.IsDone(kPatience));
  EXPECT_TRUE(absl::IsCancelled(write.status())) << write.status();
  EXPECT_TRUE(tcp_->destroyed.WaitForNotificationWithTimeout(kPatience));
}

TEST_F(EndpointTest, ItsEndGivesLinkAndConnectionBack) {
  const Writing write(*endpoint_, "bye");
  EXPECT_TRUE(write.at_once());
  Destroy();
  EXPECT_TRUE(stream_.expired());
  EXPECT_TRUE(tcp_->destroyed.HasBeenNotified());
  std::string bytes;
  EXPECT_TRUE(absl::IsOutOfRange(ReadToTheEnd(bytes)));
  EXPECT_EQ(bytes, "bye");
}

TEST_F(EndpointTest, ThePeersEndIsTheEndOfReads) {
  const Reading read(*endpoint_);
  streams_.server->CloseWrite();
  Pump();
  ASSERT_TRUE(read.IsDone(kPatience));
  EXPECT_EQ(read.status(), absl::UnavailableError("Socket closed"));
  EXPECT_FALSE(lost_.HasBeenNotified());
}

TEST_F(EndpointTest, TheConnectionsEndIsTheEndOfReadsAndWrites) {
  EXPECT_TRUE(stream::WriteText(*streams_.server, "first").ok());
  Pump();
  const Reading first(*endpoint_);
  EXPECT_TRUE(first.at_once());
  const Reading read(*endpoint_);
  EXPECT_TRUE(stream::WriteText(*streams_.server, "last").ok());
  tcp_->End(absl::UnavailableError("the peer's process has ended"));
  ASSERT_TRUE(read.IsDone(kPatience));
  EXPECT_TRUE(read.status().ok()) << read.status() << ": what had arrived comes first";
  engine_->Flush();
  const Reading next(*endpoint_);
  ASSERT_TRUE(next.IsDone(kPatience));
  EXPECT_EQ(next.status(), absl::UnavailableError("the peer's process has ended"));
  const Writing write(*endpoint_, "late");
  ASSERT_TRUE(write.IsDone(kPatience));
  EXPECT_TRUE(absl::IsUnavailable(write.status()));
  EXPECT_FALSE(lost_.HasBeenNotified()) << "it is no failure of the link's";
}

TEST_F(EndpointTest, OfALinkThatFailsThePeerIsTold) {
  stream_.lock()->failure = absl::UnavailableError("the link is lost");
  const Reading read(*endpoint_);
  ASSERT_TRUE(read.IsDone(kPatience));
  EXPECT_EQ(read.status(), absl::UnavailableError("the link is lost"));
  EXPECT_EQ(tcp_->sent(), "!");
  EXPECT_TRUE(lost_.HasBeenNotified());
}

TEST_F(EndpointTest, APeerTellsThatTheLinkHasFailedThere) {
  const Reading read(*endpoint_);
  tcp_->Send("!");
  ASSERT_TRUE(read.IsDone(kPatience));
  EXPECT_EQ(read.status(), absl::UnavailableError("the link has failed at the peer's end"));
  EXPECT_TRUE(lost_.HasBeenNotified());
}

TEST_F(EndpointTest, OtherBytesOnTheSilentConnectionAreAProtocolError) {
  const Reading read(*endpoint_);
  tcp_->Send("!?");
  ASSERT_TRUE(read.IsDone(kPatience));
  EXPECT_THAT(read.status().message(), testing::HasSubstr("wrote to a connection"));
  EXPECT_FALSE(lost_.HasBeenNotified());
}

// The other thread may have lost its processor in the middle of it.
TEST_F(EndpointTest, TheEndOfTheConnectionWaitsForAnotherPollerWithoutSpinning) {
  const Reading read(*endpoint_);
  const std::shared_ptr<ContendedStream> stream = stream_.lock();
  stream->polled_elsewhere = true;
  tcp_->End(absl::UnavailableError("the peer has ended"));
  engine_->Flush();
  EXPECT_FALSE(read.IsDone(absl::Milliseconds(20)));
  EXPECT_LT(stream->drains, 10'000) << "one each millisecond, however long this thread waits for a processor";
  stream->polled_elsewhere = false;
  EXPECT_TRUE(read.IsDone(kPatience));
  EXPECT_FALSE(read.status().ok());
}

// A peer that does not read.

TEST_F(EndpointTest, AWriteToAPeerThatDoesNotReadCountsAsDone) {
  const std::string first = stream::RandomText(kWindow * 10, 1);
  const std::string second = stream::RandomText(1000, 2);
  const Writing one(*endpoint_, first);
  EXPECT_TRUE(one.IsDone(kPatience)) << "a call would not end at its deadline";
  EXPECT_TRUE(one.status().ok());
  const Writing two(*endpoint_, second);
  EXPECT_TRUE(two.at_once()) << "the peer is known to be silent";
  std::string bytes;
  EXPECT_TRUE(Read(bytes, first.size() + second.size()).ok());
  EXPECT_TRUE(bytes == first + second);
}

TEST_F(EndpointTest, AWriteToAPeerThatReadsIsDoneWhenItIsSent) {
  const std::string text = stream::RandomText(kKept * 2, 1);
  const Writing write(*endpoint_, text);
  EXPECT_FALSE(write.IsDone(absl::ZeroDuration())) << "it is longer than all that is kept";
  std::string bytes;
  EXPECT_TRUE(Read(bytes, text.size()).ok());
  EXPECT_TRUE(write.IsDone(kPatience));
  EXPECT_TRUE(bytes == text);
}

TEST_F(EndpointTest, NoMoreIsKeptThanSixteenMebibytes) {
  const std::string first = stream::RandomText(kKept, 1);
  const std::string second = stream::RandomText(kWindow * 10, 2);
  const Writing one(*endpoint_, first);
  EXPECT_TRUE(one.IsDone(kPatience));
  const Writing two(*endpoint_, second);
  EXPECT_FALSE(two.IsDone(kLongSilence));
  std::string bytes;
  EXPECT_TRUE(Read(bytes, first.size() + second.size()).ok());
  EXPECT_TRUE(two.IsDone(kPatience));
  EXPECT_TRUE(bytes == first + second);
}

TEST_F(EndpointTest, WhatIsKeptCountsInGrpcsQuota) {
  const std::string text = stream::RandomText(kWindow * 10, 1);
  const Writing write(*endpoint_, text);
  ASSERT_TRUE(write.IsDone(kPatience));
  EXPECT_GE(allocator_->reserved, kWindow * 8);
  std::string bytes;
  EXPECT_TRUE(Read(bytes, text.size()).ok());
  EXPECT_TRUE(bytes == text);
  EXPECT_EQ(allocator_->reserved, 0U);
}

TEST_F(EndpointTest, WhatWasKeptArrivesAfterItsEnd) {
  const std::string text = stream::RandomText(kWindow * 10, 1);
  const Writing write(*endpoint_, text);
  ASSERT_TRUE(write.IsDone(kPatience));
  Destroy();
  EXPECT_FALSE(tcp_->destroyed.HasBeenNotified()) << "the peer would take that for the end";
  std::string bytes;
  EXPECT_TRUE(absl::IsOutOfRange(ReadToTheEnd(bytes)));
  EXPECT_TRUE(bytes == text);
  EXPECT_TRUE(tcp_->destroyed.WaitForNotificationWithTimeout(kPatience));
}

TEST_F(EndpointTest, WhatWasKeptGoesAlsoIfNobodyPollsHere) {
  const std::string text = stream::RandomText(kWindow * 3, 1);
  const Writing write(*endpoint_, text);
  ASSERT_TRUE(write.IsDone(kPatience));
  Destroy();
  std::string bytes;
  EXPECT_TRUE(Read(bytes, text.size(), /*here=*/false).ok());
  EXPECT_TRUE(bytes == text);
}

TEST_F(EndpointTest, NothingIsKeptForAPeerThatEnds) {
  const Writing write(*endpoint_, stream::RandomText(kWindow * 10, 1));
  ASSERT_TRUE(write.IsDone(kPatience));
  Destroy();
  EXPECT_FALSE(tcp_->destroyed.HasBeenNotified());
  tcp_->End(absl::UnavailableError("the peer has ended"));
  EXPECT_TRUE(tcp_->destroyed.WaitForNotificationWithTimeout(kPatience));
}

TEST_F(EndpointTest, NothingIsKeptWhenTheLinkIsLost) {
  const Writing write(*endpoint_, stream::RandomText(kWindow * 10, 1));
  ASSERT_TRUE(write.IsDone(kPatience));
  Destroy();
  streams_.server->Abort(absl::CancelledError("the server's end"));
  EXPECT_TRUE(LetsGoOfTcp());
}

// A thread of the parent stops under the connection's lock, of which the child has a copy.
TEST_F(EndpointTest, InAForkedChildReadsAndWritesFailAtOnce) {
  BeginUse();
  Held held;
  on_lost_ = [&held] { held.Wait(); };
  stream_.lock()->failure = absl::UnavailableError("the link is lost");
  std::unique_ptr<Reading> parents;
  std::thread reader([&] { parents = std::make_unique<Reading>(*endpoint_); });
  ASSERT_TRUE(held.HasBegun());
  EXPECT_EQ(InChild([&] {
              Ready ready(Ready::Thread::kCaller);  // the engine's thread is the parent's
              const Reading read(*endpoint_);
              const Writing write(*endpoint_, "hello");
              Destroy();
              ready.RunHere();
              const std::string why = "skein: the channel was made before fork()";
              if (read.at_once() || read.status() != absl::UnavailableError(why)) return 1;
              if (write.at_once() || write.status() != absl::UnavailableError(why)) return 2;
              return tcp_->destroyed.HasBeenNotified() ? 0 : 3;
            }),
            0);
  GoOn(held, reader);
  EXPECT_TRUE(parents->IsDone(kPatience));
}

}  // namespace
}  // namespace skein::grpc_transport
