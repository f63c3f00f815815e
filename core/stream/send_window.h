// The bytes that a stream's peer still lets this end send, and who waits for more: one atomic word, so that a writer
// and the poller need no lock for a message that fits.
//
//     bit   63      62      61       60      59 ... 41   40 ... 0
//           over    closed  writing  waits   0           bytes left, at most 2^40
//                                    again: 59
//
//               Begin                        End: all has gone, or Again
//     idle  ------------>  writing  -------------------------------------------->  idle
//      ^                       \_______ End: some is left, nothing has come ______>  waits
//      \______________________________ TakeWaiter, by the poller; or Begin ___________/
//
// *closed* and *over* are set under the port's lock and stay: this end writes no more, the stream has failed. While
// either is set, a writer neither begins nor ends here without that lock (Begin and End say so): so the holder of the
// lock knows whether a writer is under way, and which of the two says the last word.
//
// *again* is set when more space or a larger window has come while nobody waited: the writer that finds too little then
// looks once more, instead of waiting for what it has missed.
//
// Each change is a read-modify-write of the one word, so each sees the one before. Release and acquire:
// | written | synchronises with |
// | End, release | Close, Fail and writing(), acquire: what the writer has done with the port is done |
// | Close and Fail, release | Begin and End, acquire; then both take the lock anyway |
// | Add, Again, TakeWaiter: relaxed | nothing is read by them but this word |
#ifndef SKEIN_CORE_STREAM_SEND_WINDOW_H_
#define SKEIN_CORE_STREAM_SEND_WINDOW_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

namespace skein::stream {

class SendWindow {
 public:
  static constexpr uint64_t kMax = uint64_t{1} << 40;

  explicit SendWindow(uint64_t bytes) : word_(std::min(bytes, kMax)) {}

  // The writer ------------------------------------------------------------------------------------------------------
  // Bytes that may go now. None: this end is stopped, and nothing has begun.
  std::optional<uint64_t> Begin() {
    uint64_t word = word_.load(std::memory_order_relaxed);
    do {
      if ((word & kStopped) != 0) return std::nullopt;
    } while (!word_.compare_exchange_weak(word, (word & ~(kWaits | kAgain)) | kWriting, std::memory_order_acquire,
                                          std::memory_order_relaxed));
    return word & kBytes;
  }
  enum class Ended : uint8_t {
    kDone,     // all has gone, or the writer waits for the poller
    kAgain,    // more has come meanwhile: the writer tries again
    kStopped,  // still writing: EndStopped, under the lock
  };
  // So many bytes have gone. `all`: no more are to go.
  Ended End(uint64_t sent, bool all) {
    uint64_t word = word_.load(std::memory_order_relaxed);
    for (;;) {
      if ((word & kStopped) != 0) return Ended::kStopped;
      const uint64_t after = After(word, sent, all);
      if (word_.compare_exchange_weak(word, after, std::memory_order_release, std::memory_order_relaxed)) {
        return all || (after & kWaits) != 0 ? Ended::kDone : Ended::kAgain;
      }
    }
  }
  // The same, under the lock, once stopped. True: the writer tries again, and will hear why it cannot.
  bool EndStopped(uint64_t sent, bool all) {
    uint64_t word = word_.load(std::memory_order_relaxed);
    uint64_t after = 0;
    do {
      after = After(word, sent, all);
    } while (!word_.compare_exchange_weak(word, after, std::memory_order_acq_rel, std::memory_order_relaxed));
    return !all && (after & kWaits) == 0;
  }

  // The poller ------------------------------------------------------------------------------------------------------
  // The peer lets this end send more. False, and nothing is done: more than there can be.
  bool Add(uint64_t bytes) {
    uint64_t word = word_.load(std::memory_order_relaxed);
    do {
      if (bytes > kMax || (word & kBytes) + bytes > kMax) return false;
    } while (!word_.compare_exchange_weak(word, (word + bytes) | kAgain, std::memory_order_relaxed));
    return true;
  }
  // There is space on the link again.
  void Again() { word_.fetch_or(kAgain, std::memory_order_relaxed); }
  // Whether a writer waits that would get on now, or hear why not. It is then told, once.
  bool TakeWaiter() {
    uint64_t word = word_.load(std::memory_order_relaxed);
    do {
      if ((word & kWaits) == 0 || !GetsOn(word)) return false;
    } while (!word_.compare_exchange_weak(word, word & ~kWaits, std::memory_order_relaxed));
    return true;
  }

  // Under the port's lock -------------------------------------------------------------------------------------------
  // This end writes no more; the stream has failed.
  void Close() { word_.fetch_or(kClosed, std::memory_order_acq_rel); }
  void Fail() { word_.fetch_or(kOver, std::memory_order_acq_rel); }
  // Whether a writer gives bytes to the link.
  bool writing() const { return (word_.load(std::memory_order_acquire) & kWriting) != 0; }
  // Any thread: a hint. Once true, it stays so.
  bool stopped() const { return (word_.load(std::memory_order_relaxed) & kStopped) != 0; }

 private:
  static constexpr uint64_t kOver = uint64_t{1} << 63;
  static constexpr uint64_t kClosed = uint64_t{1} << 62;
  static constexpr uint64_t kWriting = uint64_t{1} << 61;
  static constexpr uint64_t kWaits = uint64_t{1} << 60;
  static constexpr uint64_t kAgain = uint64_t{1} << 59;
  static constexpr uint64_t kStopped = kOver | kClosed;
  // Bits 0 to 40. The sum never exceeds kMax, and End takes no more than Begin gave: so no flag is touched.
  static constexpr uint64_t kBytes = 2 * kMax - 1;

  static bool GetsOn(uint64_t word) { return (word & kOver) != 0 || ((word & kAgain) != 0 && (word & kBytes) > 0); }
  // The word once a writer has ended.
  static uint64_t After(uint64_t word, uint64_t sent, bool all) {
    const uint64_t after = (word & ~kWriting) - sent;
    return all || GetsOn(after) ? after : after | kWaits;
  }

  std::atomic<uint64_t> word_;
};

}  // namespace skein::stream

#endif  // SKEIN_CORE_STREAM_SEND_WINDOW_H_
