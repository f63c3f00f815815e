#include "core/wire/control.h"

#include <random>

#include "gtest/gtest.h"
#include "tests/support/raw_message.h"
#include "tests/support/seeds.h"

namespace skein::wire {
namespace {

constexpr uint64_t kLineSecret = 0x5ec3e7;

Control Any(std::mt19937_64& random) {
  Control control;
  control.consumed = random();
  control.wanted = random();
  control.answers = static_cast<uint16_t>(random());
  control.refills = static_cast<uint16_t>(random());
  control.open = random() % 2 == 0;
  control.presence = static_cast<Presence>(random() % 3);
  return control;
}

TEST(ControlTest, WhatIsEncodedIsDecoded) {
  ForEachSeed([](std::mt19937_64& random) {
    const Control control = Any(random);
    const uint64_t secret = random();
    EXPECT_EQ(DecodeControl(EncodeControl(control, secret), secret)->value(), control);
  });
}

TEST(ControlTest, ZerosAreNoLine) {
  for (uint64_t secret = 0; secret < 1000; ++secret) EXPECT_FALSE(DecodeControl({}, secret)->has_value()) << secret;
}

TEST(ControlTest, NobodyWritesOneWithoutTheSecret) {
  EXPECT_FALSE(DecodeControl(EncodeControl({.consumed = 64}, kLineSecret + 1), kLineSecret)->has_value());
}

// While one lands over another, in whatever pieces: the new one is seen when it is all there, and no third one ever.
TEST(ControlTest, TwoOfWhichPartsAreThereAreNone) {
  ForEachSeed([](std::mt19937_64& random) {
    const ControlLine before = EncodeControl(Any(random), kLineSecret);
    const ControlLine after = EncodeControl(Any(random), kLineSecret);
    ControlLine line = before;
    auto* const bytes = reinterpret_cast<std::byte*>(line.data());
    const auto* const landing = reinterpret_cast<const std::byte*>(after.data());
    for (size_t cut = 1; cut < sizeof(line); ++cut) {
      line = before;
      std::copy_n(landing, cut, bytes);
      const bool decodes = DecodeControl(line, kLineSecret)->has_value();
      EXPECT_EQ(decodes, line == before || line == after) << cut;
    }
  });
}

TEST(ControlTest, WordsOutsideTheFormat) {
  const ControlLine honest = EncodeControl({.open = true}, kLineSecret);
  const auto code = [&](uint64_t set) {
    ControlLine line = honest;
    line[2] |= set;
    return DecodeControl(RawControl(line, kLineSecret), kLineSecret).status().code();
  };
  EXPECT_EQ(code(0), absl::StatusCode::kOk);
  for (int bit = 33; bit < 64; ++bit) {
    const bool known = bit == 40 || bit == 41;
    EXPECT_EQ(code(uint64_t{1} << bit), known ? absl::StatusCode::kOk : absl::StatusCode::kDataLoss) << bit;
  }
  EXPECT_EQ(code(uint64_t{3} << 40), absl::StatusCode::kDataLoss) << "awake and sleepless";
}

}  // namespace
}  // namespace skein::wire
