#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "examples/transactions/coordinator.h"
#include "examples/transactions/store.h"
#include "examples/transactions/workload.h"

namespace skein::transactions {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The servers of a layout, in this process.
class Cluster {
 public:
  explicit Cluster(
      const Layout& of, const std::function<Value(uint64_t)>& initial = [](uint64_t) { return Value{}; })
      : layout(of) {
    for (size_t i = 0; i < layout.servers; ++i) {
      Server& server = servers_.emplace_back(layout, i);
      for (size_t partition = 0; partition < layout.servers; ++partition) {
        if (!layout.Holds(i, partition)) continue;
        std::vector<Item>& items = server.partitions[partition];
        items.resize(layout.ItemsOf(partition));
        server.store.Hold(partition,
                          absl::MakeSpan(reinterpret_cast<std::byte*>(items.data()), items.size() * sizeof(Item)),
                          initial);
      }
    }
  }

  std::unique_ptr<Coordinator> Connect(bool one_sided = true) {
    std::vector<std::unique_ptr<Channel>> channels;
    for (size_t i = 0; i < layout.servers; ++i) channels.push_back(std::make_unique<DirectChannel>(servers_[i], i));
    return std::make_unique<Coordinator>(layout, std::move(channels), one_sided);
  }

  absl::Status Call(size_t server, Function function, const Words& request) {
    return servers_[server].functions.at(function)(BytesOf(request)).status();
  }
  const Item& At(uint64_t key, size_t copy = 0) {
    const size_t partition = layout.PartitionOf(key);
    return servers_[layout.HolderOf(partition, copy)].partitions.at(partition)[key / layout.servers];
  }
  void ExpectCopiesAreAlikeAndUnlocked() {
    for (uint64_t key = 0; key < layout.keys; ++key) {
      EXPECT_EQ(At(key).word % 2, 0u) << key;
      for (size_t copy = 1; copy < layout.copies; ++copy) {
        EXPECT_EQ(At(key).word, At(key, copy).word) << key;
        EXPECT_EQ(At(key).value, At(key, copy).value) << key;
      }
    }
  }

  const Layout layout;

 private:
  struct Server {
    Server(const Layout& layout, size_t number) : store(layout, number), functions(FunctionsOf(store)) {}
    Store store;
    examples::Functions functions;
    std::mutex mu;  // a server runs its functions on one thread
    std::map<size_t, std::vector<Item>> partitions;
  };

  class DirectChannel final : public Channel {
   public:
    DirectChannel(Server& server, size_t number) : server_(server), own_(server.partitions.at(number)) {}

    void Start(absl::Span<const Call> calls) override {
      for (const Call& call : calls) {
        std::this_thread::yield();  // other threads' calls come between
        const std::lock_guard lock(server_.mu);
        const absl::StatusOr<absl::string_view> answer = server_.functions.at(call.function)(call.bytes);
        answers_.push_back(answer.ok() ? absl::StatusOr<std::string>(*answer) : answer.status());
      }
    }
    absl::StatusOr<std::string> Finish() override {
      absl::StatusOr<std::string> answer = std::move(answers_.front());
      answers_.pop_front();
      return answer;
    }
    absl::StatusOr<uint64_t> ReadWord(uint64_t place) override {
      return std::atomic_ref<uint64_t>(own_[place / sizeof(Item)].word).load(std::memory_order_acquire);
    }

   private:
    Server& server_;
    std::vector<Item>& own_;
    std::deque<absl::StatusOr<std::string>> answers_;
  };

  std::deque<Server> servers_;
};

absl::Status RunOne(Coordinator& coordinator, Task<absl::Status> task) {
  std::vector<Task<absl::Status>> tasks;
  tasks.push_back(std::move(task));
  return coordinator.Run(tasks);
}

// A transaction that has committed: the versions it read; of those it wrote, it wrote the next ones.
struct Committed {
  std::map<uint64_t, uint64_t> reads;
  std::map<uint64_t, uint64_t> writes;
};

// Adya's graph: an edge leads from each transaction to those that must come after it. No cycle: there is an order in
// which one after the other would have done the same.
bool IsSerialisable(const std::vector<Committed>& history) {
  std::map<std::pair<uint64_t, uint64_t>, size_t> writer;  // of a key's version
  for (size_t i = 0; i < history.size(); ++i) {
    for (const auto& [key, version] : history[i].writes) {
      if (!writer.try_emplace({key, version + 1}, i).second) return false;  // a lost update
    }
  }
  std::vector<std::vector<size_t>> after(history.size());
  const auto add = [&](size_t i, uint64_t key, uint64_t version) {
    const auto before = writer.find({key, version});
    if (before != writer.end()) after[before->second].push_back(i);
    const auto next = writer.find({key, version + 1});
    if (next != writer.end() && next->second != i) after[i].push_back(next->second);
  };
  for (size_t i = 0; i < history.size(); ++i) {
    for (const auto& [key, version] : history[i].reads) add(i, key, version);
    for (const auto& [key, version] : history[i].writes) add(i, key, version);
  }
  std::vector<size_t> before(history.size(), 0);
  for (const auto& nexts : after)
    for (const size_t next : nexts) ++before[next];
  std::vector<size_t> ready;
  for (size_t i = 0; i < before.size(); ++i)
    if (before[i] == 0) ready.push_back(i);
  size_t ordered = 0;
  for (; !ready.empty(); ++ordered) {
    const size_t i = ready.back();
    ready.pop_back();
    for (const size_t next : after[i])
      if (--before[next] == 0) ready.push_back(next);
  }
  return ordered == history.size();
}

Task<absl::Status> ReadTwoWriteOne(Coordinator& coordinator, Random& random, uint64_t keys, int transactions,
                                   std::vector<Committed>& history) {
  for (int i = 0; i < transactions; ++i) {
    std::set<uint64_t> chosen;
    while (chosen.size() < 3) chosen.insert(random() % keys);
    const std::vector<uint64_t> all(chosen.begin(), chosen.end());
    const size_t written = random() % 3;
    Committed done;
    std::vector<uint64_t> reads;
    for (size_t k = 0; k < all.size(); ++k)
      if (k != written) reads.push_back(all[k]);
    const std::vector<uint64_t> writes = {all[written]};
    size_t attempt = 0;
    for (bool committed = false; !committed;) {
      Transaction transaction(coordinator);
      absl::Status status = co_await transaction.Execute(reads, writes);
      if (status.ok()) {
        for (const uint64_t key : reads) done.reads[key] = transaction.VersionOf(key);
        done.writes[writes[0]] = transaction.VersionOf(writes[0]);
        transaction.Set(writes[0])[0] += 1;
        status = co_await transaction.Commit();
      }
      committed = status.ok();
      if (committed) continue;
      if (!absl::IsAborted(status)) co_return status;
      const absl::Status aborted = co_await transaction.Abort();
      if (!aborted.ok()) co_return aborted;
      const absl::Status stood_back = co_await coordinator.StandBack(++attempt);
      if (!stood_back.ok()) co_return stood_back;
    }
    history.push_back(std::move(done));
  }
  co_return absl::OkStatus();
}

class ConcurrentTransactions : public ::testing::TestWithParam<bool> {};

TEST_P(ConcurrentTransactions, AreSerialisable) {
  constexpr uint64_t kKeys = 8;
  constexpr size_t kThreads = 3;
  constexpr size_t kCoroutines = 4;
  Cluster cluster({kKeys, 3, 3});
  std::vector<std::vector<Committed>> histories(kThreads);
  std::vector<absl::Status> ends(kThreads);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const std::unique_ptr<Coordinator> coordinator = cluster.Connect(GetParam());
      std::vector<Random> randoms;
      for (size_t i = 0; i < kCoroutines; ++i) randoms.emplace_back(t * kCoroutines + i + 1);
      std::vector<Task<absl::Status>> tasks;
      for (Random& random : randoms) tasks.push_back(ReadTwoWriteOne(*coordinator, random, kKeys, 100, histories[t]));
      ends[t] = coordinator->Run(tasks);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<Committed> all;
  for (const auto& history : histories) all.insert(all.end(), history.begin(), history.end());
  for (const absl::Status& end : ends) EXPECT_TRUE(end.ok()) << end;
  EXPECT_EQ(all.size(), kThreads * kCoroutines * 100);
  EXPECT_TRUE(IsSerialisable(all));
  cluster.ExpectCopiesAreAlikeAndUnlocked();
  int64_t writes = 0;
  for (uint64_t key = 0; key < kKeys; ++key) writes += cluster.At(key).value[0];
  EXPECT_EQ(writes, static_cast<int64_t>(all.size()));
}

INSTANTIATE_TEST_SUITE_P(Validating, ConcurrentTransactions, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "OneSided" : "ByCalls"; });

Task<absl::Status> Write(Coordinator& coordinator, std::vector<uint64_t> keys) {
  Transaction transaction(coordinator);
  co_return co_await transaction.Execute({}, std::move(keys));
}

TEST(Transactions, OfTooManyKeysAreRefusedAndLockNothing) {
  Cluster cluster({kMostKeys + 1, 1, 1});
  std::vector<uint64_t> keys(kMostKeys + 1);
  std::iota(keys.begin(), keys.end(), 0);
  const std::unique_ptr<Coordinator> coordinator = cluster.Connect();
  EXPECT_TRUE(absl::IsInvalidArgument(RunOne(*coordinator, Write(*coordinator, keys))));
  Words request = {7};
  for (const uint64_t key : keys) request.insert(request.end(), {key, 1});
  EXPECT_TRUE(absl::IsInvalidArgument(cluster.Call(0, kExecute, request)));
  cluster.ExpectCopiesAreAlikeAndUnlocked();
}

TEST(SerialisableHistories, AreDistinguishedFromOthers) {
  EXPECT_TRUE(IsSerialisable({{{{1, 0}}, {{2, 0}}}, {{{2, 1}}, {{1, 0}}}}));       // one after the other
  EXPECT_FALSE(IsSerialisable({{{{1, 0}}, {{2, 0}}}, {{{2, 0}}, {{1, 0}}}}));      // write skew
  EXPECT_FALSE(IsSerialisable({{{}, {{1, 0}}}, {{}, {{1, 0}}}}));                  // a lost update
  EXPECT_FALSE(IsSerialisable({{{}, {{1, 0}, {2, 0}}}, {{{1, 1}, {2, 0}}, {}}}));  // half of another one's writes
}

class SmallLayouts : public ::testing::TestWithParam<std::tuple<size_t, size_t>> {};

Task<absl::Status> Repeat(Coordinator& coordinator, const Workload& workload, Random& random, Tally& tally) {
  for (int i = 0; i < 300; ++i) {
    const absl::Status status = co_await Transact(coordinator, workload, random, absl::InfiniteDuration(), tally);
    if (!status.ok()) co_return status;
  }
  co_return absl::OkStatus();
}

// What so many coroutines of a workload have done.
Tally RunAll(Cluster& cluster, const Workload& workload, size_t coroutines) {
  const std::unique_ptr<Coordinator> coordinator = cluster.Connect();
  Tally tally;
  std::deque<Random> randoms;
  std::vector<Task<absl::Status>> tasks;
  for (size_t i = 0; i < coroutines; ++i)
    tasks.push_back(Repeat(*coordinator, workload, randoms.emplace_back(i + 1), tally));
  EXPECT_TRUE(coordinator->Run(tasks).ok());
  return tally;
}

TEST_P(SmallLayouts, KeepSmallbanksSumAndEqualBackups) {
  const auto [servers, copies] = GetParam();
  const std::unique_ptr<Workload> bank = MakeWorkload("smallbank", 100);
  Cluster cluster({bank->keys(), servers, copies}, [&](uint64_t key) { return bank->Initial(key); });
  const auto sum = [&] {
    int64_t all = 0;
    for (uint64_t key = 0; key < bank->keys(); ++key) all += bank->BalanceOf(key, cluster.At(key).value);
    return all;
  };
  const int64_t before = sum();
  const Tally tally = RunAll(cluster, *bank, 7);
  EXPECT_EQ(tally.committed + tally.refused, 7u * 300);
  EXPECT_GT(tally.retried, 0u);
  EXPECT_NE(tally.net, 0);
  EXPECT_EQ(sum(), before + tally.net);
  cluster.ExpectCopiesAreAlikeAndUnlocked();
}

TEST_P(SmallLayouts, RunTatp) {
  const auto [servers, copies] = GetParam();
  const std::unique_ptr<Workload> tatp = MakeWorkload("tatp", 50);
  Cluster cluster({tatp->keys(), servers, copies}, [&](uint64_t key) { return tatp->Initial(key); });
  const Tally tally = RunAll(cluster, *tatp, 7);
  EXPECT_EQ(tally.committed + tally.refused, 7u * 300);
  EXPECT_GT(tally.committed, 7u * 300 / 2);
  EXPECT_GT(tally.refused, 0u);
  cluster.ExpectCopiesAreAlikeAndUnlocked();
}

INSTANTIATE_TEST_SUITE_P(Servers, SmallLayouts,
                         ::testing::Values(std::tuple(1, 1), std::tuple(2, 1), std::tuple(3, 3), std::tuple(5, 2)));

Task<absl::Status> Lock(Coordinator& coordinator, uint64_t key) {
  Transaction transaction(coordinator);
  const std::vector<uint64_t> writes = {key};
  co_return co_await transaction.Execute({}, writes);  // and never gives it back
}

Task<absl::Status> ReadBoth(Coordinator& coordinator, uint64_t one, uint64_t other) {
  Transaction transaction(coordinator);
  const std::vector<uint64_t> reads = {one};
  const std::vector<uint64_t> writes = {other};
  const absl::Status status = co_await transaction.Execute(reads, writes);
  const absl::Status aborted = co_await transaction.Abort();
  co_return status.ok() ? aborted : status;
}

TEST(Locks, ThatADeadClientLeavesKeepOthersFromTheirKeyAlone) {
  Cluster cluster({10, 2, 2});
  const std::unique_ptr<Coordinator> dead = cluster.Connect();
  ASSERT_TRUE(RunOne(*dead, Lock(*dead, 4)).ok());
  const std::unique_ptr<Coordinator> other = cluster.Connect();
  for (const auto& [one, another] : {std::pair(4, 3), std::pair(3, 4)}) {
    const absl::Status refused = RunOne(*other, ReadBoth(*other, one, another));
    EXPECT_TRUE(absl::IsAborted(refused)) << refused;
    EXPECT_THAT(refused.message(), HasSubstr("key 4 is locked by transaction"));
  }
  EXPECT_TRUE(RunOne(*other, ReadBoth(*other, 2, 3)).ok()) << "it kept what it had locked";
}

TEST(Store, RefusesHostileRequestsAndChangesNothing) {
  Cluster cluster({10, 2, 2});
  const Words value = {7, 7, 7, 7};
  const auto with_value = [&](Words words) {
    words.insert(words.end(), value.begin(), value.end());
    return words;
  };
  const std::map<Function, Words> beyond = {{kExecute, {1, 10, 1}},
                                            {kWords, {10}},
                                            {kLog, with_value({10, 1})},
                                            {kCommit, with_value({1, 10})},
                                            {kUnlock, {1, 10}}};
  for (const auto& [function, request] : beyond)
    EXPECT_TRUE(absl::IsInvalidArgument(cluster.Call(0, function, request))) << function;
  EXPECT_TRUE(absl::IsInvalidArgument(cluster.Call(0, kExecute, {})));
  EXPECT_TRUE(absl::IsInvalidArgument(cluster.Call(0, kExecute, {1, 2})));
  EXPECT_TRUE(absl::IsInvalidArgument(cluster.Call(0, kLog, {1, 1, 0})));
  EXPECT_TRUE(absl::IsFailedPrecondition(cluster.Call(0, kExecute, {1, 3, 1}))) << "the other server's";
  EXPECT_TRUE(absl::IsFailedPrecondition(cluster.Call(0, kLog, with_value({2, 1})))) << "the primary";
  EXPECT_TRUE(absl::IsFailedPrecondition(cluster.Call(1, kLog, with_value({2, 2})))) << "not the next version";
  EXPECT_TRUE(absl::IsFailedPrecondition(cluster.Call(0, kCommit, with_value({1, 2})))) << "not locked";
  ASSERT_TRUE(cluster.Call(0, kExecute, {1, 2, 1}).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(cluster.Call(0, kCommit, with_value({9, 2})))) << "another one's lock";
  EXPECT_TRUE(absl::IsFailedPrecondition(cluster.Call(0, kUnlock, {9, 2})));
  EXPECT_THAT(cluster.Call(0, kExecute, {9, 4, 1, 2, 0}).message(), HasSubstr("key 2 is locked by transaction 1"));
  EXPECT_EQ(cluster.At(4).word, 0u) << "locked by a request that was refused";
  EXPECT_EQ(cluster.At(2).value, Value{});
  ASSERT_TRUE(cluster.Call(0, kUnlock, {1, 2}).ok());
  cluster.ExpectCopiesAreAlikeAndUnlocked();
}

TEST(Words, AreWholeNumbers) {
  EXPECT_TRUE(absl::IsInvalidArgument(WordsOf("1234567").status()));
  const Words words = {1, 2};
  EXPECT_THAT(*WordsOf(BytesOf(words)), ElementsAre(1, 2));
}

}  // namespace
}  // namespace skein::transactions
