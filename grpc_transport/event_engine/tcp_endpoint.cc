#include "grpc_transport/event_engine/tcp_endpoint.h"

#include <grpc/slice.h>

#include <string>
#include <utility>

#include "core/trace/tracer.h"
#include "grpc_transport/common/offer_bytes.h"
#include "grpc_transport/common/settings_acks.h"
#include "grpc_transport/common/slice_bytes.h"
#include "grpc_transport/event_engine/client_tracing.h"

namespace skein::grpc_transport {
namespace {

using OnDone = absl::AnyInvocable<void(absl::Status)>;

// The first bytes are not as TCP gives them: the negotiation has read them, a read of which may still be out, and
// there are acknowledgements in it that are not HTTP/2's. Then this object has no part any more.
//
// One read at a time (the endpoint's contract), which owns all fields. A read that is out keeps this object.
class FirstReads : public std::enable_shared_from_this<FirstReads> {
 public:
  FirstReads(std::shared_ptr<TcpReader> reader, SliceBuffer received, int settings_frames)
      : reader_(std::move(reader)), received_(std::move(received)), acks_(settings_frames) {}

  bool over() { return acks_.done() && received_.Length() == 0 && reader_->idle(); }

  // As Endpoint::Read.
  bool Read(OnDone on_done, SliceBuffer* out) {
    out->Clear();
    out_ = out;
    if (Deliver()) return true;
    on_done_ = std::move(on_done);
    ReadMore();
    return false;
  }
  void Detach() { reader_->Detach(); }

 private:
  // True: there is something for HTTP/2.
  bool Deliver() {
    if (acks_.done()) {
      received_.MoveFirstNBytesIntoSliceBuffer(received_.Length(), *out_);
    } else if (received_.Length() > 0) {
      std::string bytes(received_.Length(), '\0');
      received_.MoveFirstNBytesIntoBuffer(bytes.size(), bytes.data());
      const std::string passed = acks_.Pass(bytes);
      if (passed.empty()) return false;
      grpc_slice_buffer_add(out_->c_slice_buffer(), grpc_slice_from_copied_buffer(passed.data(), passed.size()));
    }
    return out_->Length() > 0;
  }
  void ReadMore() {
    reader_->Read([self = shared_from_this()](absl::Status status) { self->Arrived(std::move(status)); });
  }
  void Arrived(absl::Status status) {
    reader_->MoveInto(received_);
    if (status.ok() && !Deliver()) return ReadMore();
    std::exchange(on_done_, nullptr)(std::move(status));
  }

  const std::shared_ptr<TcpReader> reader_;
  SliceBuffer received_;
  SettingsAcks acks_;
  SliceBuffer* out_ = nullptr;
  OnDone on_done_;
};

// Reads and writes never overlap their own kind (the endpoint's contract), so the fields of each need no lock.
class TcpEndpoint final : public EventEngine::Endpoint {
 public:
  TcpEndpoint(std::unique_ptr<EventEngine::Endpoint> tcp, std::shared_ptr<FirstReads> first, size_t preface_left,
              ListedPath path, std::shared_ptr<TracedConnection> traced, std::function<void()> on_other_beginning)
      : tcp_(std::move(tcp)),
        first_(std::move(first)),
        preface_left_(preface_left),
        on_other_beginning_(std::move(on_other_beginning)),
        path_(std::move(path)),
        traced_(std::move(traced)) {}
  ~TcpEndpoint() override {
    if (first_ != nullptr) first_->Detach();
  }

  bool Read(OnDone on_read, SliceBuffer* buffer, ReadArgs args) override {
    if (trace::Enabled()) [[unlikely]] {
      on_read = [on_read = std::move(on_read), traced = traced_](absl::Status status) mutable {
        if (status.ok()) Came(*traced);
        on_read(std::move(status));
      };
    }
    const bool read = ReadFrom(std::move(on_read), buffer, std::move(args));
    if (read && trace::Enabled()) [[unlikely]]
      Came(*traced_);
    return read;
  }

  bool Write(OnDone on_writable, SliceBuffer* data, WriteArgs args) override {
    if (!trace::Enabled()) return WriteTo(std::move(on_writable), data, std::move(args));
    ClientTracing::Begin();
    const std::shared_ptr<TracedConnection> traced = traced_;  // the write may be the endpoint's last
    SentTimes sent{.queued = trace::Now(), .departure = {}};
    const bool written = WriteTo(std::move(on_writable), data, std::move(args));
    sent.departure = {.posted = trace::Now(), .degree = 1};
    traced->Wrote(sent);
    return written;
  }

  const EventEngine::ResolvedAddress& GetPeerAddress() const override { return tcp_->GetPeerAddress(); }
  const EventEngine::ResolvedAddress& GetLocalAddress() const override { return tcp_->GetLocalAddress(); }
  std::shared_ptr<TelemetryInfo> GetTelemetryInfo() const override { return tcp_->GetTelemetryInfo(); }
  void* QueryExtension(absl::string_view id) override { return tcp_->QueryExtension(id); }

 private:
  static void Came(TracedConnection& traced) { traced.Read({.arrived = trace::Now()}); }

  bool ReadFrom(OnDone on_read, SliceBuffer* buffer, ReadArgs args) {
    if (first_ != nullptr) {
      if (!first_->over()) return first_->Read(std::move(on_read), buffer);
      first_ = nullptr;
    }
    return tcp_->Read(std::move(on_read), buffer, std::move(args));
  }

  bool WriteTo(OnDone on_writable, SliceBuffer* data, WriteArgs args) {
    if (preface_left_ > 0) {
      LeaveOutPreface(*data);
      if (data->Length() == 0) return true;
    }
    return tcp_->Write(std::move(on_writable), data, std::move(args));
  }

  // The offer brought it. Other bytes go as they are.
  void LeaveOutPreface(SliceBuffer& data) {
    const std::string bytes = FirstBytesOf(*data.c_slice_buffer(), preface_left_);
    if (bytes != kHttp2Preface.substr(kHttp2Preface.size() - preface_left_, bytes.size())) {
      preface_left_ = 0;
      if (on_other_beginning_) on_other_beginning_();
      return;
    }
    DropFirst(data.c_slice_buffer(), bytes.size());
    preface_left_ -= bytes.size();
  }

  const std::unique_ptr<EventEngine::Endpoint> tcp_;
  std::shared_ptr<FirstReads> first_;  // null when they are over
  size_t preface_left_;
  const std::function<void()> on_other_beginning_;
  const ListedPath path_;
  const std::shared_ptr<TracedConnection> traced_;
};

}  // namespace

std::unique_ptr<EventEngine::Endpoint> NewTcpEndpoint(std::unique_ptr<EventEngine::Endpoint> tcp,
                                                      std::shared_ptr<TcpReader> reader, SliceBuffer received,
                                                      int settings_frames, ListedPath path,
                                                      std::shared_ptr<TracedConnection> traced,
                                                      std::function<void()> on_other_beginning) {
  auto first = std::make_shared<FirstReads>(std::move(reader), std::move(received), settings_frames);
  return std::make_unique<TcpEndpoint>(std::move(tcp), std::move(first), settings_frames > 0 ? kHttp2Preface.size() : 0,
                                       std::move(path), std::move(traced), std::move(on_other_beginning));
}

}  // namespace skein::grpc_transport
