// What the reader of a stream must give back of its window: all that its owner has read, as soon as that is half of it.
#ifndef SKEIN_TESTS_CHAOS_WINDOW_MODEL_H_
#define SKEIN_TESTS_CHAOS_WINDOW_MODEL_H_

#include <algorithm>
#include <cstdint>
#include <deque>

namespace skein::chaos {

class WindowModel {
 public:
  explicit WindowModel(uint64_t window) : window_(window) {}

  void OnRead(uint64_t bytes) {
    read_ += bytes;
    if (read_ - due_ >= window_ / 2) marks_.push_back(due_ = read_);
  }
  // Whether so much, in all, may have been given back by now: what was due at some time.
  bool MayBe(uint64_t given_back) {
    while (!marks_.empty() && marks_.front() < given_back) marks_.pop_front();
    return given_back == 0 || (!marks_.empty() && marks_.front() == given_back);
  }

 private:
  const uint64_t window_;
  uint64_t read_ = 0;
  uint64_t due_ = 0;
  std::deque<uint64_t> marks_;
};

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_WINDOW_MODEL_H_
