// Fairness, without any skeind: whose turn it is.
#include "core/service/turns.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/service/process.h"

namespace skein::service {
namespace {

using Pair = std::shared_ptr<VirtualQueuePair>;

Pair NewVirtualPair() { return std::make_shared<VirtualQueuePair>(UserBudget::Share()); }

// Each that had its turn has more to do, as who floods has.
class Flood {
 public:
  Pair Add(uid_t user, int process) {
    Pair pair = NewVirtualPair();
    who_[pair.get()] = {user, process};
    turns.Add(user, SessionNumbered(process), pair);
    return pair;
  }
  void Serve(int turns_taken) {
    for (int i = 0; i < turns_taken; ++i) {
      const Pair next = turns.Next();
      const auto [user, process] = who_.at(next.get());
      ++of_user[user];
      ++of_process[process];
      ++of_pair[next.get()];
      turns.Add(user, SessionNumbered(process), next);
    }
  }

  Turns turns;
  std::map<uid_t, int> of_user;
  std::map<int, int> of_process;
  std::map<VirtualQueuePair*, int> of_pair;

 private:
  std::map<VirtualQueuePair*, std::pair<uid_t, int>> who_;
};

TEST(Turns, AUserWithManyProcessesHasNoMoreThanOneWithOne) {
  Flood flood;
  for (int process = 1; process <= 20; ++process) flood.Add(1000, process);
  flood.Add(1001, 21);
  flood.Serve(400);
  EXPECT_EQ(flood.of_user[1000], 200);
  EXPECT_EQ(flood.of_user[1001], 200);
  for (int process = 1; process <= 20; ++process) EXPECT_EQ(flood.of_process[process], 10) << process;
}

TEST(Turns, AProcessWithManyQueuePairsHasNoMoreThanOneWithOne) {
  Flood flood;
  std::vector<Pair> many;
  for (int i = 0; i < 10; ++i) many.push_back(flood.Add(1000, 1));
  flood.Add(1000, 2);
  flood.Serve(200);
  EXPECT_EQ(flood.of_process[1], 100);
  EXPECT_EQ(flood.of_process[2], 100);
  for (const Pair& pair : many) EXPECT_EQ(flood.of_pair[pair.get()], 10);
}

TEST(Turns, WhoeverComesLateWaitsForOneTurnOfEachOther) {
  Flood flood;
  for (uid_t user = 1000; user < 1005; ++user) {
    for (int i = 0; i < 50; ++i) flood.Add(user, static_cast<int>(user));
  }
  flood.Serve(1000);
  flood.Add(2000, 1);
  flood.Serve(6);
  EXPECT_EQ(flood.of_user[2000], 1);
}

TEST(Turns, NoQueuePairHasTwoTurnsComing) {
  Turns turns;
  const Pair pair = NewVirtualPair();
  turns.Add(1, SessionNumbered(1), pair);
  turns.Add(1, SessionNumbered(1), pair);
  EXPECT_EQ(turns.Next(), pair);
  EXPECT_TRUE(turns.empty());
  turns.Add(1, SessionNumbered(1), pair);
  EXPECT_FALSE(turns.empty());
  EXPECT_EQ(turns.Next(), pair);
  EXPECT_TRUE(turns.empty());
}

// More users and processes than Turns keeps known.
TEST(Turns, HoweverManyThereAreEachHasItsTurnAndNoneIsLost) {
  Turns turns;
  constexpr int kUsers = 100;
  constexpr int kProcesses = 400;
  for (int round = 0; round < 3; ++round) {
    std::map<VirtualQueuePair*, int> served;
    for (int process = 1; process <= kProcesses; ++process) {
      for (uid_t user = 0; user < kUsers; ++user) {
        const Pair pair = NewVirtualPair();
        served[pair.get()] = 0;
        turns.Add(user, SessionNumbered(static_cast<int>(user) * kProcesses + process), pair);
        turns.Add(user, SessionNumbered(static_cast<int>(user) * kProcesses + process), pair);
      }
    }
    std::vector<Pair> kept;
    while (!turns.empty()) {
      kept.push_back(turns.Next());
      EXPECT_EQ(++served.at(kept.back().get()), 1);
      EXPECT_FALSE(kept.back()->queued);
    }
    EXPECT_EQ(kept.size(), size_t{kUsers} * kProcesses);
  }
}

}  // namespace
}  // namespace skein::service
