// Which of several logs of the same calls goes on: each promotion begins a term.
#ifndef SKEIN_CORE_DURABLE_REPLICAS_TERM_H_
#define SKEIN_CORE_DURABLE_REPLICAS_TERM_H_

#include <array>
#include <cstdint>

namespace skein::durable {

struct Term {
  uint64_t number = 0;           // 0: nothing was ever promoted
  std::array<uint8_t, 16> id{};  // chosen at random: tells two promotions to the same number apart
  bool operator==(const Term&) const = default;
};

// Whether a replica that has promised `promised` may still follow a primary of `term`.
inline bool MayFollow(const Term& promised, const Term& term) {
  return term == promised || term.number > promised.number;
}

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_REPLICAS_TERM_H_
