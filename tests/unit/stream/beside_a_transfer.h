// Small messages on one stream while another stream of the same link carries a large transfer, on simulated time: how
// long they take, and how long the transfer does.
#ifndef SKEIN_TESTS_UNIT_STREAM_BESIDE_A_TRANSFER_H_
#define SKEIN_TESTS_UNIT_STREAM_BESIDE_A_TRANSFER_H_

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "tests/unit/stream/two_ends.h"

namespace skein::stream {

struct BesideATransfer {
  absl::Duration p50 = absl::InfiniteDuration();  // of the small messages, from Write until they can be read
  absl::Duration p99 = absl::InfiniteDuration();
  absl::Duration transfer = absl::InfiniteDuration();  // as the others if anything got stuck
};

class TransferOnSim {
 public:
  TransferOnSim(int64_t large_payload, size_t bytes_of_a_write)
      : ends_(FabricKindUnderTest::kSim, {.large_payload = large_payload}),
        written_at_once_(bytes_of_a_write, 'x'),
        bulk_(ends_.Connect()),
        small_(ends_.Connect()) {}

  // Sends `messages` of 64 bytes, one each 5 us, beside `bytes` that go as fast as they can.
  BesideATransfer Run(size_t messages, size_t bytes) {
    to_write_ = bytes;
    to_read_ = bytes;
    start_ = ends_.simulation->now();
    for (size_t i = 0; i < messages; ++i) {
      ends_.simulation->Schedule(absl::Microseconds(5) * i, [this] {
        begun_.push_back(ends_.simulation->now());
        small_to_write_ += kSmall;
      });
    }
    do {
      Turn();
    } while (ends_.simulation->Step());
    std::sort(took_.begin(), took_.end());
    if (to_read_ > 0 || took_.size() < messages) return {};
    return {took_[messages / 2], took_[messages * 99 / 100], end_ - start_};
  }

 private:
  static constexpr size_t kSmall = 64;

  // Nothing that a processor does takes simulated time.
  void Turn() {
    ends_.server_waiter.PollAll();
    ends_.client_waiter.PollAll();
    // Whatever the ring has space for; of small messages first.
    small_to_write_ -= WriteText(*small_.client, std::string(small_to_write_, 's')).value();
    while (to_write_ > 0) {
      const absl::string_view text(written_at_once_);
      const size_t taken = WriteText(*bulk_.client, text.substr(0, to_write_)).value();
      to_write_ -= taken;
      if (taken == 0) break;
    }
    if (to_read_ > 0) {
      to_read_ -= ReadAll(*bulk_.server).first.size();
      end_ = ends_.simulation->now();
    }
    for (size_t bytes = ReadAll(*small_.server).first.size(); bytes >= kSmall; bytes -= kSmall) {
      took_.push_back(ends_.simulation->now() - begun_.front());
      begun_.pop_front();
    }
  }

  TwoEnds ends_;
  const std::string written_at_once_;
  TwoEnds::Pair bulk_;
  TwoEnds::Pair small_;
  size_t small_to_write_ = 0;
  size_t to_write_ = 0;
  size_t to_read_ = 0;
  absl::Time start_;
  absl::Time end_;
  std::deque<absl::Time> begun_;  // the small ones that have not come
  std::vector<absl::Duration> took_;
};

}  // namespace skein::stream

#endif  // SKEIN_TESTS_UNIT_STREAM_BESIDE_A_TRANSFER_H_
