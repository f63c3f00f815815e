// Wake-ups for which the kernel has no memory (ENOBUFS): they are tried again. And wake-ups by the device.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/service/completions.h"
#include "tests/support/hooked_device.h"
#include "tests/support/refused_call.h"
#include "tests/unit/service/two_hosts.h"

namespace skein::service {
namespace {

bool HasNews(int fd) {
  pollfd wait = {fd, POLLIN, 0};
  return poll(&wait, 1, 0) == 1;
}

// Does that in a thread in which sendmsg is refused. False: not to be had here.
template <typename Function>
bool Refused(Function what) {
  bool refused = false;
  std::thread([&] {
    refused = Refuse({SYS_sendmsg}, ENOBUFS);
    if (refused) what();
  }).join();
  return refused;
}

TEST(RefusedWakes, OfAProcess) {
  const SharedMemory memory =
      CreateShared("completions", fabric::service::CompletionBytes(4), /*peers_write=*/true).value();
  Completions::Unwoken unwoken;
  const auto budget = std::make_shared<UserBudget>(UserLimits{});
  const auto queue =
      std::make_shared<Completions>(budget->Take(UserBudget::Kind::kMapping, 1).value(),
                                    MapSealed(memory.memfd.get(), memory.mapping.size()).value(), 4, unwoken);
  std::array<int, 2> ends;
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  const UniqueFd sleeper(ends[0]);
  queue->WakeBy(UniqueFd(ends[1]));
  auto& sleeps = reinterpret_cast<fabric::service::CompletionHeader*>(memory.mapping.data())->sleeps;
  fabric::service::PutUp(sleeps);
  const bool could = Refused([&] {
    ASSERT_TRUE(queue->Add({}));
    queue->Publish();
  });
  if (!could) GTEST_SKIP() << "no seccomp";
  EXPECT_FALSE(HasNews(sleeper.get()));
  ASSERT_EQ(unwoken.size(), 1U);
  EXPECT_EQ(unwoken[0].lock(), queue);
  queue->WakeIfAsleep();
  EXPECT_TRUE(HasNews(sleeper.get()));
  EXPECT_EQ(unwoken.size(), 1U) << "no second time";
  // A socket that is full has woken it.
  for (int i = 0; i < 10'000; ++i) {
    fabric::service::PutUp(sleeps);
    queue->WakeIfAsleep();
  }
  EXPECT_EQ(unwoken.size(), 1U);
}

// A skeind that agrees to everything, and has gone to sleep when it has heard so many requests.
class SleepySkeind {
 public:
  explicit SleepySkeind(int requests)
      : listens_(ListenAtPath(folder_.File(std::string(fabric::service::kSocketName))).value()),
        thread_([this, requests] { Serve(requests); }) {}
  ~SleepySkeind() { thread_.join(); }

  const std::string& folder() const { return folder_.path(); }
  void AwaitSleep() {
    EXPECT_TRUE(Eventually([&] { return asleep_.load(); }));
  }
  bool woken() const { return woken_; }

 private:
  using Request = fabric::service::Request;
  using Operation = fabric::service::Operation;

  void Serve(int requests) {
    pollfd wait = {listens_.get(), POLLIN, 0};
    poll(&wait, 1, 10'000);
    const UniqueFd socket = AcceptQueued(listens_.get());
    Mapping page;
    std::vector<UniqueFd> kept;  // what it has been passed: the other end would see it close
    for (int heard = 0;;) {
      wait = {socket.get(), POLLIN, 0};
      poll(&wait, 1, 10'000);
      SocketMessage message;
      if (ReceiveMessage(socket.get(), message) != ReceiveResult::kMessage) return;
      Request request;
      if (!Request::Parse(message.view(), request)) return;
      if (request.operation == Operation::kWork) woken_ = true;
      if (request.operation == Operation::kWork) continue;
      if (request.operation == Operation::kPassPage) page = MapSealed(message.fd.get(), request.size).value();
      kept.push_back(std::move(message.fd));
      fabric::service::Reply reply;
      reply.number = reply.other = static_cast<uint32_t>(++heard);
      reply.size = 1 << 20;
      SendMessage(socket.get(), reply.view());
      if (heard != requests) continue;
      fabric::service::PutUp(reinterpret_cast<fabric::service::SessionPage*>(page.data())->skeind_sleeps);
      asleep_ = true;
    }
  }

  const TemporaryFolder folder_{"/tmp"};
  const UniqueFd listens_;
  std::atomic<bool> asleep_ = false;
  std::atomic<bool> woken_ = false;
  std::thread thread_;
};

TEST(RefusedWakes, OfSkeind) {
  SleepySkeind skeind(/*requests=*/6);
  const auto device = fabric::OpenServiceDevice(skeind.folder(), "").value();
  const auto queue = device->CreateCompletionQueue(4).value();
  fabric::QueuePairOptions options;
  options.send_queue = options.receive_queue = queue.get();
  const auto pair = device->CreateQueuePair(options).value();
  ASSERT_EQ(pair->Accept("an offer").status(), absl::OkStatus());
  skeind.AwaitSleep();
  const bool could = Refused([&] {
    fabric::SendRequest write;
    write.opcode = fabric::Opcode::kWrite;
    EXPECT_EQ(pair->PostSend({&write, 1}), absl::OkStatus());
  });
  if (!could) GTEST_SKIP() << "no seccomp";
  EXPECT_FALSE(skeind.woken());
  // Whoever sleeps for the completion wakes skeind.
  ASSERT_EQ(queue->Arm(), absl::OkStatus());
  EXPECT_TRUE(queue->Sleep(-1, 1000).by_queue);
  queue->AckEvents();
  EXPECT_TRUE(Eventually([&] { return skeind.woken(); }));
}

// The device wakes skeind when it answers a question. A skeind that asked one at each wake-up would never sleep.
TEST(WakeUpsByTheDevice, AreNoReasonToAskItWhetherThePeerIsThere) {
  const UniqueFd always_readable(eventfd(1, EFD_CLOEXEC));
  std::atomic<int> looks = 0;
  std::atomic<int> questions = 0;
  fabric::Hooks hooks;
  hooks.fd = [&](int) { return always_readable.get(); };
  hooks.looking = [&] { ++looks; };
  hooks.refreshing = [&] { ++questions; };
  fabric::Simulation simulation{20261129, {}};
  SkeindHost one(simulation, std::make_shared<fabric::HookedDevice>(simulation.CreateDevice("one"), hooks), {},
                 TrunkPatience{absl::Hours(1), absl::Hours(1), absl::Hours(1)});
  SkeindHost other(simulation, "other");
  Couple(one, other).ExpectWorks();
  const int before = looks;
  EXPECT_TRUE(Eventually([&] { return looks > before + 10; }));
  EXPECT_EQ(questions, 0);
}

}  // namespace
}  // namespace skein::service
