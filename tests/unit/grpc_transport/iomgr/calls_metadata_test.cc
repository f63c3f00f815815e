// What a program says of a call arrives as it was said; whatever else a peer writes is metadata or refused.
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "grpc_transport/iomgr/calls/metadata.h"
#include "gtest/gtest.h"

namespace skein::grpc_transport {
namespace {

using grpc_core::Duration;
using grpc_core::Slice;
using grpc_core::Timestamp;
using testing::ElementsAre;
using testing::Pair;

// The format's own numbers: a peer of another version has the same.
enum class Entry : uint8_t {
  kNamed,
  kPath,
  kAuthority,
  kMessage,
  kUserAgent,
  kTimeout,
  kStatus,
  kAttempts,
  kEncoding,
  kAcceptEncoding
};
constexpr int kEntries = 10;

Slice Text(absl::string_view text) { return Slice::FromCopiedBuffer(text.data(), text.size()); }

template <typename T>
std::string NumberEntry(Entry entry, T number) {
  BytesBuilder bytes;
  bytes.Put(entry);
  bytes.Put(number);
  return {bytes.data(), bytes.size()};
}

std::string NamedEntry(absl::string_view name, absl::string_view value) {
  BytesBuilder bytes;
  bytes.Put(Entry::kNamed);
  for (const absl::string_view text : {name, value}) {
    bytes.Put(static_cast<uint32_t>(text.size()));
    bytes.Put(text);
  }
  return {bytes.data(), bytes.size()};
}

class CallsMetadataTest : public testing::Test {
 protected:
  CallsMetadataTest() { grpc_init(); }
  ~CallsMetadataTest() override { grpc_shutdown(); }

  // Of many arenas none becomes large.
  class Metadata {
   public:
    explicit Metadata(grpc_core::MemoryAllocator& allocator)
        : arena_(grpc_core::MakeScopedArena(1024, &allocator)), batch_(arena_.get()) {}
    grpc_metadata_batch& operator*() { return batch_; }
    grpc_metadata_batch* operator->() { return &batch_; }

   private:
    grpc_core::ScopedArenaPtr arena_;
    grpc_metadata_batch batch_;
  };
  Metadata NewMetadata() { return Metadata(allocator_); }

  static std::string Encoded(Metadata& metadata) {
    BytesBuilder bytes;
    EncodeMetadata(*metadata, bytes);
    return {bytes.data(), bytes.size()};
  }
  static bool Decode(absl::string_view bytes, Metadata& metadata) {
    const Slice slice = Text(bytes);
    return DecodeMetadata(slice.c_slice(), *metadata);
  }
  bool IsMetadata(absl::string_view bytes) {
    Metadata metadata = NewMetadata();
    return Decode(bytes, metadata);
  }
  static void Append(Metadata& metadata, absl::string_view name, absl::string_view value) {
    metadata->Append(name, Text(value), [name](absl::string_view error, const Slice&) { FAIL() << name << error; });
  }
  static std::string ValueOf(Metadata& metadata, absl::string_view name) {
    std::string backing;
    return std::string(metadata->GetStringValue(name, &backing).value_or("(none)"));
  }

  // Everything that has an entry of its own, and names.
  Metadata Everything() {
    Metadata metadata = NewMetadata();
    metadata->Set(grpc_core::HttpPathMetadata(), Text("/package.Service/Method"));
    metadata->Set(grpc_core::HttpAuthorityMetadata(), Text("host:443"));
    metadata->Set(grpc_core::GrpcMessageMetadata(), Text("words that are longer than a slice"));
    metadata->Set(grpc_core::UserAgentMetadata(), Text("agent/1.0"));
    metadata->Set(grpc_core::GrpcTimeoutMetadata(), Timestamp::Now() + Duration::Seconds(7));
    metadata->Set(grpc_core::GrpcStatusMetadata(), GRPC_STATUS_DATA_LOSS);
    metadata->Set(grpc_core::GrpcPreviousRpcAttemptsMetadata(), 3);
    metadata->Set(grpc_core::GrpcEncodingMetadata(), GRPC_COMPRESS_GZIP);
    Append(metadata, "grpc-accept-encoding", "identity, gzip");
    Append(metadata, "grpc-trace-bin", kBinary);
    Append(metadata, "name", "value");
    Append(metadata, "name", "");
    Append(metadata, "name-bin", kBinary);
    return metadata;
  }

  static inline const std::string kBinary{"\0a zero before, inside \0 and behind\n\xff\0", 38};
  grpc_core::ExecCtx exec_ctx_;  // within it the time stands still
  grpc_core::MemoryAllocator allocator_ =
      grpc_core::ResourceQuota::Default()->memory_quota()->CreateMemoryAllocator("test");
};

TEST_F(CallsMetadataTest, EveryEntryComesBack) {
  Metadata sent = Everything();
  Metadata metadata = NewMetadata();
  ASSERT_TRUE(Decode(Encoded(sent), metadata));
  EXPECT_EQ(metadata->get_pointer(grpc_core::HttpPathMetadata())->as_string_view(), "/package.Service/Method");
  EXPECT_EQ(metadata->get_pointer(grpc_core::HttpAuthorityMetadata())->as_string_view(), "host:443");
  EXPECT_EQ(metadata->get_pointer(grpc_core::GrpcMessageMetadata())->as_string_view(),
            "words that are longer than a slice");
  EXPECT_EQ(metadata->get_pointer(grpc_core::UserAgentMetadata())->as_string_view(), "agent/1.0");
  EXPECT_EQ(metadata->get(grpc_core::GrpcTimeoutMetadata()), Timestamp::Now() + Duration::Seconds(7));
  EXPECT_EQ(metadata->get(grpc_core::GrpcStatusMetadata()), GRPC_STATUS_DATA_LOSS);
  EXPECT_EQ(metadata->get(grpc_core::GrpcPreviousRpcAttemptsMetadata()), 3u);
  EXPECT_EQ(metadata->get(grpc_core::GrpcEncodingMetadata()), GRPC_COMPRESS_GZIP);
  EXPECT_EQ(ValueOf(metadata, "grpc-accept-encoding"), "identity, gzip");
  EXPECT_EQ(ValueOf(metadata, "grpc-trace-bin"), kBinary);
  EXPECT_EQ(ValueOf(metadata, "name"), "value,");
  EXPECT_EQ(ValueOf(metadata, "name-bin"), kBinary);
}

TEST_F(CallsMetadataTest, NothingIsNoBytes) {
  Metadata nothing = NewMetadata();
  EXPECT_EQ(Encoded(nothing), "");
  Metadata metadata = NewMetadata();
  EXPECT_TRUE(Decode("", metadata));
  EXPECT_TRUE(metadata->empty());
}

TEST_F(CallsMetadataTest, ValuesOfOneNameKeepTheirOrder) {
  Metadata sent = NewMetadata();
  for (const char* value : {"third", "first", "second"}) Append(sent, "name", value);
  Metadata metadata = NewMetadata();
  ASSERT_TRUE(Decode(Encoded(sent), metadata));
  EXPECT_EQ(ValueOf(metadata, "name"), "third,first,second");
}

// More than the builder has space for on the stack, by little and by much.
TEST_F(CallsMetadataTest, LongMetadataComesBack) {
  for (const size_t size : {450, 500, 512, 600, 1 << 20}) {
    Metadata sent = NewMetadata();
    for (int n = 0; n < 3; ++n) Append(sent, absl::StrCat("name", n), std::string(size, static_cast<char>('a' + n)));
    Metadata metadata = NewMetadata();
    ASSERT_TRUE(Decode(Encoded(sent), metadata));
    for (int n = 0; n < 3; ++n) {
      EXPECT_EQ(ValueOf(metadata, absl::StrCat("name", n)), std::string(size, static_cast<char>('a' + n)));
    }
  }
}

TEST_F(CallsMetadataTest, WhatIsHttp2sOwnIsLeftOut) {
  Metadata sent = NewMetadata();
  sent->Set(grpc_core::HttpMethodMetadata(), grpc_core::HttpMethodMetadata::kPost);
  sent->Set(grpc_core::HttpSchemeMetadata(), grpc_core::HttpSchemeMetadata::kHttp);
  sent->Set(grpc_core::HttpStatusMetadata(), 200);
  sent->Set(grpc_core::TeMetadata(), grpc_core::TeMetadata::kTrailers);
  sent->Set(grpc_core::ContentTypeMetadata(), grpc_core::ContentTypeMetadata::kApplicationGrpc);
  sent->Set(grpc_core::GrpcInternalEncodingRequest(), GRPC_COMPRESS_GZIP);
  EXPECT_EQ(Encoded(sent), "");
}

TEST_F(CallsMetadataTest, EveryStatusComesBackAndUnknownOnesAreUnknown) {
  for (uint32_t code = 0; code < 100; ++code) {
    Metadata metadata = NewMetadata();
    ASSERT_TRUE(Decode(NumberEntry(Entry::kStatus, code), metadata));
    const bool known = code <= GRPC_STATUS_UNAUTHENTICATED;
    EXPECT_EQ(metadata->get(grpc_core::GrpcStatusMetadata()),
              known ? static_cast<grpc_status_code>(code) : GRPC_STATUS_UNKNOWN);
  }
  Metadata metadata = NewMetadata();
  ASSERT_TRUE(Decode(NumberEntry(Entry::kStatus, UINT32_MAX), metadata));
  EXPECT_EQ(metadata->get(grpc_core::GrpcStatusMetadata()), GRPC_STATUS_UNKNOWN);
}

TEST_F(CallsMetadataTest, EveryEncodingComesBackAndNoOtherIsTaken) {
  for (uint32_t algorithm = 0; algorithm < GRPC_COMPRESS_ALGORITHMS_COUNT; ++algorithm) {
    Metadata metadata = NewMetadata();
    ASSERT_TRUE(Decode(NumberEntry(Entry::kEncoding, algorithm), metadata));
    EXPECT_EQ(metadata->get(grpc_core::GrpcEncodingMetadata()), static_cast<grpc_compression_algorithm>(algorithm));
  }
  EXPECT_FALSE(IsMetadata(NumberEntry(Entry::kEncoding, uint32_t{GRPC_COMPRESS_ALGORITHMS_COUNT})));
  EXPECT_FALSE(IsMetadata(NumberEntry(Entry::kEncoding, UINT32_MAX)));
}

TEST_F(CallsMetadataTest, EverySetOfAcceptedEncodingsComesBackWithoutOnesThatGrpcDoesNotKnow) {
  constexpr uint32_t kKnown = (1U << GRPC_COMPRESS_ALGORITHMS_COUNT) - 1;
  for (const uint32_t set : {0U, 1U, 3U, 5U, kKnown, kKnown + 1, UINT32_MAX}) {
    Metadata metadata = NewMetadata();
    ASSERT_TRUE(Decode(NumberEntry(Entry::kAcceptEncoding, set), metadata));
    EXPECT_EQ(Encoded(metadata), NumberEntry(Entry::kAcceptEncoding, set & kKnown));
  }
}

TEST_F(CallsMetadataTest, ADeadlineThatHasPassedIsNow) {
  for (const Timestamp deadline : {Timestamp::Now() - Duration::Seconds(1), Timestamp::InfPast()}) {
    Metadata sent = NewMetadata();
    sent->Set(grpc_core::GrpcTimeoutMetadata(), deadline);
    Metadata metadata = NewMetadata();
    ASSERT_TRUE(Decode(Encoded(sent), metadata));
    EXPECT_EQ(metadata->get(grpc_core::GrpcTimeoutMetadata()), Timestamp::Now());
  }
}

TEST_F(CallsMetadataTest, ADeadlineFarAwayIsNone) {
  constexpr int64_t kYear = int64_t{366} * 24 * 3600 * 1000;
  for (const int64_t far : {kYear + 1, std::numeric_limits<int64_t>::max() - 1, std::numeric_limits<int64_t>::max()}) {
    Metadata metadata = NewMetadata();
    ASSERT_TRUE(Decode(NumberEntry(Entry::kTimeout, far), metadata));
    EXPECT_EQ(metadata->get(grpc_core::GrpcTimeoutMetadata()), absl::nullopt) << far;
  }
  Metadata metadata = NewMetadata();
  ASSERT_TRUE(Decode(NumberEntry(Entry::kTimeout, kYear), metadata));
  EXPECT_EQ(metadata->get(grpc_core::GrpcTimeoutMetadata()), Timestamp::Now() + Duration::Milliseconds(kYear));
}

TEST_F(CallsMetadataTest, NoDeadlineIsNotSent) {
  Metadata sent = NewMetadata();
  sent->Set(grpc_core::GrpcTimeoutMetadata(), Timestamp::InfFuture());
  EXPECT_EQ(Encoded(sent), "");
}

TEST_F(CallsMetadataTest, UnknownEntriesAreRefused) {
  for (int entry = kEntries; entry <= UINT8_MAX; ++entry) {
    EXPECT_FALSE(IsMetadata(NumberEntry(static_cast<Entry>(entry), uint32_t{0}))) << entry;
  }
}

TEST_F(CallsMetadataTest, IllegalNamesAreRefused) {
  for (const absl::string_view name :
       {absl::string_view(), absl::string_view(":path"), absl::string_view("Upper"), absl::string_view("a name"),
        absl::string_view("name\n"), absl::string_view("na\0me", 5), absl::string_view("n\xc3\xa4me")}) {
    EXPECT_FALSE(IsMetadata(NamedEntry(name, "value"))) << name;
    EXPECT_FALSE(IsMetadata(NamedEntry(absl::StrCat(name, name.empty() ? "" : "-bin"), "value"))) << name;
  }
}

TEST_F(CallsMetadataTest, OnlyBinaryValuesMayHoldAnyByte) {
  for (int byte = 0; byte <= UINT8_MAX; ++byte) {
    const std::string value = absl::StrCat("va", std::string(1, static_cast<char>(byte)), "lue");
    EXPECT_EQ(IsMetadata(NamedEntry("name", value)), byte >= ' ' && byte <= '~') << byte;
    EXPECT_TRUE(IsMetadata(NamedEntry("name-bin", value))) << byte;
  }
}

// A value that gRPC itself cannot read.
TEST_F(CallsMetadataTest, UnreadableValuesAreRefused) {
  EXPECT_TRUE(IsMetadata(NamedEntry("grpc-retry-pushback-ms", "12")));
  EXPECT_FALSE(IsMetadata(NamedEntry("grpc-retry-pushback-ms", "soon")));
  EXPECT_FALSE(IsMetadata(NamedEntry("lb-cost-bin", "short")));
}

// By name it passed the checks of its entry: a status of 77, a deadline in eleven thousand years.
TEST_F(CallsMetadataTest, WhatHasAnEntryOfItsOwnDoesNotComeByName) {
  EXPECT_FALSE(IsMetadata(NamedEntry("grpc-message", "words")));
  EXPECT_FALSE(IsMetadata(NamedEntry("user-agent", "agent/1.0")));
  EXPECT_FALSE(IsMetadata(NamedEntry("grpc-timeout", "99999999H")));
  EXPECT_FALSE(IsMetadata(NamedEntry("grpc-status", "77")));
  EXPECT_FALSE(IsMetadata(NamedEntry("grpc-previous-rpc-attempts", "1")));
  EXPECT_FALSE(IsMetadata(NamedEntry("grpc-encoding", "gzip")));
  EXPECT_FALSE(IsMetadata(NamedEntry("grpc-accept-encoding", "gzip")));
}

// gRPC aborts when it has to write the last of these.
TEST_F(CallsMetadataTest, WhatIsNeverSentIsRefused) {
  EXPECT_FALSE(IsMetadata(NamedEntry("te", "trailers")));
  EXPECT_FALSE(IsMetadata(NamedEntry("content-type", "application/grpc")));
  EXPECT_FALSE(IsMetadata(NamedEntry("grpc-internal-encoding-request", "gzip")));
  EXPECT_FALSE(IsMetadata(NamedEntry("grpclb_client_stats", "")));
}

// Cut anywhere it is refused, or all that is left of it is whole entries.
TEST_F(CallsMetadataTest, TruncatedMetadataIsRefused) {
  Metadata everything = Everything();
  const std::string bytes = Encoded(everything);
  size_t whole = 0;
  for (size_t size = 0; size <= bytes.size(); ++size) {
    Metadata metadata = NewMetadata();
    if (!Decode(bytes.substr(0, size), metadata)) continue;
    ++whole;
    EXPECT_EQ(Encoded(metadata), bytes.substr(0, size));
  }
  EXPECT_EQ(whole, 14u) << "as many beginnings as entries, and one";
}

TEST_F(CallsMetadataTest, AnyCorruptedByteGivesMetadataOrIsRefused) {
  Metadata everything = Everything();
  std::string bytes = Encoded(everything);
  int refused = 0;
  for (char& byte : bytes) {
    const char good = byte;
    for (int other = 0; other <= UINT8_MAX; ++other) {
      byte = static_cast<char>(other);
      Metadata metadata = NewMetadata();
      if (!Decode(bytes, metadata)) {
        ++refused;
        continue;
      }
      // What decodes is what a sender could have sent.
      const std::string again = Encoded(metadata);
      Metadata same = NewMetadata();
      ASSERT_TRUE(Decode(again, same));
      ASSERT_EQ(Encoded(same), again);
    }
    byte = good;
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace skein::grpc_transport
