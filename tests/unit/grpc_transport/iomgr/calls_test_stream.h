// gRPC's part of a call in tests of one end alone.
#ifndef SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_TEST_STREAM_H_
#define SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_TEST_STREAM_H_

#include <memory>

#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {

// The memory that gRPC gives the transport for a call, and gRPC's reference to it. Deletes itself with the last one.
class TestStream {
 public:
  // `server_data`: the transport's, at a server; null at a client.
  TestStream(::grpc_transport* transport, const void* server_data)
      : transport_(transport), memory_(new char[transport->vtable->sizeof_stream]) {
    GRPC_STREAM_REF_INIT(&refs_, 1, Destroy, this, "test");
    grpc_transport_init_stream(transport, stream(), &refs_, server_data, nullptr);
  }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;
  void Unref() { grpc_stream_unref(&refs_, "test"); }

 protected:
  virtual ~TestStream() = default;
  void Perform(grpc_transport_stream_op_batch* op) { grpc_transport_perform_stream_op(transport_, stream(), op); }

 private:
  static void Destroy(void* arg, grpc_error_handle /*error*/) {
    auto* const self = static_cast<TestStream*>(arg);
    const auto end = [](void* call, grpc_error_handle) { delete static_cast<TestStream*>(call); };
    grpc_transport_destroy_stream(self->transport_, self->stream(), GRPC_CLOSURE_INIT(&self->end_, end, arg, nullptr));
  }
  grpc_stream* stream() { return reinterpret_cast<grpc_stream*>(memory_.get()); }

  ::grpc_transport* const transport_;
  const std::unique_ptr<char[]> memory_;
  grpc_stream_refcount refs_;
  grpc_closure end_;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_TEST_STREAM_H_
