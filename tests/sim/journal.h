// What one run has seen: everything in a digest, faults and operations in numbers, broken promises in words.
#ifndef SKEIN_TESTS_CHAOS_JOURNAL_H_
#define SKEIN_TESTS_CHAOS_JOURNAL_H_

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tests/sim/fault.h"

namespace skein::chaos {

// What the watch has seen of links' traffic: checks that have never looked at anything prove nothing.
enum class Sight : uint8_t { kMessage, kNotify, kLine, kRenewal, kWindow };
inline constexpr size_t kSights = 5;
inline constexpr std::array<absl::string_view, kSights> kSightNames = {"ring messages", "notifications", "lines",
                                                                       "renewals", "windows"};

class Journal {
 public:
  // In the order in which it happens: two runs of one seed see the same.
  void See(uint64_t number) {
    for (int i = 0; i < 64; i += 8) Mix(static_cast<uint8_t>(number >> i));
  }
  void See(absl::string_view text) {
    for (const char c : text) Mix(static_cast<uint8_t>(c));
  }
  // It has taken effect.
  void Count(FaultKind kind) {
    ++faults_[static_cast<size_t>(kind)];
    See(static_cast<uint64_t>(kind));
  }
  void Count(Sight sight) { ++sights_[static_cast<size_t>(sight)]; }
  void Operation() { ++operations_; }
  // A promise that is broken. The first few are kept.
  template <class... Args>
  void Violate(const Args&... what) {
    constexpr size_t kMost = 5;
    ++violated_;
    if (violations_.size() < kMost) violations_.push_back(absl::StrCat(what...));
  }
  template <class... Args>
  void Check(bool promise, const Args&... what) {
    if (!promise) Violate(what...);
  }

  bool failed() const { return violated_ > 0; }
  const std::vector<std::string>& violations() const { return violations_; }
  uint64_t digest() const { return digest_; }
  uint64_t operations() const { return operations_; }
  const std::array<uint64_t, kFaultKinds>& faults() const { return faults_; }
  const std::array<uint64_t, kSights>& sights() const { return sights_; }

 private:
  void Mix(uint8_t byte) { digest_ = (digest_ ^ byte) * 0x100000001b3; }  // FNV-1a

  uint64_t digest_ = 0xcbf29ce484222325;
  uint64_t operations_ = 0;
  uint64_t violated_ = 0;
  std::array<uint64_t, kFaultKinds> faults_ = {};
  std::array<uint64_t, kSights> sights_ = {};
  std::vector<std::string> violations_;
};

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_JOURNAL_H_
