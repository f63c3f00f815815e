#include "core/wire/negotiation.h"

#include "absl/strings/str_cat.h"
#include "core/base/printable.h"
#include "core/wire/bytes.h"

namespace skein::wire {
namespace {

absl::Status Malformed(absl::string_view what) {
  return FallbackError(FallbackCode::kProtocol, absl::StrCat("malformed ", what));
}

template <typename Length>
void PutString(std::string& out, absl::string_view text) {
  Put(out, static_cast<Length>(text.size()));
  out.append(text.data(), text.size());
}

template <typename Length>
std::string TakeString(FieldReader& reader) {
  const auto size = reader.Take<Length>();
  return std::string(reader.TakeBytes(size));
}

void PutFallback(std::string& out, const Fallback& fallback) {
  Put(out, fallback.code);
  PutString<uint16_t>(out, absl::string_view(fallback.detail).substr(0, Fallback::kMaxDetailBytes));
}

Fallback TakeFallback(FieldReader& reader) {
  Fallback fallback;
  fallback.code = static_cast<FallbackCode>(reader.Take<uint8_t>());
  fallback.detail = Printable(TakeString<uint16_t>(reader));
  return fallback;
}

absl::StatusOr<Answer> DecodeNo(FieldReader& reader) {
  Fallback no = TakeFallback(reader);
  if (!reader.done() || no.code == FallbackCode::kNone || no.detail.size() > Fallback::kMaxDetailBytes) {
    return Malformed("answer");
  }
  return Answer(std::move(no));
}

absl::StatusOr<Answer> DecodeYes(FieldReader& reader, uint8_t version) {
  Yes yes;
  const auto existing = reader.Take<uint8_t>();
  yes.fabric = reader.Take<uint8_t>();
  yes.passed_over = TakeFallback(reader);
  yes.stream = reader.Take<uint32_t>();
  yes.window = reader.Take<uint64_t>();
  yes.process = reader.Take<ProcessId>();
  yes.link = reader.Take<uint64_t>();
  yes.is_new = existing == 0;
  if (yes.is_new) {
    const absl::string_view ring_bytes = reader.TakeBytes(kRingDescriptorBytes);
    if (!reader.ok()) return Malformed("answer");
    const absl::StatusOr<RingDescriptor> ring = DecodeRingDescriptor(ring_bytes);
    if (!ring.ok()) return Malformed(absl::StrCat("answer: ", ring.status().message()));
    yes.new_link.ring = *ring;
    yes.new_link.queue_pair = TakeString<uint16_t>(reader);
  }
  const bool has_features = version == kVersionWithFeatures;
  if (has_features) yes.features = reader.Take<uint8_t>();
  if (!reader.done() || existing > 1 || yes.stream == 0 || yes.window == 0 || yes.fabric >= kMaxOfferedFabrics ||
      has_features != (yes.features != 0) || yes.passed_over.detail.size() > Fallback::kMaxDetailBytes) {
    return Malformed("answer");
  }
  return Answer(std::move(yes));
}

}  // namespace

std::string EncodeOffer(const Offer& offer) {
  std::string out;
  Put(out, offer.lowest_version);
  Put(out, offer.highest_version);
  Put(out, offer.process);
  Put(out, offer.service);
  Put(out, static_cast<uint8_t>(offer.new_link_only ? 1 : 0));
  Put(out, static_cast<uint8_t>(offer.fabrics.size()));
  for (const OfferedFabric& fabric : offer.fabrics) {
    PutString<uint8_t>(out, fabric.kind);
    PutString<uint16_t>(out, fabric.queue_pair);
  }
  Put(out, offer.from);
  if (offer.highest_version >= kVersionWithFeatures) Put(out, offer.features);
  return out;
}

absl::StatusOr<Offer> DecodeOffer(absl::string_view bytes) {
  FieldReader reader(bytes);
  Offer offer;
  offer.lowest_version = reader.Take<uint8_t>();
  offer.highest_version = reader.Take<uint8_t>();
  if (!reader.ok() || offer.lowest_version > offer.highest_version) return Malformed("offer");
  // Looked at before the rest, whose form another version may have changed.
  if (offer.lowest_version > kProtocolVersion || offer.highest_version < kProtocolVersion) {
    return FallbackError(FallbackCode::kVersion,
                         absl::StrCat("offered ", offer.lowest_version, " to ", offer.highest_version,
                                      ", this end has ", kProtocolVersion));
  }
  offer.process = reader.Take<ProcessId>();
  offer.service = reader.Take<Service>();
  // Who knows a later version as well may have set more flags, and said more at the end.
  const bool may_hold_more = offer.highest_version > kVersionWithFeatures;
  const auto flags = reader.Take<uint8_t>();
  if (flags > 1 && !may_hold_more) return Malformed("offer");
  offer.new_link_only = (flags & 1) != 0;
  const auto fabrics = reader.Take<uint8_t>();
  if (fabrics == 0 || fabrics > kMaxOfferedFabrics) return Malformed("offer");
  for (int i = 0; i < fabrics; ++i) {
    OfferedFabric fabric;
    fabric.kind = Printable(TakeString<uint8_t>(reader));
    fabric.queue_pair = TakeString<uint16_t>(reader);
    offer.fabrics.push_back(std::move(fabric));
  }
  offer.from = reader.Take<ConnectionEnd>();
  if (offer.highest_version >= kVersionWithFeatures) offer.features = reader.Take<uint8_t>();
  if (may_hold_more ? !reader.ok() : !reader.done()) return Malformed("offer");
  return offer;
}

std::string EncodeAnswer(const Answer& answer) {
  std::string out;
  if (const auto* no = std::get_if<Fallback>(&answer)) {
    Put(out, kProtocolVersion);
    Put(out, uint8_t{0});
    PutFallback(out, *no);
    return out;
  }
  const Yes& yes = std::get<Yes>(answer);
  Put(out, yes.features != 0 ? kVersionWithFeatures : kProtocolVersion);
  Put(out, uint8_t{1});
  Put(out, static_cast<uint8_t>(yes.is_new ? 0 : 1));
  Put(out, yes.fabric);
  PutFallback(out, yes.passed_over);
  Put(out, yes.stream);
  Put(out, yes.window);
  Put(out, yes.process);
  Put(out, yes.link);
  if (yes.is_new) {
    out += EncodeRingDescriptor(yes.new_link.ring);
    PutString<uint16_t>(out, yes.new_link.queue_pair);
  }
  if (yes.features != 0) Put(out, yes.features);
  return out;
}

absl::StatusOr<Answer> DecodeAnswer(absl::string_view bytes) {
  FieldReader reader(bytes);
  const auto version = reader.Take<uint8_t>();
  const auto kind = reader.Take<uint8_t>();
  if (!reader.ok() || kind > 1) return Malformed("answer");
  if (kind == 0) return DecodeNo(reader);  // which has this form in every version
  const bool known = version == kProtocolVersion || version == kVersionWithFeatures;
  return known ? DecodeYes(reader, version) : Malformed("answer");
}

}  // namespace skein::wire
