#include "grpc_transport/iomgr/received_slice.h"

#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace skein::grpc_transport {
namespace {

constexpr size_t kQuota = size_t{1} << 20;

class ReceivedSliceTest : public testing::Test {
 protected:
  void SetUp() override {
    grpc_init();
    quota_ = grpc_core::MakeRefCounted<grpc_core::ResourceQuota>("test");
    quota_->memory_quota()->SetSize(kQuota);
    allocator_ = QuotaOf(grpc_core::ChannelArgs().SetObject(quota_), "connection");
  }
  void TearDown() override {
    allocator_.reset();
    quota_.reset();
    grpc_shutdown_blocking();
  }

  grpc_slice Receive(absl::string_view text, size_t size) {
    stream::Buffer buffer = {NewReceivedBytes(size), size};
    std::memcpy(buffer.data.get(), text.data(), text.size());
    return ReceivedSlice(std::move(buffer), *allocator_);
  }
  double Pressure() const {
    return quota_->memory_quota()->CreateMemoryOwner("probe").GetPressureInfo().instantaneous_pressure;
  }

  grpc_core::RefCountedPtr<grpc_core::ResourceQuota> quota_;
  std::optional<Quota> allocator_;
};

TEST_F(ReceivedSliceTest, IsCountedUntilItsLastReferenceGoes) {
  const grpc_core::ExecCtx exec_ctx;
  const grpc_slice slice = Receive("whole", kQuota / 2);
  EXPECT_EQ(grpc_core::StringViewFromSlice(slice).substr(0, 5), "whole");
  EXPECT_EQ(GRPC_SLICE_LENGTH(slice), kQuota / 2);
  const grpc_slice part = grpc_slice_sub(slice, 1, 3);
  EXPECT_GE(Pressure(), 0.5);
  grpc_slice_unref(slice);
  EXPECT_GE(Pressure(), 0.5) << "a part of it is still there";
  EXPECT_EQ(grpc_core::StringViewFromSlice(part), "ho");
  grpc_slice_unref(part);
  allocator_.reset();  // gives back what it keeps for its next
  EXPECT_LT(Pressure(), 0.1);
}

TEST_F(ReceivedSliceTest, CountsTheMemoryAndNotItsFilledPart) {
  const grpc_core::ExecCtx exec_ctx;
  std::vector<grpc_slice> slices;
  for (size_t bytes = 0; bytes < kQuota; bytes += kPooledBytes) slices.push_back(Receive("", kLeastPooled));
#ifndef __SANITIZE_ADDRESS__
  EXPECT_GE(Pressure(), 1.0);
#endif
  for (const grpc_slice& slice : slices) grpc_slice_unref(slice);
}

// A program's thread, which knows nothing of gRPC's inside; the quota, overcommitted, is looking for something to give
// up.
TEST_F(ReceivedSliceTest, MayBeLetGoOfByAnyThread) {
  std::vector<grpc_slice> slices;
  {
    const grpc_core::ExecCtx exec_ctx;
    for (int i = 0; i < 8; ++i) slices.push_back(Receive("", kQuota / 2));
  }
  std::thread([&] {
    for (const grpc_slice& slice : slices) grpc_slice_unref(slice);
  }).join();
  allocator_.reset();
  EXPECT_LT(Pressure(), 0.1);
}

TEST_F(ReceivedSliceTest, OutlivesItsConnection) {
  const grpc_core::ExecCtx exec_ctx;
  const grpc_slice slice = Receive("still here", kQuota / 2);
  allocator_.reset();
  EXPECT_EQ(grpc_core::StringViewFromSlice(slice).substr(0, 10), "still here");
  EXPECT_GE(Pressure(), 0.5);
  grpc_slice_unref(slice);
  EXPECT_LT(Pressure(), 0.1);
}

}  // namespace
}  // namespace skein::grpc_transport
