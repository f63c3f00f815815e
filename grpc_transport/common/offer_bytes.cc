#include "grpc_transport/common/offer_bytes.h"

#include <algorithm>
#include <cstdint>

#include "core/wire/big_endian.h"

namespace skein::grpc_transport {
namespace {

using connect::AgreeSoFar;
using wire::BigEndian;
using wire::PutBigEndian;

constexpr uint16_t kFirstSetting = 0xF5A0;
constexpr size_t kSettingsPerFrame = 16;
constexpr size_t kSettingBytes = 6;
constexpr size_t kHttp2FrameHeader = 9;
constexpr uint8_t kSettingsFrame = 4;

uint8_t Byte(absl::string_view bytes, size_t at) { return static_cast<uint8_t>(bytes[at]); }

// A word of the offer, zero-padded at its end.
uint32_t Word(absl::string_view offer, size_t index) {
  std::string word(offer.substr(index * 4, 4));
  word.resize(4, '\0');
  return BigEndian(word);
}

// Its size, and its words.
size_t SettingsOf(absl::string_view offer) { return 1 + (offer.size() + 3) / 4; }

Parsed Is(Beginning beginning) { return {beginning, {}, 0}; }

// Reads the settings one by one across frames.
class SettingsReader {
 public:
  explicit SettingsReader(absl::string_view bytes) : bytes_(bytes) {}

  // Takes the next setting, which must be `id`.
  Beginning Next(uint16_t id, uint32_t& value) {
    if (left_in_frame_ == 0) {
      if (Beginning header = FrameHeader(); header != Beginning::kWhole) return header;
    }
    if (bytes_.size() - at_ < kSettingBytes) return Beginning::kUndecided;
    if (BigEndian(bytes_.substr(at_, 2)) != id) return Beginning::kOther;
    value = BigEndian(bytes_.substr(at_ + 2, 4));
    at_ += kSettingBytes;
    left_in_frame_ -= kSettingBytes;
    return Beginning::kWhole;
  }
  size_t at() const { return at_; }
  bool at_frame_end() const { return left_in_frame_ == 0; }

 private:
  Beginning FrameHeader() {
    if (bytes_.size() - at_ < kHttp2FrameHeader) return Beginning::kUndecided;
    const uint32_t length = BigEndian(bytes_.substr(at_, 3));
    const bool settings = Byte(bytes_, at_ + 3) == kSettingsFrame && Byte(bytes_, at_ + 4) == 0 &&
                          BigEndian(bytes_.substr(at_ + 5, 4)) == 0;
    if (!settings || length == 0 || length % kSettingBytes != 0 || length > kSettingsPerFrame * kSettingBytes) {
      return Beginning::kOther;
    }
    at_ += kHttp2FrameHeader;
    left_in_frame_ = length;
    return Beginning::kWhole;
  }

  const absl::string_view bytes_;
  size_t at_ = kHttp2Preface.size();
  size_t left_in_frame_ = 0;
};

}  // namespace

int SettingsFramesOf(absl::string_view offer) {
  return static_cast<int>((SettingsOf(offer) + kSettingsPerFrame - 1) / kSettingsPerFrame);
}

std::string HideInHttp2(absl::string_view offer) {
  const size_t settings = SettingsOf(offer);
  std::string out(kHttp2Preface);
  for (size_t i = 0; i < settings; ++i) {
    if (i % kSettingsPerFrame == 0) {
      PutBigEndian(out, static_cast<uint32_t>(kSettingBytes * std::min(kSettingsPerFrame, settings - i)), 3);
      PutBigEndian(out, kSettingsFrame, 1);
      PutBigEndian(out, 0, 1);  // flags
      PutBigEndian(out, 0, 4);  // stream
    }
    PutBigEndian(out, static_cast<uint32_t>(kFirstSetting + i), 2);
    PutBigEndian(out, i == 0 ? static_cast<uint32_t>(offer.size()) : Word(offer, i - 1), 4);
  }
  return out;
}

Parsed ParseHttp2(absl::string_view bytes, size_t max_payload) {
  if (!AgreeSoFar(bytes, kHttp2Preface)) return Is(Beginning::kOther);
  if (bytes.size() < kHttp2Preface.size()) return Is(Beginning::kUndecided);
  SettingsReader reader(bytes);
  uint32_t size = 0;
  if (Beginning first = reader.Next(kFirstSetting, size); first != Beginning::kWhole) return Is(first);
  if (size == 0 || size > max_payload) return Is(Beginning::kMalformed);
  Parsed parsed;
  for (size_t i = 0; parsed.payload.size() < size; ++i) {
    uint32_t word = 0;
    const Beginning next = reader.Next(static_cast<uint16_t>(kFirstSetting + 1 + i), word);
    // In more frames than it takes, it would not end within the bound, and be waited for in vain.
    const bool too_long = next == Beginning::kUndecided && bytes.size() >= kMaxHttp2OfferBytes;
    if (next == Beginning::kOther || too_long) return Is(Beginning::kMalformed);
    if (next != Beginning::kWhole) return Is(next);
    PutBigEndian(parsed.payload, word, 4);
  }
  if (!reader.at_frame_end()) return Is(Beginning::kMalformed);
  parsed.payload.resize(size);
  parsed.size = reader.at();
  parsed.beginning = Beginning::kWhole;
  return parsed;
}

}  // namespace skein::grpc_transport
