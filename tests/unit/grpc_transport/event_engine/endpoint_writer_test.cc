// The endpoint's writer may wait for other writers of the link. Nobody waits for that writer, and the writer acts upon
// all that has happened meanwhile.
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "core/base/forked.h"
#include "gtest/gtest.h"
#include "tests/unit/grpc_transport/event_engine/endpoint_fixture.h"

namespace skein::grpc_transport {
namespace {

TEST_F(EndpointTest, ThePollerBringsBytesWhileAWriterWaits) {
  const Reading read(*endpoint_);
  Held held;
  Writing write("question");
  std::thread writer = WriteAndStop(write, held);
  EXPECT_TRUE(stream::WriteText(*streams_.server, "word").ok());
  Pump();
  EXPECT_TRUE(read.IsDone(absl::ZeroDuration()));
  EXPECT_TRUE(read.status().ok());
  EXPECT_FALSE(write.IsDone(absl::ZeroDuration()));
  GoOn(held, writer);
  EXPECT_TRUE(write.IsDone(kPatience));
  EXPECT_TRUE(write.status().ok());
  std::string bytes;
  EXPECT_TRUE(Read(bytes, 8).ok());
  EXPECT_EQ(bytes, "question");
}

TEST_F(EndpointTest, TheWriterUsesRoomThatComesBeforeItKnowsThatThereWasTooLittle) {
  const std::string text = stream::RandomText(kWindow * 10, 1);
  Held held;
  stream_.lock()->held_after = &held;
  Writing write(text);
  std::thread writer([&] { write.Begin(*endpoint_); });
  ASSERT_TRUE(held.HasBegun());
  std::string bytes;
  EXPECT_TRUE(Read(bytes, kWindow / 2).ok());
  Pump();  // the poller tells of the room
  GoOn(held, writer);
  EXPECT_TRUE(Read(bytes, text.size()).ok());
  EXPECT_TRUE(bytes == text);
  EXPECT_TRUE(write.IsDone(kPatience));
  EXPECT_TRUE(write.status().ok());
}

// The endpoint sends kept bytes without gRPC's knowledge. The bytes of small slices lie in the buffer of slices itself:
// the next write must not move them while another thread reads them.
TEST_F(EndpointTest, AWriteGoesBehindKeptBytesThatAnotherThreadIsWriting) {
  constexpr size_t kSmall = 20;
  const std::string first = stream::RandomText(kWindow * 3, 1);
  const std::string second = stream::RandomText(kWindow * 5, 2);
  Writing one(first, kSmall);
  one.Begin(*endpoint_);
  ASSERT_TRUE(one.IsDone(kPatience));
  std::string bytes;
  EXPECT_TRUE(Read(bytes, kWindow / 2, /*here=*/false).ok());
  Held held;
  stream_.lock()->held_before = &held;
  std::thread poller([this] { Pump(); });
  ASSERT_TRUE(held.HasBegun());
  Writing two(second, kSmall);
  two.Begin(*endpoint_);
  EXPECT_FALSE(two.IsDone(absl::ZeroDuration())) << "nobody has taken its bytes";
  GoOn(held, poller);
  EXPECT_TRUE(Read(bytes, first.size() + second.size()).ok());
  EXPECT_TRUE(bytes == first + second);
  EXPECT_TRUE(two.IsDone(kPatience));
  EXPECT_TRUE(two.status().ok());
}

TEST_F(EndpointTest, ThePollerItselfDoesNotWrite) {
  const std::string text = stream::RandomText(kWindow * 10, 1);
  const Writing write(*endpoint_, text);
  std::string bytes;
  EXPECT_TRUE(Read(bytes, kWindow / 2, /*here=*/false).ok());
  Held held;
  stream_.lock()->held_before = &held;
  absl::Notification polled;
  std::thread poller([&] {
    ends_.Pump();
    polled.Notify();
  });
  EXPECT_TRUE(held.HasBegun());
  EXPECT_TRUE(polled.WaitForNotificationWithTimeout(kPatience));
  GoOn(held, poller);
  EXPECT_TRUE(Read(bytes, text.size()).ok());
  EXPECT_TRUE(bytes == text);
}

TEST_F(EndpointTest, AShutdownDuringAWriteLeavesTheStreamToTheWriter) {
  const Reading read(*endpoint_);
  Held held;
  Writing write("bye");
  std::thread writer = WriteAndStop(write, held);
  Destroy();
  engine_->Flush();
  EXPECT_TRUE(read.IsDone(absl::ZeroDuration()));
  EXPECT_FALSE(write.IsDone(absl::ZeroDuration()));
  EXPECT_FALSE(stream_.expired());
  EXPECT_FALSE(tcp_->destroyed.HasBeenNotified());
  GoOn(held, writer);
  engine_->Flush();
  EXPECT_TRUE(write.IsDone(absl::ZeroDuration()));
  EXPECT_TRUE(write.status().ok());
  EXPECT_TRUE(stream_.expired());
  EXPECT_TRUE(tcp_->destroyed.HasBeenNotified());
  std::string bytes;
  EXPECT_TRUE(absl::IsOutOfRange(ReadToTheEnd(bytes)));
  EXPECT_EQ(bytes, "bye");
}

TEST_F(EndpointTest, AShutdownDuringAWriteEndsIt) {
  Held held;
  Writing write(stream::RandomText(kWindow * 10, 1));
  std::thread writer = WriteAndStop(write, held);
  Destroy();
  GoOn(held, writer);
  engine_->Flush();
  EXPECT_TRUE(write.IsDone(absl::ZeroDuration()));
  EXPECT_FALSE(write.status().ok());
  EXPECT_TRUE(tcp_->destroyed.HasBeenNotified());
}

TEST_F(EndpointTest, SoDoesTheConnectionsEnd) {
  const Reading read(*endpoint_);
  Held held;
  Writing write(stream::RandomText(kWindow * 10, 1));
  std::thread writer = WriteAndStop(write, held);
  tcp_->End(absl::UnavailableError("the peer has ended"));
  engine_->Flush();
  EXPECT_TRUE(read.IsDone(kPatience));
  EXPECT_FALSE(read.status().ok());
  GoOn(held, writer);
  engine_->Flush();
  EXPECT_TRUE(write.IsDone(absl::ZeroDuration()));
  EXPECT_FALSE(write.status().ok());
}

// The child has a copy of a lock or of a mark that the parent's thread has left there.
TEST_F(EndpointTest, AForkedChildDoesNotWaitForItsParentsWriter) {
  BeginUse();
  Held held;
  Writing write("hello");
  std::thread writer = WriteAndStop(write, held);
  const pid_t child = fork();
  if (child == 0) {
    alarm(absl::ToInt64Seconds(kPatience));
    Destroy();  // (the engine's thread is the parent's, too: the write's callback would come by it)
    _exit(tcp_->destroyed.HasBeenNotified() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  GoOn(held, writer);
  EXPECT_TRUE(write.IsDone(kPatience));
  EXPECT_TRUE(write.status().ok());
}

}  // namespace
}  // namespace skein::grpc_transport
