// Which headers a frame may have: a table of such as may, and what makes each of them malformed.
#include <cstdint>
#include <vector>

#include "grpc_transport/iomgr/calls/frame.h"
#include "gtest/gtest.h"

namespace skein::grpc_transport {
namespace {

constexpr uint32_t kMost = UINT32_MAX;
constexpr auto kFragment = static_cast<uint32_t>(kMaxFragmentBytes);
constexpr auto kMetadata = static_cast<uint32_t>(kMaxMetadataBytes);
constexpr auto kUserAgent = static_cast<uint32_t>(kMaxUserAgentBytes);

struct Row {
  const char* what;
  FrameHeader header;
};

FrameHeader Header(FrameKind kind, uint32_t call, uint32_t length = 0, uint32_t number = 0) {
  FrameHeader header;
  header.kind = kind;
  header.call = call;
  header.length = length;
  header.number = number;
  return header;
}

FrameHeader CallHeader(uint8_t flags, uint32_t initial, uint32_t trailing, uint32_t fragment, uint32_t number) {
  FrameHeader header = Header(FrameKind::kCall, 1, initial + trailing + fragment, number);
  header.flags = flags;
  header.initial = initial;
  header.trailing = trailing;
  return header;
}

std::vector<Row> WellFormed() {
  return {
      {"HTTP/2's bytes, none", Header(FrameKind::kHttp2, 0)},
      {"HTTP/2's bytes, as many as there can be", Header(FrameKind::kHttp2, 0, kMost)},
      {"initial metadata", CallHeader(kInitial, 10, 0, 0, 0)},
      {"initial metadata without an entry", CallHeader(kInitial, 0, 0, 0, 0)},
      {"the most initial metadata", CallHeader(kInitial, kMetadata, 0, 0, 0)},
      {"a message", CallHeader(kMessage, 0, 0, 10, 10)},
      {"a message without bytes", CallHeader(kMessage, 0, 0, 0, 0)},
      {"a compressed message", CallHeader(kMessage | kCompressed, 0, 0, 10, 10)},
      {"the beginning of the longest message", CallHeader(kMessage, 0, 0, kFragment, kMost)},
      {"a message of which nothing comes yet", CallHeader(kMessage, 0, 0, 0, 10)},
      {"a half-close", CallHeader(kTrailing, 0, 0, 0, 0)},
      {"the most trailing metadata", CallHeader(kTrailing, 0, kMetadata, 0, 0)},
      {"the most of everything",
       CallHeader(kInitial | kMessage | kCompressed | kTrailing, kMetadata, kMetadata, kFragment, kFragment)},
      {"one more byte of a message", Header(FrameKind::kMore, 1, 1)},
      {"the most of a message", Header(FrameKind::kMore, kMost, kFragment)},
      {"the least window", Header(FrameKind::kWindow, 1, 0, 1)},
      {"the most window", Header(FrameKind::kWindow, kMost, 0, kMost)},
      {"an end with the first status", Header(FrameKind::kEnd, 1)},
      {"an end with the last status", Header(FrameKind::kEnd, kMost, 0, 16)},
      {"a refused call", Header(FrameKind::kRefused, 1)},
      {"a hello without a user agent", Header(FrameKind::kHello, 0)},
      {"a hello with the longest user agent", Header(FrameKind::kHello, 0, kUserAgent)},
      {"a drain", Header(FrameKind::kDrain, 0)},
      {"a goodbye before any call", Header(FrameKind::kGoodbye, 0)},
      {"a goodbye behind a call", Header(FrameKind::kGoodbye, kMost)},
  };
}

bool IsAccepted(const FrameHeader& header) {
  const absl::Status status = CheckHeader(header);
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  return status.ok();
}

TEST(CallsFrameTest, EveryKindIsAcceptedWithinItsBounds) {
  for (const Row& row : WellFormed()) EXPECT_TRUE(IsAccepted(row.header)) << row.what;
}

TEST(CallsFrameTest, NoOtherKindIsAccepted) {
  for (const Row& row : WellFormed()) {
    for (int kind = kLastFrameKind + 1; kind <= UINT8_MAX; ++kind) {
      FrameHeader header = row.header;
      header.kind = static_cast<FrameKind>(kind);
      EXPECT_FALSE(IsAccepted(header)) << row.what << " as kind " << kind;
    }
  }
}

TEST(CallsFrameTest, TheBytesWithoutAMeaningAreZero) {
  for (const Row& row : WellFormed()) {
    for (const uint16_t bit : {0x1, 0x80, 0x100, 0x8000}) {
      FrameHeader header = row.header;
      header.zero = bit;
      EXPECT_FALSE(IsAccepted(header)) << row.what;
    }
  }
}

TEST(CallsFrameTest, OnlyCallFramesHaveFlagsAndMetadata) {
  for (const Row& row : WellFormed()) {
    if (row.header.kind == FrameKind::kCall) continue;
    for (int bit = 0; bit < 8; ++bit) {
      FrameHeader header = row.header;
      header.flags = static_cast<uint8_t>(1 << bit);
      EXPECT_FALSE(IsAccepted(header)) << row.what << " with flag " << bit;
    }
    for (uint32_t FrameHeader::*const field : {&FrameHeader::initial, &FrameHeader::trailing}) {
      FrameHeader header = row.header;
      header.*field = 1;
      EXPECT_FALSE(IsAccepted(header)) << row.what << " with metadata";
    }
  }
}

TEST(CallsFrameTest, WhatBelongsToACallNamesItAndNothingElseDoes) {
  for (const Row& row : WellFormed()) {
    if (row.header.kind == FrameKind::kGoodbye) continue;
    FrameHeader header = row.header;
    header.call = header.call == 0 ? 1 : 0;
    EXPECT_FALSE(IsAccepted(header)) << row.what << " of call " << header.call;
  }
}

TEST(CallsFrameTest, UnknownFlagsOfACallAreRefused) {
  for (const Row& row : WellFormed()) {
    if (row.header.kind != FrameKind::kCall) continue;
    for (int bit = 4; bit < 8; ++bit) {
      FrameHeader header = row.header;
      header.flags |= static_cast<uint8_t>(1 << bit);
      EXPECT_FALSE(IsAccepted(header)) << row.what << " with flag " << bit;
    }
  }
}

// Whatever passes is bounded, and its parts lie inside it: also where sums of 32 bits wrap.
TEST(CallsFrameTest, CallFramesAreRefusedOutsideTheirBounds) {
  FrameHeader longer = CallHeader(kInitial | kTrailing, 10, 10, 0, 0);
  longer.length = 21;
  FrameHeader shorter = longer;
  shorter.length = 19;
  FrameHeader wrapping = CallHeader(kInitial | kTrailing, kMost, 1, 0, 0);
  const Row rows[] = {
      {"nothing said", CallHeader(0, 0, 0, 0, 0)},
      {"a message without its flag", CallHeader(kInitial, 10, 0, 1, 1)},
      {"a message's length without its flag", CallHeader(kInitial, 10, 0, 0, 1)},
      {"bytes that are no part", longer},
      {"metadata behind the end", shorter},
      {"metadata whose sum wraps", wrapping},
      {"compressed nothing", CallHeader(kInitial | kCompressed, 10, 0, 0, 0)},
      {"initial metadata without its flag", CallHeader(kMessage, 1, 0, 10, 10)},
      {"trailing metadata without its flag", CallHeader(kMessage, 0, 1, 10, 10)},
      {"too much initial metadata", CallHeader(kInitial, kMetadata + 1, 0, 0, 0)},
      {"too much trailing metadata", CallHeader(kTrailing, 0, kMetadata + 1, 0, 0)},
      {"too long a fragment", CallHeader(kMessage, 0, 0, kFragment + 1, kMost)},
      {"more than the message", CallHeader(kMessage, 0, 0, 11, 10)},
      {"an end inside the message", CallHeader(kMessage | kTrailing, 0, 10, 9, 10)},
  };
  for (const Row& row : rows) EXPECT_FALSE(IsAccepted(row.header)) << row.what;
}

TEST(CallsFrameTest, OtherFramesAreRefusedOutsideTheirBounds) {
  const Row rows[] = {
      {"HTTP/2's bytes with a number", Header(FrameKind::kHttp2, 0, 10, 1)},
      {"nothing more of a message", Header(FrameKind::kMore, 1, 0)},
      {"too much of a message", Header(FrameKind::kMore, 1, kFragment + 1)},
      {"more of a message with a number", Header(FrameKind::kMore, 1, 10, 1)},
      {"no window", Header(FrameKind::kWindow, 1, 0, 0)},
      {"a window with a body", Header(FrameKind::kWindow, 1, 1, 1)},
      {"an end with a status that is none", Header(FrameKind::kEnd, 1, 0, 17)},
      {"an end with a body", Header(FrameKind::kEnd, 1, 1)},
      {"a refusal with a number", Header(FrameKind::kRefused, 1, 0, 1)},
      {"a refusal with a body", Header(FrameKind::kRefused, 1, 1)},
      {"too long a user agent", Header(FrameKind::kHello, 0, kUserAgent + 1)},
      {"a hello with a number", Header(FrameKind::kHello, 0, 10, 1)},
      {"a drain with a number", Header(FrameKind::kDrain, 0, 0, 1)},
      {"a drain with a body", Header(FrameKind::kDrain, 0, 1)},
      {"a goodbye with a number", Header(FrameKind::kGoodbye, 0, 0, 1)},
      {"a goodbye with a body", Header(FrameKind::kGoodbye, 1, 1)},
  };
  for (const Row& row : rows) EXPECT_FALSE(IsAccepted(row.header)) << row.what;
}

}  // namespace
}  // namespace skein::grpc_transport
