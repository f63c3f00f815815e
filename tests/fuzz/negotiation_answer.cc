// Any bytes are an answer that can be encoded again, or a reason to fall back.
#include "core/wire/negotiation.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/wire_samples.h"

namespace skein::fuzz {

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const wire::Answer& answer : wire::SampleAnswers()) seeds.push_back(wire::EncodeAnswer(answer));
  seeds.push_back(wire::EncodeAnswer(Fallback{FallbackCode::kProtocol, std::string(256, 'd')}));
  std::string too_long = seeds.back() + 'd';
  too_long[3] = 1;  // 257
  seeds.push_back(too_long);
  return seeds;
}

namespace {

void CheckNo(const Fallback& no) {
  Require(no.code != FallbackCode::kNone, "a no has a reason");
  Require(no.detail.size() <= Fallback::kMaxDetailBytes, "details are short");
  for (const char c : no.detail) Require(c >= ' ' && c <= '~', "details are printable");
}

void CheckYes(const wire::Yes& yes) {
  Require(yes.stream != 0, "streams count from 1");
  Require(yes.fabric < wire::kMaxOfferedFabrics, "a fabric that could have been offered");
  Require(yes.passed_over.detail.size() <= Fallback::kMaxDetailBytes, "details are short");
  if (!yes.is_new) return;
  const wire::RingDescriptor& ring = yes.new_link.ring;
  Require(ring.size > 0 && ring.size <= wire::kMaxRingBytes && ring.size % wire::kRingGranule == 0, "a ring's size");
  Require(ring.address + ring.size > ring.address, "a ring's address");
}

}  // namespace
}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using skein::fuzz::Require;
  const absl::StatusOr<skein::wire::Answer> answer = skein::wire::DecodeAnswer(skein::fuzz::Text(data, size));
  if (!answer.ok()) {
    Require(skein::FallbackOf(answer.status()).code == skein::FallbackCode::kProtocol, "a reason");
    return 0;
  }
  if (const auto* no = std::get_if<skein::Fallback>(&*answer)) skein::fuzz::CheckNo(*no);
  if (const auto* yes = std::get_if<skein::wire::Yes>(&*answer)) skein::fuzz::CheckYes(*yes);
  const std::string again = skein::wire::EncodeAnswer(*answer);
  Require(again.size() == size, "all bytes are of a field");
  Require(skein::wire::DecodeAnswer(again).ok(), "what was decoded can be encoded");
  return 0;
}
