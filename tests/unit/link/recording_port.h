// A port that takes everything and remembers it.
#ifndef SKEIN_TESTS_UNIT_LINK_RECORDING_PORT_H_
#define SKEIN_TESTS_UNIT_LINK_RECORDING_PORT_H_

#include <string>
#include <utility>

#include "core/link/port.h"

namespace skein::link {

class RecordingPort : public Port {
 public:
  using Port::Port;
  absl::Status OnData(absl::Span<const std::byte> payload) override {
    data.append(reinterpret_cast<const char*>(payload.data()), payload.size());
    return absl::OkStatus();
  }
  absl::Status OnOpen(uint64_t window) override {
    opened_with = window;
    return absl::OkStatus();
  }
  absl::Status OnWindow(uint64_t bytes) override {
    window += bytes;
    return absl::OkStatus();
  }
  absl::Status OnCloseWrite() override {
    ++closes;
    return absl::OkStatus();
  }
  void OnAbort(std::string text) override { abort_text = std::move(text); }
  void OnSpace() override {}
  void OnLost(const absl::Status& why) override {
    ++losses;
    lost = why;
  }
  void Notify() override { ++notifications; }

  std::string data;
  uint64_t opened_with = 0;
  uint64_t window = 0;
  int closes = 0;
  std::string abort_text;
  absl::Status lost;
  int losses = 0;
  int notifications = 0;
};

}  // namespace skein::link

#endif  // SKEIN_TESTS_UNIT_LINK_RECORDING_PORT_H_
