#include "core/service/trunk_socket.h"

#include <fcntl.h>

#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/loopback_pair.h"
#include "tests/support/raw_trunk.h"

namespace skein::service {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TrunkSocketTest : public testing::Test {
 protected:
  explicit TrunkSocketTest(std::pair<UniqueFd, UniqueFd> ends = LoopbackPair())
      : socket_(std::move(ends.first)), other_(std::move(ends.second)) {
    fcntl(socket_.fd(), F_SETFL, O_NONBLOCK);
  }

  static TrunkMessage Numbered(uint32_t number) {
    TrunkMessage message;
    message.kind = TrunkKind::kClosed;
    message.number = number;
    return message;
  }

  // Waits until something has come.
  absl::StatusOr<bool> Move(size_t most = SIZE_MAX) {
    pollfd wait = {socket_.fd(), POLLIN, 0};
    EXPECT_EQ(poll(&wait, 1, 10000), 1);
    return socket_.Move([&](const TrunkMessage& message) {
      heeded_.push_back(message.number);
      return heeded_.size() < most;
    });
  }

  TrunkSocket socket_;
  RawTrunk other_;
  std::vector<uint32_t> heeded_;
};

TEST_F(TrunkSocketTest, MessagesCrossWholeAndInOrder) {
  ASSERT_TRUE(socket_.Send(Numbered(1)).ok());
  EXPECT_EQ(other_.Receive()->number, 1u);
  const std::string bytes = std::string(Numbered(2).view()) + std::string(Numbered(3).view());
  ASSERT_TRUE(other_.SendBytes(bytes.substr(0, 100)));
  EXPECT_EQ(*Move(), true);
  EXPECT_TRUE(heeded_.empty()) << "it is not all there";
  ASSERT_TRUE(other_.SendBytes(bytes.substr(100)));
  while (heeded_.size() < 2) ASSERT_TRUE(Move().ok());
  EXPECT_THAT(heeded_, ElementsAre(2, 3));
}

TEST_F(TrunkSocketTest, NothingToDoIsSaid) {
  const absl::StatusOr<bool> moved = socket_.Move([](const TrunkMessage&) { return true; });
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_FALSE(*moved);
}

TEST_F(TrunkSocketTest, WhoWantsNoMoreIsGivenNoMore) {
  ASSERT_TRUE(other_.SendBytes(std::string(Numbered(1).view()) + std::string(Numbered(2).view())));
  ASSERT_TRUE(Move(/*most=*/1).ok());
  EXPECT_THAT(heeded_, ElementsAre(1));
}

TEST_F(TrunkSocketTest, BytesThatAreNoMessageAreRefused) {
  TrunkMessage wrong = Numbered(1);
  wrong.text_size = 1000000;
  ASSERT_TRUE(other_.Send(wrong));
  EXPECT_TRUE(absl::IsInvalidArgument(Move().status()));
}

TEST_F(TrunkSocketTest, TheEndOfTheConnectionIsAnError) {
  socket_.ShutDown();
  EXPECT_TRUE(absl::IsUnavailable(Move().status()));
  EXPECT_TRUE(absl::IsUnavailable(socket_.Send(Numbered(1))));
}

// As processes leave behind that had all the queue pairs that users may have: each is closed, at once.
TEST_F(TrunkSocketTest, MuchThatIsSaidAtOnceIsKeptUntilItIsRead) {
  constexpr uint32_t kMessages = 50000;
  for (uint32_t i = 0; i < kMessages; ++i) ASSERT_TRUE(socket_.Send(Numbered(i)).ok()) << i;
  EXPECT_TRUE(socket_.wants_to_write());
  for (uint32_t i = 0; i < kMessages; ++i) {
    ASSERT_EQ(other_.Receive()->number, i);
    ASSERT_TRUE(socket_.Move([](const TrunkMessage&) { return true; }).ok());
  }
  EXPECT_FALSE(socket_.wants_to_write());
}

TEST_F(TrunkSocketTest, ASkeindThatDoesNotReadIsNotKeptForEver) {
  absl::Status sent;
  for (int i = 0; i < 400000 && sent.ok(); ++i) sent = socket_.Send(Numbered(i));
  EXPECT_TRUE(absl::IsResourceExhausted(sent)) << sent;
  EXPECT_THAT(std::string(sent.message()), HasSubstr("does not read"));
  EXPECT_TRUE(socket_.wants_to_write());
}

TEST_F(TrunkSocketTest, ThePeerIsNamedByItsAddress) { EXPECT_EQ(socket_.PeerHost(), "127.0.0.1"); }

}  // namespace
}  // namespace skein::service
