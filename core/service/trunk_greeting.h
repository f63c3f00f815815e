// The first messages of two skeinds. By them each knows that the other one speaks its version and, where they share a
// secret (secret.h), that the other one knows that too.
//
//     the side that connects                                the side that was connected to
//
//     kSilent                                                                     kSilent
//        | a queue pair is there: kHello, its offer ------------------------------>  |
//     kGreeted                                                                       |
//        |  <---------------------------------------- with a secret alone: kChallenge |
//        |                                                                       kChallenged
//     kChallenged  kProof --------------------------------------------------------->  |
//        |                                                                        kAccepted
//        |  <--------------------- a queue pair for the offer is there: kWelcome, its answer
//     the trunk is open: the greeting is gone                       the trunk is open: likewise
//
// Each message is heeded once, and at the side that expects it. Any other one ends the trunk.
#ifndef SKEIN_CORE_SERVICE_TRUNK_GREETING_H_
#define SKEIN_CORE_SERVICE_TRUNK_GREETING_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/service/shared_queue_pair.h"
#include "core/service/trunk_message.h"

namespace skein::service {

// skeind's thread. It neither sends nor waits: the trunk does. Each error says why the trunk is to end.
class TrunkGreeting {
 public:
  // The trunk's next act, and the message for it.
  struct Step {
    enum class Kind : uint8_t {
      kSay,     // sends this one
      kAccept,  // makes a queue pair for the offer in this kHello, and says Welcome
      kOpen,    // completes its queue pair by this kWelcome, and is open
    };
    Kind kind;
    TrunkMessage message;
  };

  // `secret`: empty: there is none.
  TrunkGreeting(bool connects, std::string secret) : connects_(connects), secret_(std::move(secret)) {}

  static bool Has(TrunkKind kind) {
    return kind == TrunkKind::kHello || kind == TrunkKind::kWelcome || kind == TrunkKind::kChallenge ||
           kind == TrunkKind::kProof;
  }
  // The side that connects, which means the other one by `host`.
  absl::StatusOr<TrunkMessage> Hello(absl::string_view host, const SharedQueuePair& own);
  // After kAccept.
  absl::StatusOr<TrunkMessage> Welcome(const SharedQueuePair& own) const;
  // A message of the other skeind's, of a kind that a greeting has.
  absl::StatusOr<Step> Heed(const TrunkMessage& message);

 private:
  enum class State : uint8_t { kSilent, kGreeted, kChallenged, kAccepted };

  absl::StatusOr<Step> HeedHello(const TrunkMessage& hello);
  absl::StatusOr<Step> HeedChallenge(const TrunkMessage& challenge);
  absl::StatusOr<Step> HeedProof(const TrunkMessage& proof);
  absl::StatusOr<Step> HeedWelcome(TrunkMessage welcome) const;

  const bool connects_;
  const std::string secret_;
  State state_ = State::kSilent;
  std::string said_;  // by both sides, so far: their proofs are of this
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_TRUNK_GREETING_H_
