// Transactions of one thread, each a coroutine, by optimistic concurrency control and two-phase commit (FLOCK's thesis,
// 4.5.1, after FaSST):
//
//   Execute: values are read at their primaries, and locked if they will be written
//   Commit:  validate: what was only read has the same version still, and no lock
//            log: each backup takes the new values
//            commit: the primaries take them, and unlock
#ifndef SKEIN_EXAMPLES_TRANSACTIONS_COORDINATOR_H_
#define SKEIN_EXAMPLES_TRANSACTIONS_COORDINATOR_H_

#include <skein/rpc.h>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "examples/transactions/store.h"
#include "examples/transactions/task.h"

namespace skein::transactions {

// A thread's way to one server.
class Channel {
 public:
  struct Call {
    uint32_t function = 0;
    absl::string_view bytes;
  };
  virtual ~Channel() = default;

  // Sends them together. None is under way.
  virtual void Start(absl::Span<const Call> calls) = 0;
  // The answer to the oldest that is under way.
  virtual absl::StatusOr<std::string> Finish() = 0;
  // The word at that place in the memory of the server's own partition, without the server's processor. UNIMPLEMENTED:
  // this way leads to no memory.
  virtual absl::StatusOr<uint64_t> ReadWord(uint64_t place) = 0;
};

// By <skein/rpc.h>. FAILED_PRECONDITION: the server there is not that one, or has another layout.
absl::StatusOr<std::unique_ptr<Channel>> OpenChannel(rpc::Client& client, absl::string_view address,
                                                     const Layout& layout, size_t server);

// A region's number: of a server's own partition, or of another one's copy.
inline uint32_t RegionOf(size_t partition) { return static_cast<uint32_t>(partition + 1); }

struct Request {
  size_t server = 0;
  uint32_t function = 0;
  Words words = {};
};

// Runs coroutines in rounds: the requests of all that wait go together, one message to each server; when all answers
// are here the coroutines go on. One thread's.
class Coordinator {
 public:
  // By channel i to server i. `one_sided`: validate by ReadWord, not by calls.
  Coordinator(const Layout& layout, std::vector<std::unique_ptr<Channel>> servers, bool one_sided);

  // Until all have ended. The first one's error, if there is one.
  absl::Status Run(std::vector<Task<absl::Status>>& tasks);
  // Awaited after a transaction's `attempt`th failed try in a row (from 1): takes a random number of rounds, lest two
  // keep each other from their keys for ever.
  Task<absl::Status> StandBack(size_t attempt);
  // UNAVAILABLE: a server has been lost. The locks of transactions at their last step stay; so do locks that a stopped
  // server takes when it goes on.
  const absl::Status& lost() const { return lost_; }

 private:
  friend class Transaction;

  // What a coroutine awaits: its requests' answers, in their order.
  struct Exchange {
    Coordinator& coordinator;
    std::vector<Request> requests;
    std::vector<absl::StatusOr<Words>> answers = {};
    std::coroutine_handle<> waiting = nullptr;
    bool stands_back = false;  // for a round, with no requests

    bool await_ready() const { return requests.empty() && !stands_back; }
    void await_suspend(std::coroutine_handle<> coroutine) {
      waiting = coroutine;
      coordinator.waiting_.push_back(this);
    }
    std::vector<absl::StatusOr<Words>> await_resume() { return std::move(answers); }
  };

  void RunRound();
  absl::StatusOr<Words> AnswerOf(size_t server);
  // What to tell of it. Notes a server that is lost.
  absl::Status ErrorOf(size_t server, const absl::Status& error);

  const Layout layout_;
  const std::vector<std::unique_ptr<Channel>> servers_;
  const bool one_sided_;
  std::minstd_rand random_{std::random_device()()};
  uint64_t next_transaction_;  // the first half is this coordinator's
  std::vector<Exchange*> waiting_;
  absl::Status lost_;
};

// After an error the coroutine awaits Abort; it may then begin another one. No two of its keys are the same.
class Transaction {
 public:
  explicit Transaction(Coordinator& coordinator)
      : coordinator_(coordinator), number_(coordinator.next_transaction_++) {}

  // May be called more than once. ABORTED: another transaction has one of them locked. INVALID_ARGUMENT: of more than
  // kMostKeys; nothing was sent. Others: a server is lost.
  Task<absl::Status> Execute(std::vector<uint64_t> reads, std::vector<uint64_t> writes);
  // Of a key that was executed. The second: to be changed, of a key to be written.
  const Value& Get(uint64_t key) const { return items_.at(key).value; }
  Value& Set(uint64_t key) { return items_.at(key).value; }
  // The version that Execute found.
  uint64_t VersionOf(uint64_t key) const { return items_.at(key).word / 2; }
  // ABORTED: something read has changed. UNAVAILABLE and others: a server is lost, and perhaps some have committed.
  Task<absl::Status> Commit();
  // Gives locks back that Execute has taken.
  Task<absl::Status> Abort();

 private:
  struct Executed {
    bool writes = false;
    uint64_t word = 0;
    uint64_t place = 0;
    Value value = {};
  };

  std::vector<Request> ExecuteRequests(const std::vector<uint64_t>& reads, const std::vector<uint64_t>& writes) const;
  absl::Status Take(const Request& request, const absl::StatusOr<Words>& answer);
  Task<absl::Status> Validate();
  Task<absl::Status> ValidateByCalls();
  // To the servers that have that copy of what is written, with `header`, and of each key what `append` adds.
  template <typename Append>
  std::vector<Request> RequestsOf(Function function, size_t copy, const Words& header, Append append) const;

  Coordinator& coordinator_;
  const uint64_t number_;
  std::map<uint64_t, Executed> items_;  // by key
};

}  // namespace skein::transactions

#endif  // SKEIN_EXAMPLES_TRANSACTIONS_COORDINATOR_H_
