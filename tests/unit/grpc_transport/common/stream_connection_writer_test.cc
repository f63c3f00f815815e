// The connection's writer may wait for other writers of the link. Nobody waits for that writer, and the writer acts
// upon all that has happened meanwhile.
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "tests/support/in_child.h"
#include "tests/unit/grpc_transport/common/stream_connection_fixture.h"

namespace skein::grpc_transport {
namespace {

TEST_F(StreamConnectionTest, ThePollerBringsBytesWhileAWriterWaits) {
  Operation read;
  Read(read);
  Held held;
  Operation write("question");
  std::thread writer = WriteAndStop(write, held);
  EXPECT_TRUE(stream::WriteText(*streams_.server, "word").ok());
  Pump();
  EXPECT_TRUE(read.is_done());
  EXPECT_TRUE(read.status().ok());
  EXPECT_FALSE(write.is_done());
  GoOn(held, writer);
  EXPECT_TRUE(write.is_done());
  EXPECT_TRUE(write.status().ok());
  std::string bytes;
  EXPECT_TRUE(PeerReads(bytes, 8).ok());
  EXPECT_EQ(bytes, "question");
}

TEST_F(StreamConnectionTest, TheWriterUsesSpaceThatComesBeforeItKnowsThatThereWasTooLittle) {
  const std::string text = stream::RandomText(kWindow * 10, 1);
  Held held;
  stream_.lock()->held_after = &held;
  Operation write(text);
  std::thread writer([&] { Write(write); });
  ASSERT_TRUE(held.HasBegun());
  std::string bytes;
  EXPECT_TRUE(PeerReads(bytes, kWindow / 2).ok());
  Pump();  // the poller tells of the space
  GoOn(held, writer);
  EXPECT_TRUE(PeerReads(bytes, text.size()).ok());
  EXPECT_TRUE(bytes == text);
  EXPECT_TRUE(write.is_done());
  EXPECT_TRUE(write.status().ok());
}

// The connection sends kept bytes without gRPC's knowledge. The bytes of small slices lie in the buffer of slices
// itself: the next write must not move them while another thread reads them.
TEST_F(StreamConnectionTest, AWriteGoesBehindKeptBytesThatAnotherThreadIsWriting) {
  constexpr size_t kSmall = 20;
  const std::string first = stream::RandomText(kWindow * 3, 1);
  const std::string second = stream::RandomText(kWindow * 5, 2);
  Operation one(first, kSmall);
  Write(one);
  PassSilence();
  ASSERT_TRUE(one.is_done());
  std::string bytes;
  EXPECT_TRUE(PeerReads(bytes, kWindow / 2, /*here=*/false).ok());
  Held held;
  stream_.lock()->held_before = &held;
  std::thread poller([this] { Pump(); });
  ASSERT_TRUE(held.HasBegun());
  Operation two(second, kSmall);
  Write(two);
  EXPECT_FALSE(two.is_done()) << "nobody has taken its bytes";
  GoOn(held, poller);
  EXPECT_TRUE(PeerReads(bytes, first.size() + second.size()).ok());
  EXPECT_TRUE(bytes == first + second);
  EXPECT_TRUE(two.is_done());
  EXPECT_TRUE(two.status().ok());
}

TEST_F(StreamConnectionTest, ThePollerItselfDoesNotWrite) {
  const std::string text = stream::RandomText(kWindow * 10, 1);
  Operation write(text);
  Write(write);
  std::string bytes;
  EXPECT_TRUE(PeerReads(bytes, kWindow / 2, /*here=*/false).ok());
  Held held;
  stream_.lock()->held_before = &held;
  absl::Notification polled;
  std::thread poller([&] {
    ends_.Pump();
    polled.Notify();
    connection_->RunScheduled();
  });
  EXPECT_TRUE(held.HasBegun());
  EXPECT_TRUE(polled.HasBeenNotified());
  GoOn(held, poller);
  EXPECT_TRUE(PeerReads(bytes, text.size()).ok());
  EXPECT_TRUE(bytes == text);
}

TEST_F(StreamConnectionTest, AShutdownDuringAWriteLeavesTheStreamToTheWriter) {
  Operation read;
  Read(read);
  Held held;
  Operation write("bye");
  std::thread writer = WriteAndStop(write, held);
  ShutDown();
  EXPECT_TRUE(read.is_done());
  EXPECT_FALSE(write.is_done());
  EXPECT_FALSE(stream_.expired());
  EXPECT_FALSE(IsLetGo());
  GoOn(held, writer);
  EXPECT_TRUE(write.is_done());
  EXPECT_TRUE(write.status().ok());
  EXPECT_TRUE(stream_.expired());
  EXPECT_TRUE(IsLetGo());
  std::string bytes;
  EXPECT_TRUE(absl::IsOutOfRange(PeerReadsToTheEnd(bytes)));
  EXPECT_EQ(bytes, "bye");
}

TEST_F(StreamConnectionTest, AShutdownDuringAWriteEndsIt) {
  Held held;
  Operation write(stream::RandomText(kWindow * 10, 1));
  std::thread writer = WriteAndStop(write, held);
  ShutDown();
  GoOn(held, writer);
  EXPECT_TRUE(write.is_done());
  EXPECT_EQ(write.status(), absl::CancelledError("enough"));
  EXPECT_TRUE(IsLetGo());
}

TEST_F(StreamConnectionTest, SoDoesTheConnectionsEnd) {
  Operation read;
  Read(read);
  Held held;
  Operation write(stream::RandomText(kWindow * 10, 1));
  std::thread writer = WriteAndStop(write, held);
  EndTcp();
  EXPECT_TRUE(read.is_done());
  EXPECT_FALSE(read.status().ok());
  GoOn(held, writer);
  EXPECT_TRUE(write.is_done());
  EXPECT_FALSE(write.status().ok());
}

// The child has a copy of the mark that the parent's thread has left.
TEST_F(StreamConnectionTest, AForkedChildDoesNotWaitForItsParentsWriter) {
  BeginUse();
  Held held;
  Operation write("hello");
  std::thread writer = WriteAndStop(write, held);
  EXPECT_EQ(InChild([&] {
              ShutDown();
              return write.is_done() && !write.status().ok() && IsLetGo() ? 0 : 1;
            }),
            0);
  GoOn(held, writer);
  EXPECT_TRUE(write.is_done());
  EXPECT_TRUE(write.status().ok());
}

// A thread of the parent stops under the lock: in on_lost. The child has a copy of the lock.
TEST_F(StreamConnectionTest, AForkedChildDoesNotWaitForALockThatItsParentHeld) {
  BeginUse();
  Held held;
  on_lost_ = [&held] { held.Wait(); };
  stream_.lock()->failure = absl::UnavailableError("the link is lost");
  Operation read;
  std::thread reader([&] { Read(read); });
  ASSERT_TRUE(held.HasBegun());
  EXPECT_EQ(InChild([&] {
              ShutDown();
              return IsLetGo() ? 0 : 1;
            }),
            0)
      << "by its shutdown";
  EXPECT_EQ(InChild([&] {
              EndTcp();
              ShutDown();
              return IsLetGo() ? 0 : 1;
            }),
            0)
      << "and by what comes before that";
  GoOn(held, reader);
  EXPECT_TRUE(read.is_done());
  EXPECT_EQ(read.status(), absl::UnavailableError("the link is lost"));
}

TEST_F(StreamConnectionTest, InAForkedChildWhatWasUnderWayFailsOnce) {
  BeginUse();
  Operation read;
  Read(read);
  Operation write(stream::RandomText(kWindow * 10, 1));
  Write(write);
  EXPECT_EQ(InChild([&] {
              EndTcp();
              if (!read.is_done() || read.status().ok() || !write.is_done() || write.status().ok()) return 1;
              if (IsLetGo()) return 2;  // gRPC still has its endpoint
              PassSilence();
              ShutDown();
              ShutDown();
              return IsLetGo() ? 0 : 3;
            }),
            0);
  EXPECT_FALSE(read.is_done());
  EXPECT_FALSE(write.is_done());
  ShutDown();
}

// Nobody else would end it there.
TEST_F(StreamConnectionTest, AForkedChildLetsGoOfAConnectionThatWasBeingLeft) {
  BeginUse();
  Operation write(stream::RandomText(kWindow * 3, 1));
  Write(write);
  PassSilence();
  ASSERT_TRUE(write.is_done());
  ShutDown();
  ASSERT_FALSE(IsLetGo());
  EXPECT_EQ(InChild([&] {
              PassSilence();
              return IsLetGo() ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace skein::grpc_transport
