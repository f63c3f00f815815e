// A path between two members in one process, of so many bytes in each direction, on one thread: its observers hear of
// everything when the network runs.
#ifndef SKEIN_TESTS_SUPPORT_MEMORY_PATH_H_
#define SKEIN_TESTS_SUPPORT_MEMORY_PATH_H_

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "core/replicate/path.h"

namespace skein::replicate {

// What paths have to tell. In the order it came up.
class MemoryNetwork {
 public:
  void Tell(std::function<void()> what) { told_.push_back(std::move(what)); }
  // Whether there was anything.
  bool Run() {
    const bool any = !told_.empty();
    while (!told_.empty()) {
      const std::function<void()> next = std::move(told_.front());
      told_.pop_front();
      next();
    }
    return any;
  }

 private:
  std::deque<std::function<void()>> told_;
};

class MemoryPath final : public Path {
 public:
  static std::pair<std::unique_ptr<MemoryPath>, std::unique_ptr<MemoryPath>> MakePair(MemoryNetwork& network,
                                                                                      size_t capacity) {
    auto there = std::make_shared<Pipe>();
    auto back = std::make_shared<Pipe>();
    return {std::make_unique<MemoryPath>(network, capacity, there, back),
            std::make_unique<MemoryPath>(network, capacity, back, there)};
  }

  struct Pipe {
    std::string bytes;
    bool closed = false;  // by the writer: its end comes behind the bytes
    bool gone = false;    // one end has gone
    std::shared_ptr<PathObserver> reader;
    std::shared_ptr<PathObserver> writer;
  };

  MemoryPath(MemoryNetwork& network, size_t capacity, std::shared_ptr<Pipe> out, std::shared_ptr<Pipe> in)
      : network_(network), capacity_(capacity), out_(std::move(out)), in_(std::move(in)) {}
  ~MemoryPath() override {
    in_->reader = out_->writer = nullptr;
    in_->gone = out_->gone = true;
    TellReader();
    TellWriter();
  }

  void SetObserver(std::shared_ptr<PathObserver> observer) override {
    in_->reader = out_->writer = std::move(observer);
  }
  absl::StatusOr<size_t> Write(absl::Span<const ConstBytes> parts) override {
    if (!refusal.ok()) return refusal;
    if (out_->gone || out_->closed) return absl::UnavailableError("the other end is gone");
    size_t taken = 0;
    for (const ConstBytes part : parts) {
      const size_t size = std::min(part.size(), capacity_ - out_->bytes.size());
      out_->bytes.append(reinterpret_cast<const char*>(part.data()), size);
      taken += size;
    }
    if (taken > 0) TellReader();
    return taken;
  }
  absl::StatusOr<size_t> Read(Bytes into) override {
    const size_t size = std::min(into.size(), in_->bytes.size());
    if (size == 0 && in_->closed) return absl::OutOfRangeError("the other end has closed");
    if (size == 0 && in_->gone) return absl::UnavailableError("the other end is gone");
    std::memcpy(into.data(), in_->bytes.data(), size);
    in_->bytes.erase(0, size);
    if (size > 0) TellWriter();
    return size;
  }
  void CloseWrite() override {
    out_->closed = true;
    TellReader();
  }
  std::string name() const override { return "memory"; }

  absl::Status refusal;  // of what this end writes, by its own kernel: nobody hears of it

 private:
  void TellReader() {
    network_.Tell([pipe = out_] {
      if (const auto reader = pipe->reader) reader->OnReadable();
    });
  }
  void TellWriter() {
    network_.Tell([pipe = in_] {
      if (const auto writer = pipe->writer) writer->OnWritable();
    });
  }

  MemoryNetwork& network_;
  const size_t capacity_;
  const std::shared_ptr<Pipe> out_;
  const std::shared_ptr<Pipe> in_;
};

}  // namespace skein::replicate

#endif  // SKEIN_TESTS_SUPPORT_MEMORY_PATH_H_
