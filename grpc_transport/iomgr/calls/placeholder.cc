#include "grpc_transport/iomgr/calls/placeholder.h"

#include <utility>

namespace skein::grpc_transport {
namespace {

constexpr uint32_t kHighest = 0x7fffffff;

uint32_t NumberAt(const grpc_chttp2_transport& transport) { return transport.is_client ? kHighest : kHighest - 1; }

}  // namespace

// chttp2's stream with what gRPC's calls give one. Goes when the last reference does, ours or chttp2's.
struct Placeholder::Stream {
  Stream(grpc_chttp2_transport* t, PlaceholderOwner& its_owner) : transport(t), owner(its_owner.Ref()) {
    GRPC_CHTTP2_REF_TRANSPORT(transport, "skein placeholder");
    GRPC_STREAM_REF_INIT(&refs, 1, OnUnreferenced, this, "skein placeholder");
    // As grpc_chttp2_parsing_accept_stream does for streams of a peer.
    grpc_chttp2_stream* accepted = nullptr;
    transport->accepting_stream = &accepted;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): gRPC hands a stream's number over as a pointer.
    const auto* const number = reinterpret_cast<const void*>(uintptr_t{NumberAt(*t)});
    new (&memory) grpc_chttp2_stream(transport, &refs, number, arena.get());
    transport->accepting_stream = nullptr;
    transport->last_new_stream_id = kHighest;
    grpc_stream_ref(&refs, "skein closed");
    stream()->recv_trailing_metadata_finished = GRPC_CLOSURE_INIT(&on_closed, OnClosed, this, nullptr);
    stream()->recv_trailing_metadata = &trailers;
    stream()->collecting_stats = &stats;
  }
  ~Stream() { GRPC_CHTTP2_UNREF_TRANSPORT(transport, "skein placeholder"); }

  grpc_chttp2_stream* stream() { return reinterpret_cast<grpc_chttp2_stream*>(&memory); }
  // chttp2 may have closed it: with the transport, for want of memory, or at the word of a peer that breaks the
  // protocol.
  bool closed() { return stream()->read_closed && stream()->write_closed; }

  // chttp2 hands out the trailers of a stream that it closes. With this status it closes streams for want of memory.
  static void OnClosed(void* arg, grpc_error_handle /*error*/) {
    auto* const self = static_cast<Stream*>(arg);
    const auto status = self->trailers.get(grpc_core::GrpcStatusMetadata());
    if (status == GRPC_STATUS_RESOURCE_EXHAUSTED) self->owner->OnGivenUp();
    grpc_stream_unref(&self->refs, "skein closed");
  }
  void StopListening() {
    if (std::exchange(stream()->recv_trailing_metadata_finished, nullptr) == nullptr) return;
    grpc_stream_unref(&refs, "skein closed");
  }

  static void OnUnreferenced(void* arg, grpc_error_handle /*error*/) {
    auto* const self = static_cast<Stream*>(arg);
    GRPC_CLOSURE_INIT(&self->then, Destroy, self, nullptr);
    self->transport->combiner->Run(&self->then, absl::OkStatus());
  }
  static void Destroy(void* arg, grpc_error_handle /*error*/) {
    auto* const self = static_cast<Stream*>(arg);
    // Which schedules what is to follow it.
    self->stream()->destroy_stream_arg = GRPC_CLOSURE_INIT(
        &self->then, [](void* stream, grpc_error_handle) { delete static_cast<Stream*>(stream); }, self, nullptr);
    // Another placeholder may have the number by now.
    self->stream()->id = 0;
    // It is no stream of the program's: channelz does not count it.
    auto socket = std::move(self->transport->channelz_socket);
    self->stream()->~grpc_chttp2_stream();
    self->transport->channelz_socket = std::move(socket);
  }

  grpc_chttp2_transport* const transport;
  // Not the transport's memory, which ends before its last streams do.
  grpc_core::MemoryAllocator memory_allocator =
      grpc_core::ResourceQuota::Default()->memory_quota()->CreateMemoryAllocator("skein placeholder");
  grpc_core::ScopedArenaPtr arena = grpc_core::MakeScopedArena(512, &memory_allocator);
  const grpc_core::RefCountedPtr<PlaceholderOwner> owner;
  grpc_metadata_batch trailers{arena.get()};
  grpc_transport_stream_stats stats;
  grpc_stream_refcount refs;
  grpc_closure on_closed;  // holds a reference while chttp2 or a thread has it
  grpc_closure then;
  alignas(grpc_chttp2_stream) char memory[sizeof(grpc_chttp2_stream)] = {};  // as gRPC clears it
};

Placeholder::~Placeholder() { GPR_ASSERT(stream_ == nullptr); }

void Placeholder::Open(PlaceholderOwner& owner) {
  if (stream_ != nullptr && stream_->closed()) Close();
  if (stream_ != nullptr || !transport_->closed_with_error.ok()) return;
  stream_ = new Stream(transport_, owner);
}

void Placeholder::Close() {
  Stream* const stream = std::exchange(stream_, nullptr);
  if (stream == nullptr) return;
  stream->StopListening();
  if (!stream->closed()) grpc_chttp2_mark_stream_closed(transport_, stream->stream(), 1, 1, absl::OkStatus());
  grpc_stream_unref(&stream->refs, "skein placeholder");
}

}  // namespace skein::grpc_transport
