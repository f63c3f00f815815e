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
#include "tests/unit/grpc_transport/iomgr/endpoint_fixture.h"

namespace skein::grpc_transport {
namespace {

TEST_F(SkeinEndpointTest, ThePollerBringsBytesWhileAWriterWaits) {
  const grpc_core::ExecCtx exec_ctx;
  const Reading read(endpoint_);
  Held held;
  Writing write("question");
  std::thread writer = WriteAndStop(write, held);
  EXPECT_TRUE(stream::WriteText(*streams_.server, "word").ok());
  Pump();
  EXPECT_TRUE(read.IsDone(absl::ZeroDuration()));
  EXPECT_TRUE(read.error().ok());
  EXPECT_FALSE(write.IsDone(absl::ZeroDuration()));
  GoOn(held, writer);
  EXPECT_TRUE(write.IsDone(kPatience));
  EXPECT_TRUE(write.error().ok());
  std::string bytes;
  EXPECT_TRUE(Read(bytes, 8).ok());
  EXPECT_EQ(bytes, "question");
}

TEST_F(SkeinEndpointTest, TheWriterUsesRoomThatComesBeforeItKnowsThatThereWasTooLittle) {
  const grpc_core::ExecCtx exec_ctx;
  const std::string text = stream::RandomText(kWindow * 10, 1);
  Held held;
  stream_.lock()->held_after = &held;
  Writing write(text);
  std::thread writer = OnAnotherThread([&] { write.Begin(endpoint_); });
  ASSERT_TRUE(held.HasBegun());
  std::string bytes;
  EXPECT_TRUE(Read(bytes, kWindow / 2).ok());
  Pump();  // the poller tells of the room
  GoOn(held, writer);
  EXPECT_TRUE(Read(bytes, text.size()).ok());
  EXPECT_TRUE(bytes == text);
  EXPECT_TRUE(write.IsDone(kPatience));
  EXPECT_TRUE(write.error().ok());
}

// The endpoint sends kept bytes without gRPC's knowledge. The bytes of small slices lie in the buffer of slices itself:
// the next write must not move them while another thread reads them.
TEST_F(SkeinEndpointTest, AWriteGoesBehindKeptBytesThatAnotherThreadIsWriting) {
  constexpr size_t kSmall = 20;
  const grpc_core::ExecCtx exec_ctx;
  const std::string first = stream::RandomText(kWindow * 3, 1);
  const std::string second = stream::RandomText(kWindow * 5, 2);
  Writing one(first, kSmall);
  one.Begin(endpoint_);
  ASSERT_TRUE(one.IsDone(kPatience));
  std::string bytes;
  EXPECT_TRUE(Read(bytes, kWindow / 2, /*here=*/false).ok());
  Held held;
  stream_.lock()->held_before = &held;
  std::thread poller = OnAnotherThread([this] { Pump(); });
  ASSERT_TRUE(held.HasBegun());
  Writing two(second, kSmall);
  two.Begin(endpoint_);
  EXPECT_FALSE(two.IsDone(absl::ZeroDuration())) << "nobody has taken its bytes";
  GoOn(held, poller);
  EXPECT_TRUE(Read(bytes, first.size() + second.size()).ok());
  EXPECT_TRUE(bytes == first + second);
  EXPECT_TRUE(two.IsDone(kPatience));
  EXPECT_TRUE(two.error().ok());
}

TEST_F(SkeinEndpointTest, ThePollerItselfDoesNotWrite) {
  const grpc_core::ExecCtx exec_ctx;
  const std::string text = stream::RandomText(kWindow * 10, 1);
  const Writing write(endpoint_, text);
  std::string bytes;
  EXPECT_TRUE(Read(bytes, kWindow / 2, /*here=*/false).ok());
  Held held;
  stream_.lock()->held_before = &held;
  absl::Notification polled;
  std::thread poller = OnAnotherThread([&] {
    ends_.Pump();
    polled.Notify();  // and leaves the ExecCtx: its closures write
  });
  EXPECT_TRUE(held.HasBegun());
  EXPECT_TRUE(polled.WaitForNotificationWithTimeout(kPatience));
  GoOn(held, poller);
  EXPECT_TRUE(Read(bytes, text.size()).ok());
  EXPECT_TRUE(bytes == text);
}

TEST_F(SkeinEndpointTest, AShutdownDuringAWriteLeavesTheStreamToTheWriter) {
  const grpc_core::ExecCtx exec_ctx;
  const Reading read(endpoint_);
  Held held;
  Writing write("bye");
  std::thread writer = WriteAndStop(write, held);
  grpc_endpoint_shutdown(endpoint_, GRPC_ERROR_CREATE("enough"));
  grpc_core::ExecCtx::Get()->Flush();
  EXPECT_TRUE(read.IsDone(absl::ZeroDuration()));
  EXPECT_FALSE(write.IsDone(absl::ZeroDuration()));
  EXPECT_FALSE(stream_.expired());
  EXPECT_FALSE(tcp_.shut_down().HasBeenNotified());
  GoOn(held, writer);
  EXPECT_TRUE(write.IsDone(absl::ZeroDuration()));
  EXPECT_TRUE(write.error().ok());
  EXPECT_TRUE(stream_.expired());
  EXPECT_TRUE(tcp_.destroyed().HasBeenNotified());
  std::string bytes;
  EXPECT_TRUE(absl::IsOutOfRange(ReadToTheEnd(bytes)));
  EXPECT_EQ(bytes, "bye");
}

TEST_F(SkeinEndpointTest, AShutdownDuringAWriteEndsIt) {
  const grpc_core::ExecCtx exec_ctx;
  Held held;
  Writing write(stream::RandomText(kWindow * 10, 1));
  std::thread writer = WriteAndStop(write, held);
  grpc_endpoint_shutdown(endpoint_, GRPC_ERROR_CREATE("enough"));
  GoOn(held, writer);
  EXPECT_TRUE(write.IsDone(absl::ZeroDuration()));
  EXPECT_FALSE(write.error().ok());
  EXPECT_TRUE(tcp_.destroyed().HasBeenNotified());
}

TEST_F(SkeinEndpointTest, SoDoesTheConnectionsEnd) {
  const grpc_core::ExecCtx exec_ctx;
  const Reading read(endpoint_);
  Held held;
  Writing write(stream::RandomText(kWindow * 10, 1));
  std::thread writer = WriteAndStop(write, held);
  tcp_.End(GRPC_ERROR_CREATE("the peer has ended"));
  grpc_core::ExecCtx::Get()->Flush();
  EXPECT_TRUE(read.IsDone(kPatience));
  EXPECT_FALSE(read.error().ok());
  GoOn(held, writer);
  EXPECT_TRUE(write.IsDone(absl::ZeroDuration()));
  EXPECT_FALSE(write.error().ok());
}

// The child has a copy of a lock or of a mark that the parent's thread has left there.
TEST_F(SkeinEndpointTest, AForkedChildDoesNotWaitForItsParentsWriter) {
  const grpc_core::ExecCtx exec_ctx;
  BeginUse();
  Held held;
  Writing write("hello");
  std::thread writer = WriteAndStop(write, held);
  const pid_t child = fork();
  if (child == 0) {
    alarm(absl::ToInt64Seconds(kPatience));
    grpc_endpoint_shutdown(endpoint_, GRPC_ERROR_CREATE("enough"));
    grpc_core::ExecCtx::Get()->Flush();
    _exit(write.IsDone(absl::ZeroDuration()) && !write.error().ok() && tcp_.shut_down().HasBeenNotified() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  GoOn(held, writer);
  EXPECT_TRUE(write.IsDone(kPatience));
  EXPECT_TRUE(write.error().ok());
}

}  // namespace
}  // namespace skein::grpc_transport
