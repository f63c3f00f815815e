// What the sender on a queue pair must think of its credits, by nothing but what both ends have posted: what messages
// cost, how many are granted, and at which message half of them is gone and more are asked for.
//
// Some of that cannot be seen: whether a mere head cost a credit that carried a word on credits as well, and whether a
// grant was known already that was just being read. So the balance is one of a few; each renewal, and each message
// without one, says which.
#ifndef SKEIN_TESTS_CHAOS_CREDIT_MODEL_H_
#define SKEIN_TESTS_CHAOS_CREDIT_MODEL_H_

#include <cstdint>
#include <deque>
#include <string>

#include "absl/strings/string_view.h"

namespace skein::chaos {

class CreditModel {
 public:
  enum class Word : uint8_t { kGrant, kDecline, kActivate };
  // A message of the sender's.
  struct Message {
    bool data = false;
    bool head_only = false;
    bool word = false;    // on the peer's credits, or a renewal
    bool renews = false;  // asks for more
    uint64_t head = 0;    // what its sender had read of the peer's ring
  };

  CreditModel();

  // The peer has posted a word, in a message that begins at `begin` in its ring.
  void OnWord(Word word, uint64_t begin) { words_.push_back({word, begin}); }
  // Gives what is wrong with it; nothing if it may be.
  std::string OnPosted(const Message& message);

 private:
  struct Sent {
    Word word;
    uint64_t begin;
  };

  void Take(Word word);
  std::string Wrong(absl::string_view what) const;
  std::string TryPost(const Message& message);
  int64_t threshold() const;

  std::deque<Sent> words_;  // not read yet
  bool active_ = false;
  bool asked_ = false;
  int64_t least_ = 0;  // balance
  int64_t most_ = 0;
  int64_t doubtful_ = 0;  // messages since a word might have been taken
};

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_CREDIT_MODEL_H_
