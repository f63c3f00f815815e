// What a host's fabrics say of each other.
#include "core/connect/host_fabrics.h"

#include <cerrno>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/base/deadline.h"
#include "core/channel/shm/shm_transport.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/descriptor_limit.h"
#include "tests/support/held_call.h"
#include "tests/support/ip_address.h"
#include "tests/support/refused_call.h"
#include "tests/support/thread_state.h"
#include "tests/unit/channel_shm/another_user.h"

namespace skein::connect {
namespace {

using testing::HasSubstr;

// Of a channel.
struct End {
  explicit End(const std::shared_ptr<channel::Transport>& transport)
      : group(transport->NewGroup(false).value()), channel(group->Open({wire::kRingGranule}).value()) {}

  std::unique_ptr<channel::ChannelGroup> group;
  std::unique_ptr<channel::Channel> channel;
};

SharedMemoryOptions Off() {
  SharedMemoryOptions off;
  off.enabled = false;
  return off;
}

SharedMemoryOptions MeetingIn(const char* directory) {
  SharedMemoryOptions options;
  options.rendezvous = directory;
  return options;
}

class HostFabricsTest : public testing::Test {
 protected:
  const Route route_{Ip("10.9.0.1"), Ip("10.9.0.1")};
};

// It was told that shared memory is switched off, and nothing else.
TEST_F(HostFabricsTest, WhoHasNoSharedMemoryHearsWhatIsWrongWithRdma) {
  const auto fabrics = CreateHostFabrics(Off(), {});
  fabrics->Failed(route_, "rdma");
  const std::vector<Candidate> candidates = fabrics->For(route_);
  ASSERT_EQ(candidates.size(), 2U);
  EXPECT_EQ(candidates[0].why_not.code, FallbackCode::kFabricOff);
  EXPECT_EQ(candidates[1].why_not.code, FallbackCode::kSettling);
}

TEST_F(HostFabricsTest, WhoHasSharedMemoryHearsNothingOfRdma) {
  const auto fabrics = CreateHostFabrics({}, {});
  fabrics->Failed(route_, "rdma");
  const std::vector<Candidate> candidates = fabrics->For(route_);
  ASSERT_EQ(candidates.size(), 1U);
  EXPECT_NE(candidates[0].transport, nullptr);
}

class RdmaByTest : public testing::Test {
 protected:
  // Of which kinds the candidates for another host are.
  std::vector<std::string> KindsWith(RdmaBy by) {
    RdmaOptions rdma;
    rdma.by = by;
    rdma.service = "/nowhere";
    rdma.retry_delay = absl::Hours(1);
    fabrics_ = CreateHostFabrics({}, rdma);
    candidates_ = fabrics_->For(route_);
    std::vector<std::string> kinds;
    for (const Candidate& candidate : candidates_) kinds.push_back(candidate.kind);
    return kinds;
  }

  const Route route_{Ip("10.9.0.1"), Ip("10.9.0.2")};
  std::shared_ptr<Fabrics> fabrics_;
  std::vector<Candidate> candidates_;
};

TEST_F(RdmaByTest, AutoSaysNothingOfASkeindThatIsNotThere) {
  EXPECT_THAT(KindsWith(RdmaBy::kAuto), testing::ElementsAre("shm", "rdma"));
}

TEST_F(RdmaByTest, DirectIsTheOwnDeviceAlone) {
  EXPECT_THAT(KindsWith(RdmaBy::kDirect), testing::ElementsAre("shm", "rdma"));
}

TEST_F(RdmaByTest, ServiceIsSkeindAloneAndSaysWhereItIsMissed) {
  ASSERT_THAT(KindsWith(RdmaBy::kService), testing::ElementsAre("shm", "rdma via skeind"));
  EXPECT_EQ(candidates_[1].why_not.code, FallbackCode::kNoRdma);
  EXPECT_THAT(candidates_[1].why_not.detail, HasSubstr("no skeind listens in /nowhere"));
}

TEST_F(RdmaByTest, AFailureOfTheOneSettlesThatOneAlone) {
  ASSERT_THAT(KindsWith(RdmaBy::kService), testing::ElementsAre("shm", "rdma via skeind"));
  fabrics_->Failed(route_, "rdma");
  EXPECT_EQ(fabrics_->For(route_)[1].why_not.code, FallbackCode::kNoRdma);
  fabrics_->Failed(route_, "rdma via skeind");
  EXPECT_EQ(fabrics_->For(route_)[1].why_not.code, FallbackCode::kSettling);
}

// On a thread that is refused fstatfs(), as by a sandbox.
void InSandbox(const std::function<void()>& act) {
  std::thread([&act] {
    ASSERT_TRUE(Refuse({SYS_fstatfs}, EPERM));
    act();
  }).join();
}

RdmaOptions NoRdma(absl::Duration retry_delay) {
  RdmaOptions rdma;
  rdma.enabled = false;
  rdma.retry_delay = retry_delay;
  return rdma;
}

// It was found out in the midst of each connection.
TEST_F(HostFabricsTest, ARefusalIsFoundOutBeforeAnythingIsOffered) {
  const auto fabrics = CreateHostFabrics({}, NoRdma(absl::Hours(1)));
  InSandbox([&] {
    const Fallback why = fabrics->For(route_)[0].why_not;
    EXPECT_EQ(why.code, FallbackCode::kNotPermitted);
    EXPECT_THAT(why.detail, HasSubstr("fstatfs"));
  });
  const Candidate later = fabrics->For(route_)[0];
  EXPECT_EQ(later.transport, nullptr) << "it is not rehearsed for each connection";
  EXPECT_THAT(later.why_not.detail, HasSubstr("lately: "));
}

TEST_F(HostFabricsTest, ModeRequireRehearsesEachTime) {
  const auto fabrics = CreateHostFabrics({}, NoRdma(absl::ZeroDuration()));
  InSandbox([&] { EXPECT_EQ(fabrics->For(route_)[0].transport, nullptr); });
  EXPECT_NE(fabrics->For(route_)[0].transport, nullptr);
}

// A thread that rehearses and stops in the midst of it, at a call that each rehearsal makes once.
class HeldRehearsal {
 public:
  HeldRehearsal(Fabrics& fabrics, const Route& route)
      : thread_([this, &fabrics, &route] {
          if (held_.HoldThisThread(SYS_listen)) candidate_ = fabrics.For(route)[0];
        }) {
    EXPECT_TRUE(held_.Await());
  }
  ~HeldRehearsal() { GoOn(); }

  Candidate GoOn() {
    held_.LetGo();
    if (thread_.joinable()) thread_.join();
    return candidate_;
  }

 private:
  HeldCall held_;
  Candidate candidate_;
  std::thread thread_;
};

// They waited for as long as it took, those to other hosts, too.
TEST_F(HostFabricsTest, WhileARehearsalDoesNotEndOthersAreToldSo) {
  const auto fabrics = CreateHostFabrics({}, {});
  HeldRehearsal rehearsal(*fabrics, route_);
  const Route elsewhere{Ip("10.9.0.1"), Ip("10.9.0.2")};
  std::future<Fallback> here = std::async(std::launch::async, [&] { return fabrics->For(route_)[0].why_not; });
  std::future<Fallback> there = std::async(std::launch::async, [&] { return fabrics->For(elsewhere)[0].why_not; });
  const Deadline deadline = After(absl::Seconds(10));
  const bool here_is_told = here.wait_until(deadline) == std::future_status::ready;
  const bool there_is_told = there.wait_until(deadline) == std::future_status::ready;
  EXPECT_NE(rehearsal.GoOn().transport, nullptr);
  EXPECT_TRUE(here_is_told);
  EXPECT_TRUE(there_is_told);
  const Fallback why = here.get();
  EXPECT_EQ(why.code, FallbackCode::kTimeout);
  EXPECT_THAT(why.detail, HasSubstr("a rehearsal of shared memory"));
  EXPECT_NE(fabrics->For(route_)[0].transport, nullptr) << "the rehearsal has ended since";
}

// A caller that comes a moment too early is not on TCP for that.
TEST_F(HostFabricsTest, OfARehearsalThatEndsInTimeAllCallersHaveTheResult) {
  Candidate first;
  Candidate second;
  // A machine that stands still lets the second caller wait in vain: another try tells.
  for (int tries = 0; tries < 20 && second.transport == nullptr; ++tries) {
    const auto fabrics = CreateHostFabrics({}, NoRdma(absl::Hours(1)));
    HeldRehearsal rehearsal(*fabrics, route_);
    std::promise<pid_t> thread;
    std::future<Candidate> waiting = std::async(std::launch::async, [&] {
      thread.set_value(gettid());
      return fabrics->For(route_)[0];
    });
    const ThreadState state(thread.get_future().get());
    while (!state.IsFoundAsleep(After(absl::Milliseconds(1))) &&
           waiting.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    }
    first = rehearsal.GoOn();
    second = waiting.get();
  }
  EXPECT_NE(second.transport, nullptr) << ToString(second.why_not);
  EXPECT_EQ(second.transport, first.transport) << "one rehearsal is enough";
}

// A process may enter its sandbox late. Each connection failed, for ever.
TEST_F(HostFabricsTest, ARefusalInTheMidstOfAConnectionLeavesSharedMemoryAloneForAWhile) {
  const auto fabrics = CreateHostFabrics({}, NoRdma(absl::Hours(1)));
  const End refused(fabrics->For(route_)[0].transport);
  const End peer(channel::OpenShm());
  const channel::Channel::Answer answer = peer.channel->Accept(refused.channel->Offer().value()).value();
  EXPECT_NE(fabrics->For(route_)[0].transport, nullptr);
  InSandbox([&] { EXPECT_FALSE(refused.channel->Complete(answer).ok()); });
  const Candidate candidate = fabrics->For(route_)[0];
  EXPECT_EQ(candidate.transport, nullptr);
  EXPECT_EQ(candidate.why_not.code, FallbackCode::kNotPermitted);
  EXPECT_THAT(candidate.why_not.detail, HasSubstr("lately: cannot look at a memfd (fstatfs)"));
}

// With a server of user 65534, which the kernel does not let this process meet. Why the next one is not met.
absl::Status AfterARefusalWithAnotherUser(Fabrics& fabrics, const Route& route) {
  const std::shared_ptr<channel::Transport> client = fabrics.For(route)[0].transport;
  const auto meet = [&client](const std::function<void(const std::function<void()>&)>& on) {
    const End active(client);
    const End passive(channel::OpenShm({.peer_users = PeerUsers({0})}));
    const std::string offer = active.channel->Offer().value();
    channel::Channel::Answer answer;
    AsAnotherUser([&] { answer = passive.channel->Accept(offer).value(); });
    absl::Status status;
    on([&] { status = active.channel->Complete(answer); });
    return status;
  };
  EXPECT_THAT(meet(InSandbox).message(), HasSubstr("fstatfs"));
  return meet([](const std::function<void()>& act) { act(); });
}

// What a peer has passed may be why the kernel refused it, so that it was all peers' loss.
TEST_F(HostFabricsTest, ARefusalWithAnotherUserLeavesThatUserAloneForAWhile) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  SharedMemoryOptions shm;
  shm.peer_users = PeerUsers({65534});
  const auto fabrics = CreateHostFabrics(shm, NoRdma(absl::Hours(1)));
  EXPECT_THAT(AfterARefusalWithAnotherUser(*fabrics, route_).message(), HasSubstr("lately, with user 65534: "));
  EXPECT_NE(fabrics->For(route_)[0].transport, nullptr);
  const auto unsettled = CreateHostFabrics(shm, NoRdma(absl::ZeroDuration()));
  EXPECT_EQ(AfterARefusalWithAnotherUser(*unsettled, route_), absl::OkStatus()) << "mode require tries all the same";
}

TEST_F(HostFabricsTest, WithFewDescriptorsLeftNothingIsOffered) {
  const auto fabrics = CreateHostFabrics({}, NoRdma(absl::Hours(1)));
  const std::vector<int> few = kSanitizerNeedsDescriptors ? std::vector<int>{5, 11} : std::vector<int>{0, 1, 5, 11};
  for (const int left : few) {
    Fallback why;
    {
      const DescriptorLimit limit(left);
      why = fabrics->For(route_)[0].why_not;
    }
    EXPECT_EQ(why.code, FallbackCode::kResources);
    EXPECT_THAT(why.detail, HasSubstr("ulimit -n"));
  }
  EXPECT_NE(fabrics->For(route_)[0].transport, nullptr) << "there are more again";
}

TEST_F(HostFabricsTest, NorDoesWhoHasSwitchedBothOff) {
  RdmaOptions rdma;
  rdma.enabled = false;
  EXPECT_EQ(CreateHostFabrics(Off(), rdma)->For(route_).size(), 1U);
}

TEST_F(HostFabricsTest, AProcessHasOneForEachSetOfOptions) {
  std::shared_ptr<Fabrics> first = HostFabricsOfProcess(Off(), {});
  EXPECT_EQ(HostFabricsOfProcess(Off(), {}), first);
  EXPECT_NE(HostFabricsOfProcess({}, {}), first);
  EXPECT_NE(HostFabricsOfProcess(Off(), NoRdma(absl::Hours(1))), first);
  first->Failed(route_, "rdma");
  const auto settles = [this](const std::shared_ptr<Fabrics>& fabrics) {
    return absl::c_any_of(fabrics->For(route_),
                          [](const Candidate& each) { return each.why_not.code == FallbackCode::kSettling; });
  };
  EXPECT_TRUE(settles(HostFabricsOfProcess(Off(), {})));
  first.reset();
  EXPECT_FALSE(settles(HostFabricsOfProcess(Off(), {}))) << "with the last user goes what was known";
}

// Two pods of one host have addresses of their own: the directory that both have mounted decides.
TEST_F(HostFabricsTest, WhoHasARendezvousOffersSharedMemoryToOtherAddresses) {
  const Route elsewhere{Ip("10.9.0.1"), Ip("10.9.0.2")};
  const Candidate without = CreateHostFabrics({}, {})->For(elsewhere)[0];
  EXPECT_EQ(without.transport, nullptr);
  EXPECT_EQ(without.why_not.code, FallbackCode::kRemotePeer);
  EXPECT_NE(CreateHostFabrics(MeetingIn("/run/skein"), {})->For(elsewhere)[0].transport, nullptr);
}

}  // namespace
}  // namespace skein::connect
