// Whole messages over a stream; and whether it had a reason to fail.
#ifndef SKEIN_TESTS_CHAOS_FRAMED_STREAM_H_
#define SKEIN_TESTS_CHAOS_FRAMED_STREAM_H_

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/stream/stream.h"
#include "tests/sim/journal.h"
#include "tests/sim/link_device.h"

namespace skein::chaos {

// How many of a connection's two ends are not there, not yet or no more: the other one hears of that. (A client may
// leave a link that its server, to whom that is news, is just giving to it once more.)
using EndsMissing = std::shared_ptr<int>;

class FramedStream {
 public:
  FramedStream(std::shared_ptr<stream::Stream> stream, EndsMissing missing, Journal& journal)
      : stream_(std::move(stream)), link_(EndOf(*stream_->link())), missing_(std::move(missing)), journal_(journal) {
    --*missing_;
    stream_->SetObserver(std::make_shared<Nobody>());
  }
  ~FramedStream() { ++*missing_; }
  FramedStream(const FramedStream&) = delete;
  FramedStream& operator=(const FramedStream&) = delete;

  void Put(const std::string& message) {
    const auto size = static_cast<uint32_t>(message.size());
    out_.append(reinterpret_cast<const char*>(&size), sizeof(size));
    out_ += message;
  }
  // Sends what there is space for and takes what has come. False: it is over.
  bool Pump(const std::function<bool(const std::string& message)>& take) {
    if (!out_.empty()) {
      const stream::ConstBytes bytes(reinterpret_cast<const std::byte*>(out_.data()), out_.size());
      const absl::StatusOr<size_t> sent = stream_->Write({&bytes, 1});
      out_.erase(0, sent.value_or(out_.size()));
    }
    std::vector<stream::Buffer> buffers;
    const absl::Status status = stream_->Read(1 << 20, buffers);
    for (const stream::Buffer& buffer : buffers) {
      in_.append(reinterpret_cast<const char*>(buffer.data.get()), buffer.size);
    }
    if (!status.ok()) CheckLoss(status);
    return TakeMessages(take) && status.ok();
  }
  // What had arrived before the other end went can be pumped.
  bool Drain() { return stream_->Drain() && !stream_->Coming(); }

 private:
  struct Nobody final : stream::StreamObserver {
    void OnReadable() override {}
    void OnWritable() override {}
  };

  void CheckLoss(const absl::Status& why) {
    journal_.Check(link_->excused() || *missing_ > 0, "a connection was lost for no reason: ", why.ToString());
    const bool ended = absl::IsAborted(why) && *missing_ > 0;
    journal_.Check(ended || IsLoss(why.message()), "a connection was lost for a bad reason: ", why.ToString());
  }

  bool TakeMessages(const std::function<bool(const std::string& message)>& take) {
    for (uint32_t size = 0; in_.size() >= sizeof(size);) {
      std::memcpy(&size, in_.data(), sizeof(size));
      if (in_.size() < sizeof(size) + size) break;
      const std::string message = in_.substr(sizeof(size), size);
      in_.erase(0, sizeof(size) + size);
      if (!take(message)) return false;
    }
    return true;
  }

  const std::shared_ptr<stream::Stream> stream_;
  const std::shared_ptr<LinkEnd> link_;
  const EndsMissing missing_;
  Journal& journal_;
  std::string out_;
  std::string in_;
};

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_FRAMED_STREAM_H_
