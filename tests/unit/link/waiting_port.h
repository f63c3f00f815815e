// A port whose sender waits for space, and for nothing else.
#ifndef SKEIN_TESTS_UNIT_LINK_WAITING_PORT_H_
#define SKEIN_TESTS_UNIT_LINK_WAITING_PORT_H_

#include <atomic>
#include <deque>
#include <string>

#include "absl/strings/string_view.h"
#include "core/link/link.h"
#include "core/link/port.h"
#include "gtest/gtest.h"

namespace skein::link {

class WaitingPort final : public Port {
 public:
  using Port::Port;
  absl::Status OnData(absl::Span<const std::byte> payload) override {
    (behind_.empty() ? heard : behind_.back()).append(reinterpret_cast<const char*>(payload.data()), payload.size());
    return absl::OkStatus();
  }
  absl::StatusOr<bool> OnBlock(size_t) override {
    behind_.emplace_back();
    return true;
  }
  void OnPulled(ReceivedBytes bytes, size_t size) override {
    heard.append(reinterpret_cast<const char*>(bytes.get()), size);
    heard += behind_.front();
    behind_.pop_front();
  }
  absl::Status OnOpen(uint64_t) override { return absl::OkStatus(); }
  absl::Status OnWindow(uint64_t) override { return absl::OkStatus(); }
  absl::Status OnCloseWrite() override { return absl::OkStatus(); }
  void OnAbort(std::string) override {}
  void OnLost(const absl::Status&) override { OnSpace(); }
  void OnSpace() override {
    spaces_.fetch_add(1);
    spaces_.notify_all();
  }
  void Notify() override {}

  // By one thread. What is large goes in blocks, where there is memory for them.
  void SendAll(Link& link, absl::string_view text) {
    said.append(text.data(), text.size());
    while (!text.empty()) {
      const uint32_t seen = spaces_.load();
      const ConstBytes bytes(reinterpret_cast<const std::byte*>(text.data()), text.size());
      const absl::StatusOr<size_t> sent = text.size() < kLarge ? link.Send(*this, {&bytes, 1}, text.size())
                                                               : link.SendBlocks(*this, {&bytes, 1}, text.size());
      ASSERT_TRUE(sent.ok()) << sent.status();
      text.remove_prefix(*sent);
      if (!text.empty()) spaces_.wait(seen);
    }
  }

  static constexpr size_t kLarge = 16 << 10;

  std::string said;   // the sender's
  std::string heard;  // of who polls

 private:
  std::deque<std::string> behind_;  // for each block that is under way, the bytes that have come after it
  std::atomic<uint32_t> spaces_ = 0;
};

}  // namespace skein::link

#endif  // SKEIN_TESTS_UNIT_LINK_WAITING_PORT_H_
