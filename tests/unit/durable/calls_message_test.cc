#include "core/durable/calls/message.h"
#include "gtest/gtest.h"
#include "tests/unit/durable/logged.h"

namespace skein::durable {
namespace {

TEST(CallsMessage, IsReadAsItWasWritten) {
  const ClientMessage hello = DecodeClientMessage(HelloMessage(ClientNumber(3), Persistence::kPersistent)).value();
  EXPECT_EQ(hello.client, ClientNumber(3));
  EXPECT_EQ(hello.wanted, Persistence::kPersistent);
  EXPECT_EQ(DecodeClientMessage(HelloMessage(ClientNumber(3), std::nullopt))->wanted, std::nullopt);

  const std::string bytes = CallMessage(7, 5, MakeRequest("hello"));
  const ClientMessage call = DecodeClientMessage(bytes).value();
  EXPECT_EQ(call.sequence, 7U);
  EXPECT_EQ(call.acknowledged, 5U);
  EXPECT_FALSE(IsVoid(call.request));
  EXPECT_EQ(RequestBytes(call.request), "hello");
  EXPECT_TRUE(IsVoid(DecodeClientMessage(CallMessage(7, 5, VoidRequest()))->request));
  EXPECT_EQ(DecodeClientMessage(AskMessage(9))->sequence, 9U);

  const ServerMessage standing =
      DecodeServerMessage(StandingMessage(Persistence::kEmulated, 3, 100, absl::Hours(1))).value();
  EXPECT_EQ(standing.sequence, 3U);
  EXPECT_EQ(standing.largest, 100U);
  EXPECT_EQ(standing.remembers, absl::Hours(1));
  EXPECT_EQ(standing.level, Persistence::kEmulated);
  EXPECT_TRUE(DecodeServerMessage(PersistedMessage(4, Persistence::kFlushed, true))->slow_down);
  const std::string reply = ReplyMessage(4, false, "yes");
  EXPECT_EQ(DecodeServerMessage(reply)->bytes, "yes");
  const ServerMessage error = DecodeServerMessage(ErrorMessage(4, false, absl::NotFoundError("no\n"))).value();
  EXPECT_EQ(error.status, absl::NotFoundError("no?"));
  const ServerMessage refused =
      DecodeServerMessage(RefusedMessage(4, true, absl::ResourceExhaustedError("full"))).value();
  EXPECT_TRUE(refused.final);
  EXPECT_TRUE(absl::IsResourceExhausted(refused.status));
  EXPECT_EQ(DecodeServerMessage(ResumeMessage())->kind, ServerMessageKind::kResume);
}

TEST(CallsMessage, CutShortOrProlongedIsNone) {
  const std::vector<std::string> client = {HelloMessage(ClientNumber(3), std::nullopt), AskMessage(9)};
  const std::vector<std::string> server = {StandingMessage(Persistence::kEmulated, 3, 100, absl::Hours(1)),
                                           PersistedMessage(4, Persistence::kFlushed, true), ResumeMessage()};
  for (const std::string& whole : client) {
    for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(DecodeClientMessage(whole.substr(0, size)).ok());
    EXPECT_FALSE(DecodeClientMessage(whole + "x").ok());
  }
  for (const std::string& whole : server) {
    for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(DecodeServerMessage(whole.substr(0, size)).ok());
    EXPECT_FALSE(DecodeServerMessage(whole + "x").ok());
  }
}

TEST(CallsMessage, OfAnotherVersionSaysSo) {
  std::string hello = HelloMessage(ClientNumber(3), std::nullopt);
  hello[4] = '2';
  EXPECT_NE(DecodeClientMessage(hello).status().message().find("another version"), std::string::npos);
}

TEST(CallsMessage, AnErrorWithoutACodeIsOneAllTheSame) {
  std::string refused = RefusedMessage(4, true, absl::ResourceExhaustedError("full"));
  refused[10] = 0;
  EXPECT_EQ(DecodeServerMessage(refused)->status, absl::UnknownError("full"));
}

}  // namespace
}  // namespace skein::durable
