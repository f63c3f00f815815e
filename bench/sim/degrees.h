// The coalescing degrees of a queue pair's messages since its sender last asked for credits: their median is what
// FLOCK's receiver knows of its use (thesis 3.4.1).
#ifndef SKEIN_BENCH_SIM_DEGREES_H_
#define SKEIN_BENCH_SIM_DEGREES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace skein::bench {

class Degrees {
 public:
  // So many requests went in one message.
  void Note(size_t degree) { degrees_.push_back(static_cast<uint16_t>(std::min<size_t>(degree, UINT16_MAX))); }
  // The lower median, and none is known any more. 0 where there was none.
  uint16_t TakeMedian() {
    if (degrees_.empty()) return 0;
    const auto median = degrees_.begin() + static_cast<std::ptrdiff_t>((degrees_.size() - 1) / 2);
    std::nth_element(degrees_.begin(), median, degrees_.end());
    const uint16_t degree = *median;
    degrees_.clear();
    return degree;
  }

 private:
  std::vector<uint16_t> degrees_;
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_DEGREES_H_
