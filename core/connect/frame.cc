#include "core/connect/frame.h"

#include <algorithm>

#include "core/wire/big_endian.h"

namespace skein::connect {
namespace {

constexpr absl::string_view kMagic = "\xA5SKN";
constexpr char kVersion = 1;
constexpr size_t kHeaderBytes = 7;

Parsed Is(Beginning beginning) { return {beginning, {}, 0}; }

}  // namespace

std::string Frame(absl::string_view bytes) {
  std::string out(kMagic);
  out.push_back(kVersion);
  wire::PutBigEndian(out, static_cast<uint32_t>(bytes.size()), 2);
  out.append(bytes.data(), bytes.size());
  return out;
}

bool AgreeSoFar(absl::string_view bytes, absl::string_view expected) {
  const size_t size = std::min(bytes.size(), expected.size());
  return bytes.substr(0, size) == expected.substr(0, size);
}

Parsed ParseFrame(absl::string_view bytes, size_t max_payload) {
  if (!AgreeSoFar(bytes, kMagic)) return Is(Beginning::kOther);
  if (bytes.size() > kMagic.size() && bytes[kMagic.size()] != kVersion) return Is(Beginning::kMalformed);
  if (bytes.size() < kHeaderBytes) return Is(Beginning::kUndecided);
  const size_t size = wire::BigEndian(bytes.substr(kMagic.size() + 1, 2));
  if (size == 0 || size > max_payload) return Is(Beginning::kMalformed);
  if (bytes.size() < kHeaderBytes + size) return Is(Beginning::kUndecided);
  return {Beginning::kWhole, std::string(bytes.substr(kHeaderBytes, size)), kHeaderBytes + size};
}

}  // namespace skein::connect
