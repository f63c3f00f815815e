// The kernel gives a connection in shared memory no more pages: calls that need them fail, and say why; others go on.
#include <skein/rpc.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/deadline.h"
#include "core/channel/shm/pages.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/refused_shm_calls.h"
#include "tests/unit/rpc/served.h"

namespace skein::rpc {
namespace {

using ::testing::HasSubstr;

constexpr size_t kLarge = 100'000;

class RefusedMemoryTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!channel::shm::CanReservePages()) GTEST_SKIP() << "all of it is reserved";
  }
  static Options With(bool coalesce) {
    Options options;
    options.coalesce = coalesce;
    return options;
  }
  static void ExpectRefusal(const absl::Status& status) {
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("the kernel gives the connection no more memory"));
  }

  const std::string large_ = std::string(kLarge, 'x');
  const Options options_ = With(GetParam());
  Client client_{options_};
};

TEST_P(RefusedMemoryTest, FailsTheRequestThatNeedsIt) {
  Served served(options_);
  const auto connection = client_.Connect(served.address(), kSoon).value();
  Refused({SYS_madvise}, ENOMEM, [&] {
    ExpectRefusal(connection->Call(kEcho, large_, kSoon).status());
    EXPECT_EQ(connection->Call(kEcho, "small", kSoon).value(), "small");
    // Of several that go together, the others go.
    PendingCall calls[3];
    const std::vector<CallRequest> together = {
        {&calls[0], kEcho, "a"}, {&calls[1], kEcho, large_}, {&calls[2], kEcho, "b"}};
    connection->Start(together);
    EXPECT_EQ(connection->Wait(calls[0], kSoon), absl::OkStatus());
    ExpectRefusal(connection->Wait(calls[1], kSoon));
    EXPECT_EQ(connection->Wait(calls[2], kSoon), absl::OkStatus());
  });
  // As soon as the kernel is asked again.
  const Deadline guard = After(kSoon);
  absl::StatusOr<std::string> answer = absl::ResourceExhaustedError("not asked yet");
  while (absl::IsResourceExhausted(answer.status()) && Clock::now() < guard) {
    answer = connection->Call(kEcho, large_, kSoon);
  }
  EXPECT_TRUE(answer.ok() && *answer == large_) << answer.status();
}

TEST_P(RefusedMemoryTest, FailsTheCallWhoseReplyNeedsIt) {
  std::optional<Reply> kept;
  Server server(options_);
  ASSERT_TRUE(server.Handle(kKeep, [&](absl::string_view, Reply reply) { kept.emplace(std::move(reply)); }).ok());
  ASSERT_TRUE(server.Handle(kEcho, [](absl::string_view request, Reply reply) { reply.Send(request); }).ok());
  const std::string address = server.Listen("127.0.0.1:0").value();
  std::thread serving([&] { EXPECT_TRUE(server.Serve().ok()); });
  const auto connection = client_.Connect(address, kSoon).value();
  PendingCall call;
  connection->Start(call, kKeep, "");
  EXPECT_EQ(connection->Call(kEcho, "behind it", kSoon).value(), "behind it");
  ASSERT_TRUE(kept.has_value());
  Refused({SYS_madvise}, ENOMEM, [&] { kept->Send(large_); });
  ExpectRefusal(connection->Wait(call, kSoon));
  EXPECT_EQ(connection->Call(kEcho, "small", kSoon).value(), "small");
  server.Stop();
  serving.join();
}

INSTANTIATE_TEST_SUITE_P(Coalesced, RefusedMemoryTest, testing::Bool());

}  // namespace
}  // namespace skein::rpc
