// A connection's queue as gRPC and the peer see it.
#ifndef SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_SEND_QUEUE_H_
#define SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_SEND_QUEUE_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "grpc_transport/iomgr/calls/send_queue.h"
#include "gtest/gtest.h"
#include "tests/support/recorded_frames.h"

namespace skein::grpc_transport {

// Four calls, of which the peer has given three their numbers, and the connection's queue; what leaves it is read as
// the peer reads it.
class QueueUnderTest {
 protected:
  struct Closure {
    Closure() {
      GRPC_CLOSURE_INIT(
          &closure,
          [](void* arg, grpc_error_handle error) {
            auto* self = static_cast<Closure*>(arg);
            ++self->runs;
            self->error = std::move(error);
            self->place = ++*self->runs_of_all;
          },
          this, nullptr);
    }
    grpc_closure closure;
    int runs = 0;
    grpc_error_handle error;
    int place = 0;  // among all that have run
    int* runs_of_all = nullptr;
  };

  // As gRPC has it: a reference by gRPC's, the others by whoever uses the call.
  struct TestCall {
    explicit TestCall(uint32_t number) {
      GRPC_STREAM_REF_INIT(
          &refs, 1, [](void* arg, grpc_error_handle) { *static_cast<bool*>(arg) = true; }, &destroyed, "test");
      if (number != 0) outgoing.Accept(number);
    }
    ~TestCall() {
      SendQueue::Free(outgoing);
      grpc_stream_unref(&refs, "test");
      grpc_core::ExecCtx::Get()->Flush();
      EXPECT_TRUE(destroyed) << "somebody keeps a reference";
    }
    bool destroyed = false;
    grpc_stream_refcount refs;
    Outgoing outgoing{&refs};
  };

  struct Sent {
    SendQueue::Added added;
    Closure* done;
    Closure* on_end;
    bool at_once() const { return added == SendQueue::Added::kAll; }
  };

  struct Parts {
    absl::string_view initial = {};
    absl::string_view trailing = {};
    bool may_wait = false;
  };

  Sent Add(TestCall& call, uint8_t flags, absl::string_view message, Parts parts) {
    Batch batch;
    batch.flags = flags;
    batch.head.Put(parts.initial);
    batch.head.Put(parts.trailing);
    batch.initial = static_cast<uint32_t>(parts.initial.size());
    batch.trailing = static_cast<uint32_t>(parts.trailing.size());
    batch.may_wait = parts.may_wait;
    grpc_core::SliceBuffer slices;
    for (absl::string_view rest = message; !rest.empty(); rest.remove_prefix(std::min(rest.size(), kSlice))) {
      slices.AppendIndexed(grpc_core::Slice::FromCopiedBuffer(rest.data(), std::min(rest.size(), kSlice)));
    }
    if ((flags & kMessage) != 0) batch.message = slices.c_slice_buffer();
    Sent sent = {SendQueue::Added::kLater, NewClosure(), NewClosure()};
    if ((flags & kTrailing) != 0) batch.on_end = &sent.on_end->closure;
    sent.added = queue_->Add(call.outgoing, batch, &sent.done->closure);
    Flush();
    EXPECT_EQ(slices.Length(), message.size()) << "gRPC may send it again";
    return sent;
  }
  Sent Add(TestCall& call, uint8_t flags, absl::string_view message = {}) { return Add(call, flags, message, Parts()); }

  // What one write takes.
  std::vector<RecordedFrame> Take() {
    grpc_core::SliceBuffer bytes;
    queue_->Take(bytes);
    EXPECT_EQ(reader_.Read(*bytes.c_slice_buffer(), frames_), absl::OkStatus()) << "the peer would break off";
    Flush();
    return frames_.TakeFrames();
  }
  std::vector<RecordedFrame> TakeAll() {
    std::vector<RecordedFrame> all;
    while (!queue_->empty()) {
      for (RecordedFrame& frame : Take()) all.push_back(std::move(frame));
    }
    return all;
  }
  Closure* NewClosure() {
    closures_.push_back(std::make_unique<Closure>());
    closures_.back()->runs_of_all = &runs_of_all_;
    return closures_.back().get();
  }
  static void Flush() { grpc_core::ExecCtx::Get()->Flush(); }

  static constexpr size_t kSlice = 10'000;
  grpc_core::ExecCtx exec_ctx_;
  int runs_of_all_ = 0;
  std::vector<std::unique_ptr<Closure>> closures_;
  TestCall first_{1};
  TestCall second_{3};
  TestCall third_{5};
  TestCall unnumbered_{0};
  std::unique_ptr<SendQueue> queue_ = std::make_unique<SendQueue>();  // its references go first
  FrameReader reader_;
  RecordedFrames frames_;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_SEND_QUEUE_H_
