#include "bench/micro/write_transport.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "bench/micro/patience.h"

namespace skein::bench {
namespace {

using fabric::Completion;
using fabric::CompletionStatus;

class OverWrites final : public Transport {
 public:
  explicit OverWrites(std::shared_ptr<fabric::Device> device, size_t bytes)
      : device_(std::move(device)), bytes_(bytes) {}

  absl::Status Open() {
    absl::Status status = Take(device_->CreateCompletionQueue(2 * kWriteDepth), queue_);
    if (status.ok()) status = Take(device_->Allocate(bytes_, fabric::kLocalOnly), source_);
    if (status.ok()) status = Take(device_->Allocate(bytes_, fabric::kRemoteWrite), arrived_);
    fabric::QueuePairOptions options;
    options.send_queue = queue_.get();
    options.receive_queue = queue_.get();
    options.max_send_requests = kWriteDepth;
    options.max_receive_requests = 1;
    if (status.ok()) status = Take(device_->CreateQueuePair(options), queue_pair_);
    return status;
  }

  absl::Status Connect(Socket& control, bool offers) {
    absl::Status status = offers ? Offer(control) : Accept(control);
    const fabric::RemoteAddress own = arrived_->remote();
    if (status.ok()) status = control.SendText(absl::StrCat(own.address, " ", own.rkey));
    if (!status.ok()) return status;
    const absl::StatusOr<std::string> text = control.ReceiveText();
    if (!text.ok()) return text.status();
    const std::vector<std::string> words = absl::StrSplit(*text, ' ');
    if (words.size() != 2 || !absl::SimpleAtoi(words[0], &remote_.address) ||
        !absl::SimpleAtoi(words[1], &remote_.rkey)) {
      return absl::DataLossError("the other end says no address");
    }
    return absl::OkStatus();
  }

  std::string path() const override { return std::string(device_->name()); }

  // The last word is the message's number.
  absl::Status Send() override {
    if (absl::Status status = ReapAll(); !status.ok()) return status;  // the source is the device's until then
    std::atomic_ref<uint64_t>(LastWord(*source_)).store(++sent_, std::memory_order_relaxed);
    return Post();
  }

  absl::Status Receive() override {
    ++received_;
    const std::atomic_ref<uint64_t> last(LastWord(*arrived_));
    Patience patience;
    while (last.load(std::memory_order_acquire) != received_) {
      if (absl::Status status = Reap(); !status.ok()) return status;
      if (absl::Status status = patience.Spin(); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status Flood(uint64_t count) override {
    Patience patience;
    for (uint64_t posted = 0; posted < count;) {
      if (under_way_ < kWriteDepth) {
        if (absl::Status status = Post(); !status.ok()) return status;
        ++posted;
        patience = Patience();
        continue;
      }
      if (absl::Status status = Reap(); !status.ok()) return status;
      if (absl::Status status = patience.Spin(); !status.ok()) return status;
    }
    return ReapAll();
  }

  // The bytes come by themselves.
  absl::Status Absorb(uint64_t) override { return absl::OkStatus(); }

 private:
  template <typename T>
  static absl::Status Take(absl::StatusOr<T> from, T& to) {
    if (!from.ok()) return from.status();
    to = *std::move(from);
    return absl::OkStatus();
  }

  uint64_t& LastWord(const fabric::MemoryRegion& region) const {
    return *reinterpret_cast<uint64_t*>(region.bytes().data() + bytes_ - sizeof(uint64_t));
  }

  absl::Status Offer(Socket& control) {
    const absl::StatusOr<std::string> offer = queue_pair_->Offer();
    if (!offer.ok()) return offer.status();
    if (absl::Status status = control.SendText(*offer); !status.ok()) return status;
    const absl::StatusOr<std::string> answer = control.ReceiveText();
    if (!answer.ok()) return answer.status();
    return queue_pair_->Complete(*answer);
  }

  absl::Status Accept(Socket& control) {
    const absl::StatusOr<std::string> offer = control.ReceiveText();
    if (!offer.ok()) return offer.status();
    const absl::StatusOr<std::string> answer = queue_pair_->Accept(*offer);
    if (!answer.ok()) return answer.status();
    return control.SendText(*answer);
  }

  absl::Status Post() {
    const fabric::Segment local{source_->bytes().data(), bytes_, source_->lkey()};
    fabric::SendRequest request;
    request.opcode = fabric::Opcode::kWrite;
    request.local = {&local, 1};
    request.remote = remote_;
    absl::Status status = queue_pair_->PostSend({&request, 1});
    if (status.ok()) ++under_way_;
    return status;
  }

  absl::Status Reap() {
    Completion completions[16];
    const size_t count = queue_->Poll(absl::MakeSpan(completions));
    for (size_t i = 0; i < count; ++i) {
      if (completions[i].status == CompletionStatus::kSuccess) continue;
      return absl::UnavailableError(absl::StrCat("a WRITE failed: ", CompletionStatusName(completions[i].status), " (",
                                                 queue_pair_->error().message(), ")"));
    }
    under_way_ -= static_cast<uint32_t>(count);
    return absl::OkStatus();
  }

  absl::Status ReapAll() {
    Patience patience;
    while (under_way_ > 0) {
      if (absl::Status status = Reap(); !status.ok()) return status;
      if (absl::Status status = patience.Spin(); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // In this order, for the order in which they go.
  const std::shared_ptr<fabric::Device> device_;
  const size_t bytes_;
  std::unique_ptr<fabric::CompletionQueue> queue_;
  std::unique_ptr<fabric::MemoryRegion> source_;
  std::unique_ptr<fabric::MemoryRegion> arrived_;
  std::unique_ptr<fabric::QueuePair> queue_pair_;
  fabric::RemoteAddress remote_;
  uint32_t under_way_ = 0;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Transport>> OpenWrites(std::shared_ptr<fabric::Device> device, Socket& control,
                                                      bool offers, size_t bytes) {
  auto transport = std::make_unique<OverWrites>(std::move(device), bytes);
  absl::Status status = transport->Open();
  if (status.ok()) status = transport->Connect(control, offers);
  if (!status.ok()) return status;
  return transport;
}

}  // namespace skein::bench
