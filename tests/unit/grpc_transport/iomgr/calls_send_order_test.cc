// What a call sends, in which order, and what becomes of a call that ends meanwhile.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "grpc_transport/iomgr/calls/send_queue.h"
#include "gtest/gtest.h"

namespace skein::grpc_transport {
namespace {

// gRPC's part of a call, and the closures that its batches complete with.
class Sender {
 public:
  explicit Sender(SendQueue& queue) : queue_(queue) {
    GRPC_STREAM_REF_INIT(
        &refs_, 1, [](void*, grpc_error_handle) {}, nullptr, "test");
  }
  ~Sender() {
    queue_.Drop(outgoing, absl::CancelledError());
    grpc_core::SliceBuffer rest;
    while (!queue_.empty()) queue_.Take(rest);  // so that the queue has no reference any more
    grpc_core::ExecCtx::Get()->Flush();
    SendQueue::Free(outgoing);
  }

  SendQueue::Added Begin(size_t message_bytes, bool may_wait = false) {
    Batch batch;
    batch.flags = kInitial;
    batch.head.Put(absl::string_view("metadata"));
    batch.initial = 8;
    return Add(batch, message_bytes, may_wait);
  }
  SendQueue::Added Message(size_t message_bytes) {
    Batch batch;
    return Add(batch, message_bytes, /*may_wait=*/false);
  }

  Outgoing outgoing{&refs_};
  int completed = 0;

 private:
  SendQueue::Added Add(Batch& batch, size_t message_bytes, bool may_wait) {
    grpc_core::SliceBuffer message;
    if (message_bytes > 0) {
      batch.flags |= kMessage;
      message.AppendIndexed(grpc_core::Slice::FromCopiedString(std::string(message_bytes, 'm')));
      batch.message = message.c_slice_buffer();
    }
    batch.may_wait = may_wait;
    closures_.emplace_back(new grpc_closure);
    const auto complete = [](void* self, grpc_error_handle) { ++static_cast<Sender*>(self)->completed; };
    GRPC_CLOSURE_INIT(closures_.back().get(), complete, this, nullptr);
    const SendQueue::Added added = queue_.Add(outgoing, batch, closures_.back().get());
    grpc_core::ExecCtx::Get()->Flush();
    return added;
  }

  SendQueue& queue_;
  grpc_stream_refcount refs_;
  std::vector<std::unique_ptr<grpc_closure>> closures_;
};

class SendOrderTest : public testing::Test {
 protected:
  // The calls that frames which are taken now begin.
  std::vector<uint32_t> Begun() {
    grpc_core::SliceBuffer taken;
    queue_.Take(taken);
    grpc_core::ExecCtx::Get()->Flush();
    const std::string bytes(taken.JoinIntoString());
    std::vector<uint32_t> begun;
    for (size_t at = 0; at < bytes.size();) {
      FrameHeader header;
      std::memcpy(&header, bytes.data() + at, sizeof(header));
      EXPECT_TRUE(CheckHeader(header).ok());
      if ((header.flags & kInitial) != 0) begun.push_back(header.call);
      at += sizeof(header) + header.length;
    }
    return begun;
  }

  struct Grpc {
    Grpc() { grpc_init(); }
    ~Grpc() { grpc_shutdown_blocking(); }
  } grpc_;
  grpc_core::ExecCtx exec_ctx_;
  SendQueue queue_;
};

constexpr size_t kLong = kMaxFragmentBytes + 1;

TEST_F(SendOrderTest, ACallWithALongMessageBeginsBeforeALaterCallDoes) {
  Sender first(queue_);
  Sender second(queue_);
  queue_.Start(first.outgoing, 1);
  EXPECT_EQ(first.Begin(kLong), SendQueue::Added::kLater);
  queue_.Start(second.outgoing, 2);
  EXPECT_EQ(second.Begin(1), SendQueue::Added::kAll);
  EXPECT_EQ(Begun(), (std::vector<uint32_t>{1, 2}));
}

TEST_F(SendOrderTest, ACallWhoseMessageMayWaitBeginsBeforeALaterCallDoes) {
  Sender first(queue_);
  Sender second(queue_);
  queue_.Start(first.outgoing, 1);
  first.Begin(1, /*may_wait=*/true);
  queue_.Start(second.outgoing, 2);
  second.Begin(1);
  EXPECT_EQ(Begun(), (std::vector<uint32_t>{1, 2}));
}

TEST_F(SendOrderTest, ACallThatGetsItsNumberLateBeginsBeforeALaterCallDoes) {
  Sender first(queue_);
  Sender second(queue_);
  first.Begin(1);
  queue_.Start(first.outgoing, 1);
  queue_.Start(second.outgoing, 2);
  second.Begin(1);
  EXPECT_EQ(Begun(), (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(first.completed, 1);
}

// It may have to be made on another connection, where gRPC sends once more what it has been told is done, and loses
// some.
TEST_F(SendOrderTest, OfACallWithoutANumberNoMessageIsDone) {
  Sender sender(queue_);
  sender.Begin(1, /*may_wait=*/true);
  EXPECT_EQ(sender.completed, 0);
  queue_.Start(sender.outgoing, 1);
  EXPECT_EQ(Begun(), std::vector<uint32_t>{1});
  EXPECT_EQ(sender.completed, 1);
}

TEST_F(SendOrderTest, WhatIsAddedBehindTheEndOfACallIsLeftToItsCaller) {
  Sender sender(queue_);
  queue_.Start(sender.outgoing, 1);
  sender.Begin(kLong);
  EXPECT_EQ(queue_.Drop(sender.outgoing, absl::OkStatus()), SendQueue::PeerAwaits::kStatus);
  grpc_core::ExecCtx::Get()->Flush();
  EXPECT_EQ(sender.completed, 1);
  EXPECT_EQ(sender.Message(kLong), SendQueue::Added::kDropped);
  EXPECT_EQ(sender.completed, 1) << "nobody would grant it a window, and it would never complete";
}

TEST_F(SendOrderTest, ACallThatEndsBeforeItGetsItsNumberIsNeverHeardOf) {
  Sender sender(queue_);
  sender.Begin(1);
  EXPECT_EQ(queue_.Drop(sender.outgoing, absl::CancelledError()), SendQueue::PeerAwaits::kNothing);
  queue_.Start(sender.outgoing, 1);
  EXPECT_EQ(queue_.Drop(sender.outgoing, absl::CancelledError()), SendQueue::PeerAwaits::kNothing);
  EXPECT_EQ(Begun(), std::vector<uint32_t>{});
}

TEST_F(SendOrderTest, OfACallThatEndsWithinAMessageOnlyTheEndCanBeTold) {
  Sender sender(queue_);
  queue_.Start(sender.outgoing, 1);
  sender.Begin(kLong);
  Begun();
  sender.Message(2 * kInitialWindow);
  Begun();
  EXPECT_EQ(queue_.Drop(sender.outgoing, absl::CancelledError()), SendQueue::PeerAwaits::kEnd);
}

}  // namespace
}  // namespace skein::grpc_transport
