// What two skeinds say to each other over the TCP connection beside their shared queue pair. All messages have one
// size. To the receiver each is hostile until checked.
#ifndef SKEIN_CORE_SERVICE_TRUNK_MESSAGE_H_
#define SKEIN_CORE_SERVICE_TRUNK_MESSAGE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/service/secret.h"

namespace skein::service {

inline constexpr uint32_t kTrunkVersion = 1;

enum class TrunkKind : uint32_t {
  kHello = 1,      // first, from the side that has connected: size: kTrunkVersion; host: by which it meant the other
                   // side; text: the shared queue pair's offer; address, key: where requests of no bytes go
  kWelcome = 2,    // text: its answer; address, key: the same
  kConnect = 3,    // number: a queue pair that has an offer out, token: the offer's; from: the one that accepts it
  kConnected = 4,  // number, from: the same from the other side; code, text: or why not
  kClosed = 5,     // number: nothing comes any more from its peer, which is `from`
  kResolve = 6,    // number, rkey: which memory is that?
  kResolved = 7,  // number: that asked; rkey; base, size: as its process numbers it; address, key: the device's; access
  kRevoke = 8,    // number, rkey: the memory is about to go
  kRevoked = 9,   // number: whose memory it is, rkey: nothing is under way there, and nothing follows
  kAsk = 10,      // is the other skeind there?
  kHere = 11,     // it is
  kChallenge = 12,  // of a side that has a secret, after kHello: nonce
  kProof = 13,      // its answer: proof, of all before. Then kWelcome, with a proof of all before and itself
};

struct TrunkMessage {
  TrunkKind kind = TrunkKind::kHello;
  uint32_t number = 0;  // a queue pair of the receiver's
  uint32_t from = 0;    // a queue pair of the sender's
  uint32_t code = 0;    // absl::StatusCode
  uint64_t token = 0;
  uint32_t rkey = 0;
  uint32_t access = 0;
  uint64_t base = 0;
  uint64_t size = 0;
  uint64_t address = 0;
  uint32_t key = 0;
  uint32_t text_size = 0;
  std::array<uint8_t, 16> nonce = {};  // kHello, kChallenge: nobody foresees it
  Proof proof = {};
  std::array<char, 64> host = {};  // ends with a zero
  std::array<char, 256> text = {};

  absl::string_view view() const { return {reinterpret_cast<const char*>(this), sizeof(*this)}; }
  absl::string_view text_view() const { return {text.data(), text_size}; }
  absl::string_view host_view() const { return {host.data(), strnlen(host.data(), host.size())}; }
  void SetText(absl::string_view from_text) {
    text_size = static_cast<uint32_t>(std::min(from_text.size(), text.size()));
    std::copy_n(from_text.data(), text_size, text.data());
  }
  void SetHost(absl::string_view from_host) {
    host = {};
    std::copy_n(from_host.data(), std::min(from_host.size(), host.size() - 1), host.data());
  }
  absl::Status status() const { return absl::Status(static_cast<absl::StatusCode>(code), text_view()); }
  void SetStatus(const absl::Status& status) {
    code = static_cast<uint32_t>(status.raw_code());
    SetText(status.message());
  }
  // `bytes`: sizeof(TrunkMessage) of them. False: no message.
  static bool Parse(const char* bytes, TrunkMessage& out) {
    std::memcpy(&out, bytes, sizeof(out));
    return out.text_size <= out.text.size();
  }
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_TRUNK_MESSAGE_H_
