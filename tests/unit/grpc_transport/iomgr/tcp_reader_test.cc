// One read that changes hands, over an endpoint whose reads the test completes.
#include "grpc_transport/iomgr/tcp_reader.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace skein::grpc_transport {
namespace {

// Only its read is ever called.
class FakeEndpoint {
 public:
  FakeEndpoint() {
    vtable_.read = [](grpc_endpoint* endpoint, grpc_slice_buffer* slices, grpc_closure* done, bool, int) {
      auto* self = reinterpret_cast<Base*>(endpoint)->self;
      grpc_slice_buffer_reset_and_unref(slices);
      EXPECT_EQ(self->done_, nullptr) << "two reads at a time";
      self->slices_ = slices;
      self->done_ = done;
      ++self->reads_;
    };
    base_ = {{&vtable_}, this};
  }
  grpc_endpoint* get() { return &base_.endpoint; }
  int reads() const { return reads_; }
  void Complete(absl::string_view bytes, grpc_error_handle error = absl::OkStatus()) {
    if (!bytes.empty()) grpc_slice_buffer_add(slices_, grpc_slice_from_copied_buffer(bytes.data(), bytes.size()));
    grpc_core::ExecCtx::Run(DEBUG_LOCATION, std::exchange(done_, nullptr), std::move(error));
    grpc_core::ExecCtx::Get()->Flush();
  }

 private:
  struct Base {
    grpc_endpoint endpoint;  // first
    FakeEndpoint* self;
  };
  grpc_endpoint_vtable vtable_ = {};
  Base base_;
  grpc_slice_buffer* slices_ = nullptr;
  grpc_closure* done_ = nullptr;
  int reads_ = 0;
};

// Who waits for a read.
struct Waiting {
  Waiting() {
    GRPC_CLOSURE_INIT(
        &closure,
        [](void* arg, grpc_error_handle error) {
          auto* self = static_cast<Waiting*>(arg);
          ++self->calls;
          self->error = std::move(error);
        },
        this, nullptr);
  }
  grpc_closure closure;
  int calls = 0;
  grpc_error_handle error;
};

class TcpReaderTest : public testing::Test {
 protected:
  std::string Take() {
    grpc_slice_buffer out;
    grpc_slice_buffer_init(&out);
    reader_->MoveInto(&out);
    std::string bytes;
    for (size_t i = 0; i < out.count; ++i) absl::StrAppend(&bytes, grpc_core::StringViewFromSlice(out.slices[i]));
    grpc_slice_buffer_destroy(&out);
    return bytes;
  }
  static void Flush() { grpc_core::ExecCtx::Get()->Flush(); }

  grpc_core::ExecCtx exec_ctx_;
  FakeEndpoint endpoint_;
  grpc_core::RefCountedPtr<TcpReader> reader_ = grpc_core::MakeRefCounted<TcpReader>(endpoint_.get());
  Waiting first_;
  Waiting second_;
};

TEST_F(TcpReaderTest, HandsOverWhatArrives) {
  EXPECT_TRUE(reader_->idle());
  reader_->Read(&first_.closure);
  EXPECT_FALSE(reader_->idle());
  endpoint_.Complete("bytes");
  EXPECT_EQ(first_.calls, 1);
  EXPECT_TRUE(first_.error.ok());
  EXPECT_FALSE(reader_->idle()) << "they are still here";
  EXPECT_EQ(Take(), "bytes");
  EXPECT_TRUE(reader_->idle());
}

TEST_F(TcpReaderTest, HandsOverTheError) {
  reader_->Read(&first_.closure);
  endpoint_.Complete("", GRPC_ERROR_CREATE("gone"));
  EXPECT_EQ(first_.calls, 1);
  EXPECT_FALSE(first_.error.ok());
}

// A negotiation gives up; the transport goes on with the same read.
TEST_F(TcpReaderTest, NextOneTakesTheReadOverThatWasGivenUp) {
  reader_->Read(&first_.closure);
  EXPECT_TRUE(reader_->Withdraw());
  EXPECT_FALSE(reader_->Withdraw()) << "once";
  EXPECT_FALSE(reader_->idle());
  reader_->Read(&second_.closure);
  EXPECT_EQ(endpoint_.reads(), 1);
  endpoint_.Complete("late");
  EXPECT_EQ(first_.calls, 0);
  EXPECT_EQ(second_.calls, 1);
  EXPECT_EQ(Take(), "late");
}

TEST_F(TcpReaderTest, KeepsWhatArrivesWhileNobodyWaits) {
  reader_->Read(&first_.closure);
  ASSERT_TRUE(reader_->Withdraw());
  endpoint_.Complete("between");
  EXPECT_FALSE(reader_->idle());
  reader_->Read(&second_.closure);
  Flush();
  EXPECT_EQ(first_.calls, 0);
  EXPECT_EQ(second_.calls, 1);
  EXPECT_EQ(Take(), "between");
  EXPECT_EQ(endpoint_.reads(), 1) << "the endpoint was not asked again";
}

TEST_F(TcpReaderTest, KeepsTheErrorWhileNobodyWaits) {
  reader_->Read(&first_.closure);
  ASSERT_TRUE(reader_->Withdraw());
  endpoint_.Complete("", GRPC_ERROR_CREATE("gone"));
  EXPECT_FALSE(reader_->idle());
  reader_->Read(&second_.closure);
  Flush();
  EXPECT_EQ(second_.calls, 1);
  EXPECT_FALSE(second_.error.ok());
}

TEST_F(TcpReaderTest, WhatHasArrivedCannotBeWithdrawn) {
  reader_->Read(&first_.closure);
  endpoint_.Complete("bytes");
  EXPECT_FALSE(reader_->Withdraw());
  EXPECT_EQ(first_.calls, 1);
  EXPECT_EQ(Take(), "bytes");
}

// The endpoint writes into the reader's buffer until its read is over, whoever has gone by then.
TEST_F(TcpReaderTest, OutlivesItsOwnerWhileAReadIsOut) {
  reader_->Read(&first_.closure);
  ASSERT_TRUE(reader_->Withdraw());
  reader_ = nullptr;
  endpoint_.Complete("too late");
  EXPECT_EQ(first_.calls, 0);
}

}  // namespace
}  // namespace skein::grpc_transport
