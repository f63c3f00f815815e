#include "core/service/offer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "core/base/fallback.h"

namespace skein::service {
namespace {

constexpr uint32_t kOfferVersion = 0x53440001;  // "SD", 1
constexpr size_t kMostHost = 63;

struct Header {
  uint32_t version = kOfferVersion;
  uint32_t number = 0;
  uint64_t token = 0;
  uint32_t port = 0;
  uint32_t host_size = 0;
};

}  // namespace

bool IsAddress(const std::string& host) {
  std::array<std::byte, sizeof(in6_addr)> address;
  std::array<char, INET6_ADDRSTRLEN> text = {};
  for (const int family : {AF_INET, AF_INET6}) {
    if (inet_pton(family, host.c_str(), address.data()) != 1) continue;
    return inet_ntop(family, address.data(), text.data(), text.size()) != nullptr && host == text.data();
  }
  return false;
}

std::string EncodeOffer(const Offer& offer) {
  Header header;
  header.number = offer.number;
  header.token = offer.token;
  header.port = offer.port;
  header.host_size = static_cast<uint32_t>(offer.host.size());
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  return bytes + offer.host;
}

absl::StatusOr<Offer> DecodeOffer(absl::string_view bytes) {
  Header header;
  if (bytes.size() < sizeof(header)) return FallbackError(FallbackCode::kProtocol, "an offer of too few bytes");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.version != kOfferVersion) return FallbackError(FallbackCode::kVersion, "an offer of another version");
  bytes.remove_prefix(sizeof(header));
  if (header.port > 0xFFFF || header.host_size != bytes.size() || bytes.size() > kMostHost) {
    return FallbackError(FallbackCode::kProtocol, "an offer that is none");
  }
  std::string host(bytes);
  if (!host.empty() && !IsAddress(host)) return FallbackError(FallbackCode::kProtocol, "an offer of a host's name");
  return Offer{header.number, header.token, static_cast<uint16_t>(header.port), std::move(host)};
}

}  // namespace skein::service
