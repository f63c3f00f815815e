#include "grpc_transport/calls/placeholder.h"

#include <utility>

namespace skein::grpc_transport {
namespace {

constexpr uint32_t kNumber = 0x7fffffff;

}  // namespace

// chttp2's stream with what gRPC's calls give one. Goes when the last reference does, ours or chttp2's.
struct Placeholder::Stream {
  explicit Stream(grpc_chttp2_transport* t) : transport(t) {
    GRPC_CHTTP2_REF_TRANSPORT(transport, "skein placeholder");
    GRPC_STREAM_REF_INIT(&refs, 1, OnUnreferenced, this, "skein placeholder");
    // As grpc_chttp2_parsing_accept_stream does for streams of a peer.
    grpc_chttp2_stream* accepted = nullptr;
    transport->accepting_stream = &accepted;
    new (&memory) grpc_chttp2_stream(transport, &refs, reinterpret_cast<const void*>(uintptr_t{kNumber}), arena.get());
    transport->accepting_stream = nullptr;
    transport->last_new_stream_id = kNumber;
  }
  ~Stream() { GRPC_CHTTP2_UNREF_TRANSPORT(transport, "skein placeholder"); }

  grpc_chttp2_stream* stream() { return reinterpret_cast<grpc_chttp2_stream*>(&memory); }
  // chttp2 may have closed it: with the transport, for want of memory, or at the word of a peer in breach.
  bool closed() { return stream()->read_closed && stream()->write_closed; }

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
  grpc_stream_refcount refs;
  grpc_closure then;
  alignas(grpc_chttp2_stream) char memory[sizeof(grpc_chttp2_stream)] = {};  // as gRPC clears it
};

Placeholder::~Placeholder() { GPR_ASSERT(stream_ == nullptr); }

void Placeholder::Open() {
  if (stream_ != nullptr && stream_->closed()) Close();
  if (stream_ != nullptr || !transport_->closed_with_error.ok()) return;
  stream_ = new Stream(transport_);
}

void Placeholder::Close() {
  Stream* const stream = std::exchange(stream_, nullptr);
  if (stream == nullptr) return;
  if (!stream->closed()) grpc_chttp2_mark_stream_closed(transport_, stream->stream(), 1, 1, absl::OkStatus());
  grpc_stream_unref(&stream->refs, "skein placeholder");
}

}  // namespace skein::grpc_transport
