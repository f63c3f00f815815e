// What a process and skeind say to each other over the session's UNIX socket (SOCK_SEQPACKET, so each message stays
// whole). The process asks, one request at a time, and skeind answers each but kWork. A process whose last request has
// no answer yet still lets go of things, by requests that skeind does not answer. A descriptor travels with a request
// that names one.
//
// To skeind all of it is hostile until checked. The process trusts skeind as it trusts the kernel, whose NIC skeind
// has.
#ifndef SKEIN_CORE_FABRIC_SERVICE_PROTOCOL_H_
#define SKEIN_CORE_FABRIC_SERVICE_PROTOCOL_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace skein::fabric::service {

inline constexpr uint32_t kVersion = 2;

enum class Operation : uint32_t {
  kHello = 1,                  // size: kVersion; text: the local address of the connection, as RouteOf has it, or ""
  kPassPage = 2,               // memfd of a SessionPage
  kRegister = 3,               // memfd of `size` bytes at `address`, `access`          -> number: lkey, key: rkey
  kForget = 4,                 // region `number`. Answered once no peer's request reaches it, or late
  kCreateCompletionQueue = 5,  // memfd of CompletionBytes(size), size: capacity         -> number
  kWakeBy = 6,                 // socket by which the sleeper of queue `number` is woken
  kDropCompletionQueue = 7,    // queue `number`
  kCreateQueuePair = 8,        // memfd of SubmissionBytes(size), size: depth; number, other: send and receive queue
                               //                                                        -> number, other: place
  kOffer = 9,                  // queue pair `number`                                    -> text: the offer
  kAccept = 10,                // queue pair `number`, text: the offer                   -> text: the answer
  kComplete = 11,              // queue pair `number`, text: the answer
  kClose = 12,                 // queue pair `number`
  kDestroyQueuePair = 13,      // queue pair `number`
  kWork = 14,                  // SessionPage::pending says where; no answer
  // Without a greeting (query.h):
  kAbout = 15,         //                                                                -> text: EncodeAbout
  kPassListener = 16,  // number: Listener; from skeind's own user or root               -> a descriptor
  kStop = 17,          // likewise: skeind listens no more, answers, and ends
};

// Whether the process may ask for that without an answer.
constexpr bool LetsGo(Operation operation) {
  return operation == Operation::kForget || operation == Operation::kDropCompletionQueue ||
         operation == Operation::kClose || operation == Operation::kDestroyQueuePair;
}

enum class Listener : uint32_t { kProcesses = 0, kSkeinds = 1 };

// Offers and answers are no longer than this.
inline constexpr size_t kMostText = 192;

struct Request {
  Operation operation = Operation::kWork;
  uint32_t number = 0;
  uint32_t other = 0;
  uint32_t access = 0;
  uint64_t size = 0;
  uint64_t address = 0;
  uint32_t text_size = 0;
  uint32_t unanswered = 0;  // 1: skeind does not answer; of requests that let go
  std::array<char, kMostText> text = {};

  absl::string_view view() const { return {reinterpret_cast<const char*>(this), sizeof(*this)}; }
  absl::string_view text_view() const { return {text.data(), text_size}; }
  bool wants_no_answer() const { return unanswered != 0 && LetsGo(operation); }
  // False: longer than kMostText.
  bool SetText(absl::string_view from) {
    if (from.size() > text.size()) return false;
    std::copy_n(from.data(), from.size(), text.data());
    text_size = static_cast<uint32_t>(from.size());
    return true;
  }
  static bool Parse(absl::string_view bytes, Request& out) {
    if (bytes.size() != sizeof(out)) return false;
    std::memcpy(&out, bytes.data(), sizeof(out));
    return out.text_size <= out.text.size();
  }
};

struct Reply {
  uint32_t code = 0;  // absl::StatusCode; of an error, `text` is what to tell the user, cut to what fits
  uint32_t number = 0;
  uint32_t other = 0;
  uint32_t key = 0;
  uint64_t size = 0;        // kHello: bytes of the longest request
  uint64_t other_size = 0;  // kHello: longer requests gain nothing
  uint32_t text_size = 0;
  uint32_t reserved = 0;
  std::array<char, kMostText> text = {};

  absl::string_view view() const { return {reinterpret_cast<const char*>(this), sizeof(*this)}; }
  absl::string_view text_view() const { return {text.data(), text_size}; }
  absl::Status status() const { return absl::Status(static_cast<absl::StatusCode>(code), text_view()); }
  void SetText(absl::string_view from) {
    text_size = static_cast<uint32_t>(from.size() < text.size() ? from.size() : text.size());
    std::copy_n(from.data(), text_size, text.data());
  }
  static Reply Of(const absl::Status& status) {
    Reply reply;
    reply.code = static_cast<uint32_t>(status.raw_code());
    reply.SetText(status.message());
    return reply;
  }
  static bool Parse(absl::string_view bytes, Reply& out) {
    if (bytes.size() != sizeof(out)) return false;
    std::memcpy(&out, bytes.data(), sizeof(out));
    return out.text_size <= out.text.size();
  }
};
static_assert(sizeof(Request) <= 256 && sizeof(Reply) <= 256);

}  // namespace skein::fabric::service

#endif  // SKEIN_CORE_FABRIC_SERVICE_PROTOCOL_H_
