// Peers that say what no member says: the group fails, and says of whom it was.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/replicate/frame.h"
#include "core/replicate/group.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/member_log.h"
#include "tests/support/memory_path.h"

namespace skein::replicate {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Member `self` of four, by the pipeline; its peers are raw ends. Of 2: 0, its parent, and 3, its child.
// Of two blocks it gets the second from 0 and the first from 3.
class HostileTest : public ::testing::Test {
 protected:
  void Make(uint32_t self) {
    GroupOptions options{.id = 7, .members = 4, .self = self, .block_bytes = 8, .max_bytes = 100};
    std::vector<MemberPath> paths;
    for (const uint32_t peer : BinomialPipeline().PeersOf(4, self)) {
      auto [mine, theirs] = MemoryPath::MakePair(network_, capacity_);
      own_[peer] = mine.get();
      paths.push_back({peer, std::move(mine)});
      peers_[peer] = std::move(theirs);
    }
    group_ = CreateGroup(options, std::move(paths), log_).value();
    log_->group = group_.get();
  }
  void Say(uint32_t peer, const std::string& bytes) {
    absl::StatusOr<size_t> taken = 1;
    for (size_t said = 0; said < bytes.size() && taken.value_or(0) > 0; said += taken.value_or(0)) {
      const ConstBytes part = BytesOf(bytes).subspan(said);
      taken = peers_[peer]->Write({&part, 1});
      network_.Run();
    }
  }
  void Greet(uint32_t peer) { Say(peer, Encode(Hello{7, 4, peer})); }
  void GreetAll() {
    for (const auto& [peer, path] : peers_) Greet(peer);
  }
  void ExpectFailure(uint32_t member, absl::StatusCode code = absl::StatusCode::kDataLoss) {
    ASSERT_THAT(log_->failures, SizeIs(1));
    EXPECT_EQ(log_->failures[0].code(), code) << log_->failures[0];
    EXPECT_THAT(std::string(log_->failures[0].message()), HasSubstr("member " + std::to_string(member)));
  }

  // What it has said by now.
  std::string Hear(uint32_t peer) {
    std::string heard(1000, '\0');
    const auto got = peers_[peer]->Read(Bytes(reinterpret_cast<std::byte*>(heard.data()), heard.size()));
    heard.resize(got.value_or(0));
    network_.Run();
    return heard;
  }

  size_t capacity_ = 1 << 20;  // of each path
  MemoryNetwork network_;
  const std::shared_ptr<MemberLog> log_ = std::make_shared<MemberLog>();
  std::map<uint32_t, std::unique_ptr<MemoryPath>> peers_;
  std::map<uint32_t, MemoryPath*> own_;  // the group's ends
  std::shared_ptr<Group> group_;
};

const Begin kBegin{1, 16, 8};

TEST_F(HostileTest, AnHonestPeersWriteIsReceived) {
  Make(2);
  GreetAll();
  Say(3, Encode(kBegin) + Encode(Block{1, 0}) + "01234567");
  Say(0, Encode(kBegin) + Encode(Block{1, 1}) + "89abcdef");
  ASSERT_THAT(log_->received, ::testing::ElementsAre("0123456789abcdef"));
  EXPECT_THAT(log_->failures, IsEmpty());
  Say(3, Encode(Have{1, 3}));
  Say(0, Encode(Begin{2, 1, 8}));
  EXPECT_EQ(log_->incoming, 2);
  EXPECT_THAT(log_->failures, IsEmpty());
}

TEST_F(HostileTest, WordsThatNoMemberSays) {
  const std::string first = Encode(kBegin) + Encode(Block{1, 1});
  const std::string words[] = {
      std::string(kFrameBytes, 'x'),             // no frame
      Encode(Hello{7, 4, 0}),                    // a second hello: another status, below
      Encode(Begin{2, 16, 8}),                   // a write out of turn
      Encode(kBegin) + Encode(kBegin),           // twice
      Encode(Block{1, 0}),                       // of no write
      Encode(kBegin) + Encode(Block{1, 0}),      // not the next
      Encode(kBegin) + Encode(Block{2, 0}),      // of another write
      Encode(kBegin) + Encode(Block{1, 2}),      // beyond the end
      first + "01234567" + Encode(Block{1, 1}),  // twice
      Encode(kBegin) + Encode(Have{1, 3}),       // whose word goes by another path
      Encode(kBegin) + Encode(Have{1, 2}),       // this member's own
      Encode(Have{1, 3}),                        // of no write
  };
  for (const std::string& word : words) {
    peers_.clear();
    group_.reset();
    network_.Run();
    log_->failures.clear();
    Make(2);
    GreetAll();
    Say(0, word);
    const bool hello = word == Encode(Hello{7, 4, 0});
    ExpectFailure(0, hello ? absl::StatusCode::kFailedPrecondition : absl::StatusCode::kDataLoss);
  }
}

TEST_F(HostileTest, TheFirstWordIsAHello) {
  Make(2);
  Say(0, Encode(kBegin));
  ExpectFailure(0);
}

TEST_F(HostileTest, AnotherMembersHelloIsRefused) {
  Make(2);
  Say(3, Encode(Hello{7, 4, 1}));
  ExpectFailure(3, absl::StatusCode::kFailedPrecondition);
}

TEST_F(HostileTest, PeersThatSpeakOfDifferentWritesAreFoundOut) {
  Make(2);
  GreetAll();
  Say(0, Encode(kBegin));
  Say(3, Encode(Begin{1, 17, 8}));
  ExpectFailure(3);
}

TEST_F(HostileTest, AChildsWordCountsOnce) {
  Make(2);
  GreetAll();
  Say(0, Encode(kBegin));
  Say(3, Encode(kBegin) + Encode(Have{1, 3}) + Encode(Have{1, 3}));
  ExpectFailure(3);
}

TEST_F(HostileTest, AWriteThatIsTooLargeTakesNoMemory) {
  Make(2);
  GreetAll();
  Say(0, Encode(Begin{1, 101, 8}));
  ExpectFailure(2, absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(log_->incoming, 0);
}

TEST_F(HostileTest, NobodyWritesToTheSender) {
  Make(0);
  GreetAll();
  Say(2, Encode(kBegin));
  ExpectFailure(2);
}

TEST_F(HostileTest, ThoseThatHaveItBeforeItWentDoNotEndTheWrite) {
  capacity_ = 64;
  Make(0);
  GreetAll();
  const std::string text(96, 'x');
  ASSERT_TRUE(group_->Write(BytesOf(text)).ok());
  EXPECT_THAT(log_->failures, IsEmpty());
  const Begin begin{1, 96, 8};
  Say(1, Encode(begin) + Encode(Have{1, 1}));
  Say(2, Encode(begin) + Encode(Have{1, 2}) + Encode(Have{1, 3}));
  EXPECT_THAT(log_->have, ::testing::ElementsAre(1U, 2U));
  EXPECT_TRUE(absl::IsResourceExhausted(group_->Write(BytesOf(text)).status()));
  for (int reads = 0; reads < 100; ++reads) {
    for (const auto& [peer, path] : peers_) Hear(peer);
  }
  EXPECT_EQ(log_->released, 1);
  EXPECT_THAT(log_->have, ::testing::ElementsAre(1U, 2U, 3U));
}

TEST_F(HostileTest, APathThatThisEndMayNotWriteToIsAFailureThoughNobodyTellsOfIt) {
  Make(0);
  GreetAll();
  own_[2]->refusal = absl::UnavailableError("not permitted");
  ASSERT_TRUE(group_->Write(BytesOf(std::string(16, 'x'))).ok());
  network_.Run();
  ExpectFailure(2, absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(log_->failures[0].message()), HasSubstr("not permitted"));
}

TEST_F(HostileTest, AnEndAmidABlockIsAFailureOfTheWrite) {
  Make(2);
  GreetAll();
  Say(0, Encode(kBegin) + Encode(Block{1, 1}) + "0123");
  peers_[0].reset();
  network_.Run();
  ExpectFailure(0, absl::StatusCode::kUnavailable);
  EXPECT_THAT(log_->received, IsEmpty());
}

TEST_F(HostileTest, AFailureIsPassedOnWithItsReason) {
  Make(2);
  GreetAll();
  Say(0, EncodeFailure(1, absl::AbortedError("tired")));
  ExpectFailure(1, absl::StatusCode::kAborted);
  EXPECT_EQ(Hear(3), Encode(Hello{7, 4, 2}) + EncodeFailure(1, absl::AbortedError("tired")));
}

TEST_F(HostileTest, WhatComesBehindAFailureIsDropped) {
  Make(2);
  GreetAll();
  Say(0, Encode(kBegin) + EncodeFailure(1, absl::AbortedError("tired")) + Encode(Block{1, 1}) + "01234567");
  Say(3, std::string(100'000, 'x'));
  ExpectFailure(1, absl::StatusCode::kAborted);
  EXPECT_EQ(log_->text, std::string(16, '\0'));
}

TEST(CreateGroupTest, OptionsAndPathsFit) {
  const auto log = std::make_shared<MemberLog>();
  const auto status = [&](const GroupOptions& options) { return CreateGroup(options, {}, log).status(); };
  EXPECT_TRUE(absl::IsInvalidArgument(status({.members = 1})));
  EXPECT_TRUE(absl::IsInvalidArgument(status({.members = kMaxMembers + 1})));
  EXPECT_TRUE(absl::IsInvalidArgument(status({.members = 4, .self = 4})));
  EXPECT_TRUE(absl::IsInvalidArgument(status({.members = 4, .schedule = static_cast<ScheduleKind>(0)})));
  EXPECT_TRUE(absl::IsInvalidArgument(status({.members = 4, .block_bytes = 0})));
  EXPECT_TRUE(absl::IsInvalidArgument(status({.members = 4, .max_sends = 0})));
  EXPECT_TRUE(absl::IsInvalidArgument(status({.members = 4})));  // without paths
}

}  // namespace
}  // namespace skein::replicate
