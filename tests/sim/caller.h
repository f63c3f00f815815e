// A connection for calls, and what its two ends may rely on: each call ends once, with its answer or an error, and is
// executed once at most.
#ifndef SKEIN_TESTS_CHAOS_CALLER_H_
#define SKEIN_TESTS_CHAOS_CALLER_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "absl/container/btree_map.h"
#include "core/rpc/client_port.h"
#include "core/rpc/server_port.h"
#include "tests/sim/link_end.h"
#include "tests/sim/world.h"

namespace skein::chaos {

// What a request asks of its handler, by its number.
enum class Wish : uint8_t { kEcho, kEchoLater, kNotFound, kNoReply, kTooMuch };
inline Wish WishOf(uint64_t number) {
  constexpr Wish kWishes[] = {Wish::kEcho, Wish::kEchoLater, Wish::kEcho, Wish::kNotFound,
                              Wish::kEcho, Wish::kNoReply,   Wish::kEcho, Wish::kTooMuch};
  return number % 32 < 8 ? kWishes[number % 8] : number % 3 == 0 ? Wish::kEchoLater : Wish::kEcho;
}

// How often each request was executed, over the lives of all servers.
using Executions = absl::btree_map<uint64_t, int>;

class Caller {
 public:
  struct Manner {
    uint32_t max_calls = 0;
    uint64_t pace = 3;  // it calls one time in so many
  };
  Caller(World& world, size_t client, const Manner& manner, uint64_t& last_number, const Executions& executions)
      : world_(world), client_(client), manner_(manner), last_number_(last_number), executions_(executions) {}
  ~Caller() { Die(); }

  size_t client() const { return client_; }
  void Give(std::shared_ptr<rpc::ClientPort> port);
  void GiveServer(std::shared_ptr<rpc::ServerPort> port);

  // The client's turn, and the server's as far as connections end.
  void Act(bool finishing);
  void ActServer();
  // An end closes.
  void Close();
  void CloseServer();
  // The client's process is gone; and the server's.
  void Die();
  void ServerDies();

  bool over() const { return over_ && server_over_; }
  bool server_over() const { return server_over_; }
  std::string ToString() const;

 private:
  struct Call {
    uint64_t number = 0;
    std::string bytes;
    bool too_large = false;  // or one of those that were to travel with it
    rpc::Slot* slot = nullptr;
    rpc::Answer answer;
  };

  void Start();
  void TakeAnswers();
  void Forget();
  bool HasAllPlaces();
  void Judge(const Call& call);
  bool MayFail() const;
  // The link is lost.
  void CheckLoss(absl::string_view side, const absl::Status& reason);
  void OnServerLost();
  // The other channel ends.
  void Cut();

  World& world_;
  const size_t client_;
  const Manner manner_;
  uint64_t& last_number_;  // of all requests
  const Executions& executions_;
  std::shared_ptr<rpc::ClientPort> port_;
  std::shared_ptr<rpc::ServerPort> server_port_;
  std::shared_ptr<LinkEnd> end_;  // of the link
  std::shared_ptr<LinkEnd> server_end_;
  std::list<Call> calls_;  // under way; answers are written into them
  bool closed_ = false;    // by either end
  bool over_ = false;
  bool server_over_ = false;
  absl::Time cut_off_ = absl::InfiniteFuture();  // when both hear of the other channel's end
};

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_CALLER_H_
