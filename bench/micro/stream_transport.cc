#include "bench/micro/stream_transport.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/micro/byte_transport.h"
#include "bench/micro/patience.h"
#include "bench/micro/spinning_waiter.h"
#include "core/connect/fabrics.h"
#include "core/connect/route.h"
#include "core/stream/stream.h"

namespace skein::bench {
namespace {

// What a stream has said since it was last asked.
class Readiness final : public stream::StreamObserver {
 public:
  void OnReadable() override { readable_ = true; }
  void OnWritable() override { writable_ = true; }
  bool TakeReadable() { return std::exchange(readable_, false); }
  bool TakeWritable() { return std::exchange(writable_, false); }

 private:
  bool readable_ = false;
  bool writable_ = false;
};

class OverStream final : public ByteTransport {
 public:
  OverStream(std::shared_ptr<channel::Transport> transport, const stream::StreamOptions& options, size_t bytes)
      : ByteTransport(bytes), fabrics_(std::make_shared<connect::OneFabric>(std::move(transport))) {
    connector_ = stream::CreateConnector(fabrics_, options, &waiter_);
    listener_ = stream::CreateListener(fabrics_, options, &waiter_);
  }

  absl::Status Ask(Socket& control) {
    const auto attempt = connector_->Begin(connect::RouteOf(control.fd()));
    if (!attempt.ok()) return attempt.status();
    if (absl::Status status = control.SendText((*attempt)->offer()); !status.ok()) return status;
    const absl::StatusOr<std::string> answer = control.ReceiveText();
    if (!answer.ok()) return answer.status();
    return Use((*attempt)->Complete(*answer));
  }

  absl::Status BeAsked(Socket& control) {
    const absl::StatusOr<std::string> offer = control.ReceiveText();
    if (!offer.ok()) return offer.status();
    stream::Listener::Result result = listener_->Accept(*offer, connect::RouteOf(control.fd()));
    if (absl::Status status = control.SendText(result.answer); !status.ok()) return status;
    return Use(std::move(result.outcome));
  }

  std::string path() const override { return stream_->path(); }

 private:
  absl::Status Use(stream::Outcome outcome) {
    if (outcome.stream == nullptr) return absl::UnavailableError(absl::StrCat("no stream: ", ToString(outcome.why)));
    stream_ = std::move(outcome.stream);
    stream_->SetObserver(readiness_);
    return absl::OkStatus();
  }

  absl::Status SendBytes(absl::Span<const std::byte> bytes) override {
    for (;;) {
      const absl::StatusOr<size_t> taken = stream_->Write({&bytes, 1});
      if (!taken.ok()) return taken.status();
      bytes.remove_prefix(*taken);
      if (bytes.empty()) return absl::OkStatus();
      absl::Status status = SpinUntil([this] { return readiness_->TakeWritable(); });
      if (!status.ok()) return status;
    }
  }

  // Streams give buffers of their own: they are counted, and dropped.
  absl::Status ReceiveBytes(absl::Span<std::byte> bytes) override {
    while (unused_ < bytes.size()) {
      received_.clear();
      if (absl::Status status = stream_->Read(bytes.size() - unused_, received_); !status.ok()) return status;
      for (const stream::Buffer& buffer : received_) unused_ += buffer.size;
      if (!received_.empty()) continue;
      absl::Status status = SpinUntil([this] { return readiness_->TakeReadable(); });
      if (!status.ok()) return status;
    }
    unused_ -= bytes.size();
    return absl::OkStatus();
  }

  template <typename Condition>
  absl::Status SpinUntil(const Condition& condition) {
    Patience patience;
    while (!condition()) {
      waiter_.Poll();
      if (absl::Status status = patience.Spin(); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  const std::shared_ptr<connect::OneFabric> fabrics_;
  SpinningWaiter waiter_;  // outlives connector, listener and stream
  std::unique_ptr<stream::Connector> connector_;
  std::unique_ptr<stream::Listener> listener_;
  const std::shared_ptr<Readiness> readiness_ = std::make_shared<Readiness>();
  std::vector<stream::Buffer> received_;
  size_t unused_ = 0;  // received beyond what was asked for
  std::shared_ptr<stream::Stream> stream_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Transport>> OpenStream(std::shared_ptr<channel::Transport> transport,
                                                      const stream::StreamOptions& options, Socket& control, bool asks,
                                                      size_t bytes) {
  auto stream = std::make_unique<OverStream>(std::move(transport), options, bytes);
  const absl::Status status = asks ? stream->Ask(control) : stream->BeAsked(control);
  if (!status.ok()) return status;
  return stream;
}

}  // namespace skein::bench
