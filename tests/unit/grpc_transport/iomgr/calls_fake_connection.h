// A connection below a CallEndpoint in tests of one end alone, and frames as its peer sends them.
#ifndef SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_FAKE_CONNECTION_H_
#define SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_FAKE_CONNECTION_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "grpc_transport/iomgr/calls/frame.h"
#include "grpc_transport/iomgr/grpc_internal.h"
#include "gtest/gtest.h"

namespace skein::grpc_transport {

inline std::string Frame(FrameHeader header, absl::string_view body = {}) {
  header.length = static_cast<uint32_t>(body.size());
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  return bytes.append(body.data(), body.size());
}

// Carries the frames. The test is its peer.
class FakeConnection {
 public:
  FakeConnection() {
    vtable_.read = [](grpc_endpoint* endpoint, grpc_slice_buffer* slices, grpc_closure* done, bool, int) {
      Of(endpoint)->slices_ = slices;
      Of(endpoint)->read_ = done;
    };
    vtable_.write = [](grpc_endpoint* endpoint, grpc_slice_buffer* slices, grpc_closure* done, void*, int) {
      for (size_t i = 0; i < slices->count; ++i) {
        Of(endpoint)->written_.append(std::string(grpc_core::StringViewFromSlice(slices->slices[i])));
      }
      Of(endpoint)->write_ = done;
      if (!Of(endpoint)->stuck) Of(endpoint)->FinishWrite();
    };
    vtable_.shutdown = [](grpc_endpoint* endpoint, grpc_error_handle why) {
      Of(endpoint)->is_shut_down_ = true;
      if (Of(endpoint)->read_ != nullptr) {
        grpc_core::ExecCtx::Run(DEBUG_LOCATION, std::exchange(Of(endpoint)->read_, nullptr), why);
      }
    };
    vtable_.destroy = [](grpc_endpoint*) {};
    vtable_.get_peer = [](grpc_endpoint*) { return absl::string_view("peer"); };
    vtable_.get_local_address = vtable_.get_peer;
    vtable_.get_fd = [](grpc_endpoint*) { return -1; };
    base_ = {{&vtable_}, this};
  }
  grpc_endpoint* get() { return &base_.endpoint; }
  bool is_shut_down() const { return is_shut_down_; }
  bool is_read() const { return read_ != nullptr; }
  void FinishWrite(const grpc_error_handle& error = absl::OkStatus()) {
    if (write_ != nullptr) grpc_core::ExecCtx::Run(DEBUG_LOCATION, std::exchange(write_, nullptr), error);
  }

  // The connection has failed.
  void Break() {
    ASSERT_NE(read_, nullptr);
    grpc_core::ExecCtx::Run(DEBUG_LOCATION, std::exchange(read_, nullptr), GRPC_ERROR_CREATE("broken"));
  }
  void Deliver(absl::string_view bytes) {
    ASSERT_NE(read_, nullptr);
    grpc_slice_buffer_add(slices_, grpc_slice_from_copied_buffer(bytes.data(), bytes.size()));
    grpc_core::ExecCtx::Run(DEBUG_LOCATION, std::exchange(read_, nullptr), absl::OkStatus());
    grpc_core::ExecCtx::Get()->Flush();
  }
  // Since it was asked last; those of calls.
  std::vector<FrameHeader> Written() {
    std::vector<FrameHeader> frames;
    for (size_t at = 0; at < written_.size();) {
      FrameHeader header;
      std::memcpy(&header, written_.data() + at, sizeof(header));
      at += sizeof(header) + header.length;
      if (header.kind != FrameKind::kHttp2) frames.push_back(header);
    }
    written_.clear();
    return frames;
  }

  bool stuck = false;  // a write is not done before FinishWrite

 private:
  struct Base {
    grpc_endpoint endpoint;  // first
    FakeConnection* self;
  };
  static FakeConnection* Of(grpc_endpoint* endpoint) { return reinterpret_cast<Base*>(endpoint)->self; }

  grpc_endpoint_vtable vtable_ = {};
  Base base_;
  grpc_slice_buffer* slices_ = nullptr;
  grpc_closure* read_ = nullptr;
  grpc_closure* write_ = nullptr;
  std::string written_;
  bool is_shut_down_ = false;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_FAKE_CONNECTION_H_
