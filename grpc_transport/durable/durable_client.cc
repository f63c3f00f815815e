#include "grpc_transport/durable/durable_client.h"

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include "core/base/detached.h"
#include "grpc_transport/durable/durable_call.h"
#include "grpc_transport/durable/write_queue.h"

namespace skein::grpc_transport {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kFirstPause{10};
constexpr milliseconds kLongestPause{1000};

// Clients that are being closed. The process's end waits for them, since gRPC's static objects go after that; not for
// ever, since the thread that ends the process may be one of gRPC's that a client waits for. Release by the thread that
// has closed one, acquire by the thread that ends the process.
std::atomic<int> closing{0};
constexpr milliseconds kPatienceAtExit{1000};

void AwaitClosed(pid_t process) {
  if (getpid() != process) return;  // a forked child has none of these threads
  const auto end = std::chrono::steady_clock::now() + kPatienceAtExit;
  while (closing.load(std::memory_order_acquire) > 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(milliseconds(1));
  }
}

void AwaitClosedAtExit() {
  static const pid_t process = getpid();
  [[maybe_unused]] static const int registered = std::atexit([] { AwaitClosed(process); });
}

}  // namespace

// One stream. gRPC's hold on it ends when nothing can be written any more, its life after OnDone.
class DurableClient::Stream final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit Stream(std::shared_ptr<DurableClient> client) : client_(std::move(client)) {
    context_.set_wait_for_ready(true);
  }
  void Open() {
    client_->stub_->PrepareBidiStreamingCall(&context_, kSessionMethod, {}, this);
    AddHold();
    StartRead(&arrived_);
    client_->outbox_.Connected([this](const std::string& message) { writes_.Put(message); });
    StartCall();
  }
  void Cancel() { context_.TryCancel(); }

  void OnReadDone(bool ok) override {
    if (ok) why_ = client_->OnMessage(arrived_);
    if (ok && why_.ok()) return StartRead(&arrived_);
    client_->outbox_.Disconnected();
    context_.TryCancel();
    RemoveHold();
  }
  // It need not be over when a write has failed: where that was on a connection that had just ended, this gRPC tries
  // the call again by itself, writes what had been written again, and says nothing more of it.
  void OnWriteDone(bool ok) override {
    writes_.Written(ok);
    if (!ok) context_.TryCancel();
  }
  void OnDone(const grpc::Status& status) override {
    const std::shared_ptr<DurableClient> client = client_;
    const absl::Status why = why_;
    client->OnEnding();
    delete this;  // before the client hears: its context has a share in the channel
    client->OnEnd(status, why);
  }

 private:
  const std::shared_ptr<DurableClient> client_;
  grpc::ClientContext context_;
  grpc::ByteBuffer arrived_;
  absl::Status why_;  // this end has ended it
  WriteQueue<Stream> writes_{*this};
};

DurableClient::DurableClient(const std::shared_ptr<grpc::Channel>& channel, const durable::OutboxOptions& options)
    : stub_(channel), outbox_(options) {}

void DurableClient::Open() {
  Stream* stream = nullptr;
  {
    const MutexLock lock(&mu_);
    if (closed_) return;
    stream = stream_ = new Stream(shared_from_this());
    streams_ = true;
  }
  stream->Open();
}

void DurableClient::CloseElsewhere(std::shared_ptr<DurableClient> client) {
  AwaitClosedAtExit();
  closing.fetch_add(1, std::memory_order_relaxed);
  const auto close = [client = std::move(client)] {
    client->Close();
    closing.fetch_sub(1, std::memory_order_release);
  };
  if (!StartDetached("skein-durable", close)) close();
}

void DurableClient::Close() {
  {
    const MutexLock lock(&mu_);
    closed_ = true;
    if (stream_ != nullptr) stream_->Cancel();
    if (alarm_ != nullptr) alarm_->Cancel();
    Lockable lockable{mu_};
    while (streams_) ended_.wait(lockable);
  }
  stub_.reset();
  outbox_.FailAll(absl::CancelledError("the channel is gone"));
}

absl::Status DurableClient::OnMessage(const grpc::ByteBuffer& message) {
  const uint64_t before = outbox_.progress();
  absl::Status status = outbox_.OnMessage(BytesOf(message));
  if (outbox_.progress() != before) {
    const MutexLock lock(&mu_);
    pause_ = milliseconds(0);
  }
  return status;
}

void DurableClient::OnEnding() {
  const MutexLock lock(&mu_);
  stream_ = nullptr;
}

void DurableClient::OnEnd(const grpc::Status& status, const absl::Status& why) {
  // A server without durable calls, or one that wants none of this client's: to wait for it would be in vain.
  if (why.ok() && (status.error_code() == grpc::StatusCode::UNIMPLEMENTED ||
                   status.error_code() == grpc::StatusCode::PERMISSION_DENIED ||
                   status.error_code() == grpc::StatusCode::UNAUTHENTICATED)) {
    // gRPC's own UNIMPLEMENTED has no words.
    const std::string words = status.error_message().empty()
                                  ? "the server takes no durable calls: nothing has registered its DurableService"
                                  : status.error_message();
    outbox_.FailAll(absl::Status(static_cast<absl::StatusCode>(status.error_code()), words));
  }
  milliseconds pause{0};
  {
    const MutexLock lock(&mu_);
    streams_ = false;
    pause = pause_;
    pause_ = std::clamp(2 * pause_, kFirstPause, kLongestPause);
    ended_.notify_all();
  }
  pause == milliseconds(0) ? Open() : OpenLater(pause);
}

void DurableClient::OpenLater(milliseconds pause) {
  std::unique_ptr<grpc::Alarm> former;
  const MutexLock lock(&mu_);
  if (closed_) return;
  former = std::exchange(alarm_, std::make_unique<grpc::Alarm>());
  alarm_->Set(std::chrono::system_clock::now() + pause, [weak = weak_from_this()](bool) {
    if (const auto self = weak.lock()) self->Open();
  });
}

}  // namespace skein::grpc_transport
