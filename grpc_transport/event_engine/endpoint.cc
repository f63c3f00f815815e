#include "grpc_transport/event_engine/endpoint.h"

#include <optional>
#include <string>
#include <utility>

#include "core/base/forked.h"
#include "core/link/link.h"
#include "core/trace/tracer.h"
#include "grpc_transport/common/slice_bytes.h"
#include "grpc_transport/common/stream_connection.h"
#include "grpc_transport/event_engine/client_tracing.h"
#include "grpc_transport/event_engine/ready.h"
#include "grpc_transport/event_engine/received_slice.h"

namespace skein::grpc_transport {
namespace {

StreamConnection::Parts PartsOf(EndpointParts& parts) {
  std::shared_ptr<wait::Busy> busy = parts.user->BusyOf(*parts.stream->link());
  return {std::move(parts.stream), &parts.user->busy_set(), std::move(busy), std::move(parts.path),
          std::move(parts.on_lost)};
}

// What the endpoint is for, and outlives it. Callbacks of gRPC's go through Ready, and never run inline.
class EngineConnection final : public StreamConnection {
 public:
  using OnDone = absl::AnyInvocable<void(absl::Status)>;

  explicit EngineConnection(EndpointParts parts)
      : StreamConnection(PartsOf(parts)),
        engine_(std::move(parts.engine)),
        reader_(std::move(parts.reader)),
        traced_(std::move(parts.traced)),
        tcp_(std::move(parts.tcp)),
        user_(std::move(parts.user)),
        allocator_(std::move(parts.allocator)) {}

  void WatchTcp() {
    reader_->Read([self = Self()](const absl::Status& status) {
      self->OnTcp(status.ok() ? absl::StatusOr<std::string>(self->ReadFromTcp()) : status);
    });
  }

  // As EventEngine::Endpoint's. True: done.
  bool Read(OnDone on_read, SliceBuffer* buffer) {
    buffer->Clear();
    if (InForkedChild()) return Fail(std::move(on_read));
    MutexLock lock(&mu_);
    Result result = BeginRead(buffer->c_slice_buffer());
    if (result.has_value() && result->ok()) return true;
    on_read_ = std::move(on_read);
    if (result.has_value()) FinishRead(*std::move(result));
    return false;
  }
  bool Write(OnDone on_written, SliceBuffer* data) {
    if (InForkedChild()) return Fail(std::move(on_written));
    OnDone unused;                                          // outlives the lock
    const std::shared_ptr<StreamConnection> self = Self();  // the endpoint may end while the stream writes
    MutexLock lock(&mu_);
    on_written_ = std::move(on_written);
    Result result = BeginWrite(data->c_slice_buffer());
    if (!result.has_value()) return false;
    if (!result->ok()) {
      FinishWrite(*std::move(result));
      return false;
    }
    unused = std::exchange(on_written_, nullptr);
    return true;
  }

 private:
  std::shared_ptr<EngineConnection> Self() { return std::static_pointer_cast<EngineConnection>(shared_from_this()); }

  void Tell(OnDone done, absl::Status status) {
    Ready::RunSoon(engine_,
                   [done = std::move(done), status = std::move(status)]() mutable { done(std::move(status)); });
  }
  bool Fail(OnDone done) {
    Tell(std::move(done), MadeBeforeFork());
    return false;
  }
  void FinishRead(absl::Status status) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Tell(std::exchange(on_read_, nullptr), std::move(status));
  }
  void FinishWrite(absl::Status status) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Tell(std::exchange(on_written_, nullptr), std::move(status));
  }
  void RunSoon(std::function<void()> act) override { Ready::RunSoon(engine_, std::move(act)); }

  void StartTimer(Timer timer, absl::Duration after) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const EventEngine::TaskHandle handle = engine_->RunAfter(
        absl::ToChronoNanoseconds(after), [self = Self(), timer] { self->OnTimer(timer, /*over=*/false); });
    if (timer == Timer::kSilence) silence_ = handle;
  }
  void StopTimer() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { engine_->Cancel(silence_); }

  grpc_slice Received(stream::Buffer buffer) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return ReceivedSlice(std::move(buffer), allocator_);
  }
  std::shared_ptr<void> Reserve(size_t bytes) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return std::make_shared<MemoryAllocator::Reservation>(allocator_.MakeReservation(bytes));
  }

  absl::StatusOr<size_t> WriteTo(stream::Stream& stream, absl::Span<const stream::ConstBytes> parts) override {
    if (!trace::Enabled()) return stream.Write(parts);
    ClientTracing::Begin();
    SentTimes sent{.queued = trace::Now(), .departure = {}};
    absl::StatusOr<size_t> taken = stream.Write(parts);
    if (taken.ok() && *taken > 0) sent.departure = link::last_departure;
    traced_->Wrote(sent);
    return taken;
  }
  void Came(stream::Stream& stream) override {
    const link::Arrival arrival = stream.last_arrival();
    if (arrival.arrived != 0 || traced_->peer_traces()) [[unlikely]]
      traced_->Read(arrival);
  }

  void SendOnTcp(absl::string_view bytes) override {
    auto data = std::make_shared<SliceBuffer>();
    data->Append(grpc_event_engine::experimental::Slice::FromCopiedBuffer(bytes.data(), bytes.size()));
    tcp_->Write([data](const absl::Status& /*status*/) {}, data.get(), {});
  }
  std::string ReadFromTcp() {
    SliceBuffer bytes;
    reader_->MoveInto(bytes);
    return FirstBytesOf(*bytes.c_slice_buffer(), /*most=*/2);
  }

  // Nothing else uses these any more, so they need no lock.
  void LetGo() override ABSL_NO_THREAD_SAFETY_ANALYSIS {
    reader_->Detach();
    tcp_ = nullptr;
    user_ = nullptr;
    allocator_ = MemoryAllocator();
  }

  const std::shared_ptr<EventEngine> engine_;
  const std::shared_ptr<TcpReader> reader_;
  const std::shared_ptr<TracedConnection> traced_;

  // Until LetGo:
  std::unique_ptr<EventEngine::Endpoint> tcp_;
  std::unique_ptr<LinkPoller::User> user_;
  MemoryAllocator allocator_ ABSL_GUARDED_BY(mu_);  // of what is read, and kept

  OnDone on_read_ ABSL_GUARDED_BY(mu_);
  OnDone on_written_ ABSL_GUARDED_BY(mu_);
  EventEngine::TaskHandle silence_ ABSL_GUARDED_BY(mu_) = EventEngine::TaskHandle::kInvalid;
};

class SkeinEndpoint final : public EventEngine::Endpoint {
 public:
  explicit SkeinEndpoint(EndpointParts parts)
      : peer_(parts.tcp->GetPeerAddress()),
        local_(parts.tcp->GetLocalAddress()),
        connection_(std::make_shared<EngineConnection>(std::move(parts))) {
    connection_->Start();
    connection_->WatchTcp();
  }
  ~SkeinEndpoint() override { connection_->Shutdown(absl::CancelledError("the endpoint was destroyed")); }

  bool Read(absl::AnyInvocable<void(absl::Status)> on_read, SliceBuffer* buffer, ReadArgs /*args*/) override {
    return connection_->Read(std::move(on_read), buffer);
  }
  bool Write(absl::AnyInvocable<void(absl::Status)> on_writable, SliceBuffer* data, WriteArgs /*args*/) override {
    return connection_->Write(std::move(on_writable), data);
  }
  const EventEngine::ResolvedAddress& GetPeerAddress() const override { return peer_; }
  const EventEngine::ResolvedAddress& GetLocalAddress() const override { return local_; }
  // Of a socket's writes, which there are none.
  std::shared_ptr<TelemetryInfo> GetTelemetryInfo() const override { return nullptr; }

 private:
  const EventEngine::ResolvedAddress peer_;
  const EventEngine::ResolvedAddress local_;
  const std::shared_ptr<EngineConnection> connection_;
};

}  // namespace

std::unique_ptr<EventEngine::Endpoint> NewSkeinEndpoint(EndpointParts parts) {
  return std::make_unique<SkeinEndpoint>(std::move(parts));
}

}  // namespace skein::grpc_transport
