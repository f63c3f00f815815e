// A peer outside of this process's pid namespace, of which the kernel gives it no number.
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

#include "core/fabric/shm/shm_device.h"
#include "gtest/gtest.h"
#include "tests/support/fabric_end.h"

namespace skein::fabric {
namespace {

enum Outcome : int { kAsPromised, kNotPermitted, kNotConnected, kAllocatedFailed, kRegisteredWasRead, kUnclear };

// In a process that sees nothing of the one that forked it: it accepts that one's offer, and reads.
Outcome Child(int channel, RemoteAddress allocated, RemoteAddress registered) {
  if (getppid() != 0) return kNotPermitted;
  const End reader(OpenShmDevice().value());
  std::array<char, 256> offer;
  const ssize_t size = recv(channel, offer.data(), offer.size(), 0);
  if (size <= 0) return kNotConnected;
  const absl::StatusOr<std::string> answer = reader.queue_pair->Accept({offer.data(), static_cast<size_t>(size)});
  if (!answer.ok() || send(channel, answer->data(), answer->size(), 0) < 0) return kNotConnected;
  const auto read = [&](RemoteAddress from) {
    if (!Post(*reader.queue_pair, Opcode::kRead, reader.Local(0, 8), from).ok()) return CompletionStatus::kFatal;
    for (;;) {
      if (const std::vector<Completion> completions = reader.Poll(); !completions.empty()) return completions[0].status;
    }
  };
  if (read(allocated) != CompletionStatus::kSuccess) return kAllocatedFailed;
  if (read(registered) != CompletionStatus::kRemoteAccessError) return kRegisteredWasRead;
  const std::string why(reader.queue_pair->error().message());
  return why.find("pid namespace that this process does not see") == std::string::npos ? kUnclear : kAsPromised;
}

TEST(UnseenPeer, IsReadOfAllocatedMemoryAndRefusesRegisteredMemoryWithAReason) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a pid namespace";
  const End owner(OpenShmDevice().value());
  std::string text = "8 bytes.";
  const auto region =
      owner.device->Register({reinterpret_cast<std::byte*>(text.data()), text.size()}, kRemoteRead).value();
  std::array<int, 2> channel;
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel.data()), 0);
  pid_t child = -1;
  std::thread([&] {
    if (unshare(CLONE_NEWPID) != 0) return;  // of this thread's children
    child = fork();
    if (child == 0) _exit(Child(channel[1], owner.Remote(0), region->remote()));
  }).join();
  if (child < 0) GTEST_SKIP() << "not permitted here";
  close(channel[1]);
  const std::string offer = owner.queue_pair->Offer().value();
  ASSERT_EQ(send(channel[0], offer.data(), offer.size(), MSG_NOSIGNAL), static_cast<ssize_t>(offer.size()));
  std::array<char, 256> answer;
  const ssize_t size = recv(channel[0], answer.data(), answer.size(), 0);
  ASSERT_GT(size, 0);
  ASSERT_EQ(owner.queue_pair->Complete({answer.data(), static_cast<size_t>(size)}), absl::OkStatus());
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) owner.Poll();
  close(channel[0]);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kAsPromised);
}

}  // namespace
}  // namespace skein::fabric
