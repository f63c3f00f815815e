// A stream whose link other threads poll or write to, for the tests of both adapters' endpoints.
#ifndef SKEIN_TESTS_UNIT_GRPC_TRANSPORT_COMMON_CONTENDED_STREAM_H_
#define SKEIN_TESTS_UNIT_GRPC_TRANSPORT_COMMON_CONTENDED_STREAM_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "core/stream/stream.h"

namespace skein::grpc_transport {

inline constexpr absl::Duration kPatience = absl::Seconds(20);

// A write that stops inside the stream, as behind another writer of the link that the kernel has preempted. Everything
// that happens before GoOn() does not wait for that write, unless the write gives up.
class Held {
 public:
  void Wait() {
    begun_.Notify();
    gave_up_ = !go_on_.WaitForNotificationWithTimeout(kPatience);
  }
  bool HasBegun() const { return begun_.WaitForNotificationWithTimeout(kPatience); }
  bool gave_up() const { return gave_up_; }
  void GoOn() { go_on_.Notify(); }

 private:
  absl::Notification begun_;
  absl::Notification go_on_;
  std::atomic<bool> gave_up_ = false;
};

// Other threads poll the link of this stream, or write to it, as long as the test says so.
class ContendedStream final : public stream::Stream {
 public:
  explicit ContendedStream(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {}

  void SetObserver(std::shared_ptr<stream::StreamObserver> observer) override {
    stream_->SetObserver(std::move(observer));
  }
  absl::StatusOr<size_t> Write(absl::Span<const stream::ConstBytes> buffers) override {
    if (Held* const held = held_before.exchange(nullptr)) held->Wait();
    absl::StatusOr<size_t> taken = stream_->Write(buffers);
    if (Held* const held = held_after.exchange(nullptr)) held->Wait();
    return taken;
  }
  absl::Status Read(size_t most, std::vector<stream::Buffer>& out) override {
    if (!failure.ok()) return failure;
    return stream_->Read(most, out);
  }
  void CloseWrite() override { stream_->CloseWrite(); }
  void Abort(const absl::Status& reason) override { stream_->Abort(reason); }
  void WhenReached(std::function<void(const absl::Status&)> then) override { stream_->WhenReached(std::move(then)); }
  std::string path() const override { return stream_->path(); }
  std::shared_ptr<link::Link> link() const override { return stream_->link(); }
  bool Drain() override {
    ++drains;
    return !polled_elsewhere && stream_->Drain();
  }
  bool Coming() override { return stream_->Coming(); }
  bool PeerHasClosed() const override { return stream_->PeerHasClosed(); }
  link::Arrival last_arrival() override { return stream_->last_arrival(); }

  absl::Status failure;  // of reads, as when the link is lost
  std::atomic<bool> polled_elsewhere = false;
  std::atomic<int> drains = 0;
  std::atomic<Held*> held_before = nullptr;  // the next write, before the stream takes anything
  std::atomic<Held*> held_after = nullptr;   // the next write, when the stream has taken its part

 private:
  const std::shared_ptr<Stream> stream_;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_TESTS_UNIT_GRPC_TRANSPORT_COMMON_CONTENDED_STREAM_H_
