// Offers and answers: what was encoded comes back, and whatever else a peer sends is a reason and never a surprise.
#include "core/wire/negotiation.h"

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>

#include "gtest/gtest.h"
#include "tests/support/exact_bytes.h"
#include "tests/support/wire_samples.h"

namespace skein::wire {
namespace {

constexpr size_t kFlagsAt = 2 + sizeof(ProcessId) + 1;  // of an offer

absl::StatusOr<Offer> DecodeOfferExact(absl::string_view bytes) { return DecodeOffer(ExactBytes(bytes).text()); }
absl::StatusOr<Answer> DecodeAnswerExact(absl::string_view bytes) { return DecodeAnswer(ExactBytes(bytes).text()); }

bool IsPrintable(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// Every promise about decoded values, whatever the bytes were.
void CheckOffer(const absl::StatusOr<Offer>& offer, size_t bytes) {
  if (!offer.ok()) {
    const FallbackCode code = FallbackOf(offer.status()).code;
    EXPECT_TRUE(code == FallbackCode::kProtocol || code == FallbackCode::kVersion) << offer.status();
    return;
  }
  EXPECT_LE(offer->lowest_version, kProtocolVersion);
  EXPECT_GE(offer->highest_version, kProtocolVersion);
  EXPECT_FALSE(offer->fabrics.empty());
  EXPECT_LE(offer->fabrics.size(), kMaxOfferedFabrics);
  for (const OfferedFabric& fabric : offer->fabrics) EXPECT_TRUE(IsPrintable(fabric.kind));
  EXPECT_EQ(EncodeOffer(*offer).size(), bytes);
}

void CheckAnswer(const absl::StatusOr<Answer>& answer, size_t bytes) {
  if (!answer.ok()) {
    EXPECT_EQ(FallbackOf(answer.status()).code, FallbackCode::kProtocol) << answer.status();
    return;
  }
  EXPECT_EQ(EncodeAnswer(*answer).size(), bytes);
  if (const auto* no = std::get_if<Fallback>(&*answer)) {
    EXPECT_NE(no->code, FallbackCode::kNone);
    EXPECT_TRUE(IsPrintable(no->detail));
    EXPECT_LE(no->detail.size(), Fallback::kMaxDetailBytes);
    return;
  }
  const Yes& yes = std::get<Yes>(*answer);
  EXPECT_NE(yes.stream, 0u);
  EXPECT_NE(yes.window, 0u);
  EXPECT_LT(yes.fabric, kMaxOfferedFabrics);
  EXPECT_TRUE(IsPrintable(yes.passed_over.detail));
  EXPECT_LE(yes.passed_over.detail.size(), Fallback::kMaxDetailBytes);
  if (!yes.is_new) return;
  EXPECT_GT(yes.new_link.ring.size, 0u);
  EXPECT_LE(yes.new_link.ring.size, kMaxRingBytes);
}

void ForEachCorruption(const std::string& bytes, const std::function<void(const std::string&)>& check) {
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string spoilt = bytes;
      spoilt[at] = static_cast<char>(value);
      check(spoilt);
    }
  }
}

FallbackCode CodeOf(const absl::Status& status) { return status.ok() ? FallbackCode::kNone : FallbackOf(status).code; }

TEST(OfferTest, ComesBackAsItWas) {
  const Offer offer = SampleOffer();
  const absl::StatusOr<Offer> decoded = DecodeOfferExact(EncodeOffer(offer));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->process, offer.process);
  EXPECT_EQ(decoded->service, offer.service);
  EXPECT_EQ(decoded->new_link_only, offer.new_link_only);
  ASSERT_EQ(decoded->fabrics.size(), offer.fabrics.size());
  for (size_t i = 0; i < offer.fabrics.size(); ++i) {
    EXPECT_EQ(decoded->fabrics[i].kind, offer.fabrics[i].kind);
    EXPECT_EQ(decoded->fabrics[i].queue_pair, offer.fabrics[i].queue_pair);
  }
  EXPECT_EQ(decoded->from, offer.from);
  EXPECT_EQ(decoded->lowest_version, offer.lowest_version);
  EXPECT_EQ(decoded->highest_version, offer.highest_version);
}

TEST(OfferTest, MayBeEmptyOfWords) {
  Offer offer = SampleOffer();
  offer.fabrics = {{}};
  const absl::StatusOr<Offer> decoded = DecodeOfferExact(EncodeOffer(offer));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  ASSERT_EQ(decoded->fabrics.size(), 1u);
  EXPECT_EQ(decoded->fabrics[0].kind, "");
  EXPECT_EQ(decoded->fabrics[0].queue_pair, "");
}

TEST(OfferTest, OffersSomethingButNotTooMuch) {
  for (const size_t count : {size_t{0}, kMaxOfferedFabrics, kMaxOfferedFabrics + 1}) {
    Offer offer = SampleOffer();
    offer.fabrics.assign(count, {"shm", "q"});
    EXPECT_EQ(DecodeOfferExact(EncodeOffer(offer)).ok(), count == kMaxOfferedFabrics) << count;
  }
}

TEST(OfferTest, EveryTruncationAndEveryAdditionIsRefused) {
  const std::string bytes = EncodeOffer(SampleOffer());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(CodeOf(DecodeOfferExact(bytes.substr(0, size)).status()), FallbackCode::kProtocol) << size;
  }
  EXPECT_EQ(CodeOf(DecodeOfferExact(bytes + '\0').status()), FallbackCode::kProtocol);
}

TEST(OfferTest, EveryCorruptedByteGivesAValidOfferOrAReason) {
  ForEachCorruption(EncodeOffer(SampleOffer()),
                    [](const std::string& spoilt) { CheckOffer(DecodeOfferExact(spoilt), spoilt.size()); });
}

TEST(OfferTest, VersionsMustIncludeOurs) {
  for (const auto& [lowest, highest, code] :
       {std::tuple(0, 0, FallbackCode::kVersion), std::tuple(2, 9, FallbackCode::kVersion),
        std::tuple(255, 255, FallbackCode::kVersion), std::tuple(2, 1, FallbackCode::kProtocol),
        std::tuple(0, 1, FallbackCode::kNone), std::tuple(1, 255, FallbackCode::kNone)}) {
    Offer offer = SampleOffer();
    offer.lowest_version = static_cast<uint8_t>(lowest);
    offer.highest_version = static_cast<uint8_t>(highest);
    EXPECT_EQ(CodeOf(DecodeOfferExact(EncodeOffer(offer)).status()), code) << lowest << " to " << highest;
  }
}

// What follows the versions belongs to the version: one that is not ours need not look like it.
TEST(OfferTest, AnotherVersionNeedNotHaveOurForm) {
  EXPECT_EQ(CodeOf(DecodeOfferExact("\x02\x03").status()), FallbackCode::kVersion);
  EXPECT_EQ(CodeOf(DecodeOfferExact("\x02\x03 something else").status()), FallbackCode::kVersion);
}

TEST(OfferTest, WhoKnowsALaterVersionAsWellMaySayMore) {
  Offer offer = SampleOffer();
  offer.highest_version = kVersionWithFeatures + 1;
  std::string bytes = EncodeOffer(offer);
  bytes[kFlagsAt] = '\xFF';
  const absl::StatusOr<Offer> decoded = DecodeOfferExact(bytes + "what version 3 says besides");
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_TRUE(decoded->new_link_only);
  EXPECT_EQ(decoded->process, offer.process);
  EXPECT_EQ(decoded->fabrics.size(), offer.fabrics.size());
  EXPECT_EQ(CodeOf(DecodeOfferExact(bytes.substr(0, bytes.size() - 1)).status()), FallbackCode::kProtocol);
  bytes[1] = kProtocolVersion;
  EXPECT_EQ(CodeOf(DecodeOfferExact(bytes).status()), FallbackCode::kProtocol);
}

TEST(OfferTest, FeaturesAreOfTheVersionThatHasThem) {
  Offer offer = SampleOffer();
  offer.features = 0xA5;
  EXPECT_EQ(DecodeOfferExact(EncodeOffer(offer)).value().features, 0) << "version 1 alone";
  offer.highest_version = kVersionWithFeatures;
  const std::string bytes = EncodeOffer(offer);
  EXPECT_EQ(DecodeOfferExact(bytes).value().features, 0xA5);
  EXPECT_EQ(CodeOf(DecodeOfferExact(bytes.substr(0, bytes.size() - 1)).status()), FallbackCode::kProtocol);
  EXPECT_EQ(CodeOf(DecodeOfferExact(bytes + '\0').status()), FallbackCode::kProtocol);
}

TEST(OfferTest, WordsForTheLogArePrintable) {
  Offer offer = SampleOffer();
  offer.fabrics = {{"a\nb\x1b[31m\x7f\x80", ""}};
  EXPECT_EQ(DecodeOfferExact(EncodeOffer(offer)).value().fabrics[0].kind, "a?b?[31m??");
}

TEST(AnswerTest, YesComesBackAsItWas) {
  for (bool is_new : {true, false}) {
    const Yes yes = SampleYes(is_new);
    const absl::StatusOr<Answer> decoded = DecodeAnswerExact(EncodeAnswer(yes));
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    ASSERT_TRUE(std::holds_alternative<Yes>(*decoded));
    const Yes& back = std::get<Yes>(*decoded);
    EXPECT_EQ(back.fabric, yes.fabric);
    EXPECT_EQ(back.passed_over.code, yes.passed_over.code);
    EXPECT_EQ(back.passed_over.detail, yes.passed_over.detail);
    EXPECT_EQ(back.stream, yes.stream);
    EXPECT_EQ(back.window, yes.window);
    EXPECT_EQ(back.process, yes.process);
    EXPECT_EQ(back.link, yes.link);
    EXPECT_EQ(back.is_new, is_new);
    EXPECT_EQ(back.new_link.queue_pair, yes.new_link.queue_pair);
    EXPECT_EQ(back.new_link.ring.secret, yes.new_link.ring.secret);
  }
}

TEST(AnswerTest, NoComesBackAsItWas) {
  const absl::StatusOr<Answer> decoded = DecodeAnswerExact(EncodeAnswer(SampleNo()));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  ASSERT_TRUE(std::holds_alternative<Fallback>(*decoded));
  EXPECT_EQ(std::get<Fallback>(*decoded).code, SampleNo().code);
  EXPECT_EQ(std::get<Fallback>(*decoded).detail, SampleNo().detail);
}

TEST(AnswerTest, EveryTruncationAndEveryAdditionIsRefused) {
  for (const Answer& answer : SampleAnswers()) {
    const std::string bytes = EncodeAnswer(answer);
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_EQ(CodeOf(DecodeAnswerExact(bytes.substr(0, size)).status()), FallbackCode::kProtocol) << size;
    }
    EXPECT_EQ(CodeOf(DecodeAnswerExact(bytes + '\0').status()), FallbackCode::kProtocol);
  }
}

TEST(AnswerTest, EveryCorruptedByteGivesAValidAnswerOrAReason) {
  for (const Answer& answer : SampleAnswers()) {
    ForEachCorruption(EncodeAnswer(answer),
                      [](const std::string& spoilt) { CheckAnswer(DecodeAnswerExact(spoilt), spoilt.size()); });
  }
}

TEST(AnswerTest, FeaturesAreOfTheVersionThatHasThem) {
  Yes yes = SampleYes(true);
  yes.features = 0x5A;
  std::string bytes = EncodeAnswer(yes);
  EXPECT_EQ(std::get<Yes>(DecodeAnswerExact(bytes).value()).features, 0x5A);
  EXPECT_FALSE(DecodeAnswerExact(bytes.substr(0, bytes.size() - 1)).ok());
  EXPECT_FALSE(DecodeAnswerExact(bytes + '\0').ok());
  bytes.back() = '\0';
  EXPECT_FALSE(DecodeAnswerExact(bytes).ok()) << "version 1 says that";
}

TEST(AnswerTest, OtherVersionsAndKindsAreRefused) {
  const std::string yes = EncodeAnswer(SampleYes(true));
  const std::string no = EncodeAnswer(SampleNo());
  for (int value = 0; value < 256; ++value) {
    std::string version = yes;
    version[0] = static_cast<char>(value);
    EXPECT_EQ(DecodeAnswerExact(version).ok(), value == kProtocolVersion) << value;
    version = no;
    version[0] = static_cast<char>(value);
    EXPECT_TRUE(DecodeAnswerExact(version).ok()) << value;  // whose ever: what it says is said in this form
    std::string kind = no;
    kind[1] = static_cast<char>(value);
    EXPECT_EQ(DecodeAnswerExact(kind).ok(), value == 0) << value;  // nor is a no a yes
  }
}

TEST(AnswerTest, LongDetailsAreCutByTheEncoderAndRefusedByTheDecoder) {
  Fallback no = SampleNo();
  no.detail = std::string(1000, 'x');
  std::string bytes = EncodeAnswer(no);
  EXPECT_EQ(std::get<Fallback>(DecodeAnswerExact(bytes).value()).detail, std::string(256, 'x'));
  bytes[3] = 1;  // 257
  bytes += 'x';
  EXPECT_EQ(CodeOf(DecodeAnswerExact(bytes).status()), FallbackCode::kProtocol);
}

TEST(AnswerTest, ANoNeedsAReasonButOneOfTheFutureWillDo) {
  Fallback no = SampleNo();
  no.code = FallbackCode::kNone;
  EXPECT_EQ(CodeOf(DecodeAnswerExact(EncodeAnswer(no)).status()), FallbackCode::kProtocol);
  no.code = static_cast<FallbackCode>(200);
  EXPECT_TRUE(DecodeAnswerExact(EncodeAnswer(no)).ok());
}

TEST(AnswerTest, StreamZeroNoWindowAndImpossibleRingsAreRefused) {
  for (bool is_new : {true, false}) {
    Yes yes = SampleYes(is_new);
    yes.stream = 0;
    EXPECT_EQ(CodeOf(DecodeAnswerExact(EncodeAnswer(yes)).status()), FallbackCode::kProtocol);
    yes = SampleYes(is_new);
    yes.window = 0;
    EXPECT_EQ(CodeOf(DecodeAnswerExact(EncodeAnswer(yes)).status()), FallbackCode::kProtocol);
  }
  Yes yes = SampleYes(true);
  yes.new_link.ring.size = 0;
  EXPECT_EQ(CodeOf(DecodeAnswerExact(EncodeAnswer(yes)).status()), FallbackCode::kProtocol);
}

}  // namespace
}  // namespace skein::wire
