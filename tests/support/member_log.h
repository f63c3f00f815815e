// A log of what a group tells its member, and the memory of its writes.
#ifndef SKEIN_TESTS_SUPPORT_MEMBER_LOG_H_
#define SKEIN_TESTS_SUPPORT_MEMBER_LOG_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/replicate/group.h"

namespace skein::replicate {

class MemberLog final : public GroupObserver {
 public:
  absl::StatusOr<Bytes> OnIncoming(uint64_t write, uint64_t bytes) override {
    if (!declines.ok()) return declines;
    ++incoming;
    number = write;
    text.assign(bytes, '\0');
    return Bytes(reinterpret_cast<std::byte*>(text.data()), text.size());
  }
  void OnReceived(uint64_t write) override {
    received.push_back(text);
    if (acknowledges) group->Acknowledge(write);
  }
  void OnReleased(uint64_t) override { ++released; }
  void OnHave(uint64_t, uint32_t receivers) override { have.push_back(receivers); }
  void OnFailed(const absl::Status& why) override { failures.push_back(why); }

  Group* group = nullptr;
  absl::Status declines;
  bool acknowledges = true;
  int incoming = 0;
  uint64_t number = 0;
  std::string text;
  std::vector<std::string> received;
  int released = 0;
  std::vector<uint32_t> have;
  std::vector<absl::Status> failures;
};

inline ConstBytes BytesOf(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// No two blocks are the same.
inline std::string TextToWrite(size_t size, uint32_t seed = 1) {
  std::string text(size, '\0');
  uint32_t state = seed;
  for (char& letter : text) letter = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return text;
}

}  // namespace skein::replicate

#endif  // SKEIN_TESTS_SUPPORT_MEMBER_LOG_H_
