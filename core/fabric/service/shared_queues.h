// The memory that a process shares with skeind: where the process leaves requests, and where skeind leaves completions.
// The process makes each piece, a sealed memfd, and passes it (protocol.h); so the pages count as the process's.
//
//   SessionPage       one of a session: which queue pairs have requests that skeind has not seen
//   SubmissionQueue   one of a queue pair: the process posts, skeind takes
//   CompletionRing    one of a completion queue: skeind posts, the process takes
//
// The reader copies an entry once, and looks at the copy alone. skeind checks each field of it; each end knows its own
// positions from private copies and believes only the other's that lie where they can.
//
// Handing over. A queue's writer stores the entries, then `published` (release); its reader loads `published`
// (acquire). The wake-ups need Dekker's order, as channel/shm/handover.h has it:
//
//   request:     process  published; pending |= bit;  fence; skeind_sleeps?   sends kWork if it finds the flag
//                skeind   skeind_sleeps := 1;         fence; pending?         does not sleep if a bit is there
//   completion:  skeind   published;                  fence; sleeps?          wakes if it finds the flag
//                process  sleeps := 1;                fence; published?       does not sleep if something is there
//
// The waking end takes the flag down by an exchange, so one of several threads wakes.
#ifndef SKEIN_CORE_FABRIC_SERVICE_SHARED_QUEUES_H_
#define SKEIN_CORE_FABRIC_SERVICE_SHARED_QUEUES_H_

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/base/fence.h"
#include "core/fabric/fabric.h"

namespace skein::fabric::service {

// Of one session: queue pairs, and the first place, by whose bit the process asks whether skeind is there.
inline constexpr uint32_t kMostPlaces = 4096;
inline constexpr uint32_t kQuestionPlace = 0;

struct SessionPage {
  // Bit p % 64 of word p / 64: the queue pair at place p has requests. The process sets it (release), skeind takes a
  // whole word (acquire), and sees what was published before.
  std::array<std::atomic<uint64_t>, kMostPlaces / 64> pending;
  alignas(64) std::atomic<uint32_t> skeind_sleeps;
  // Questions whether skeind is there, and the last one that it has answered. Both relaxed: the process counts a
  // question before it sets kQuestionPlace's bit, and nothing else hangs on the answer.
  std::atomic<uint64_t> asked;
  std::atomic<uint64_t> answered;
};

// One request. As SendRequest, with one segment at most.
struct Submission {
  uint32_t opcode = 0;  // Opcode
  uint32_t signaled = 0;
  uint32_t lkey = 0;  // a region of this session
  uint32_t length = 0;
  uint64_t address = 0;         // in that region, as this process numbers it
  uint64_t remote_address = 0;  // as the peer numbers it
  uint32_t rkey = 0;
  uint32_t immediate = 0;
  uint64_t operand = 0;
  uint64_t swap = 0;
  uint64_t reserved = 0;
};
static_assert(sizeof(Submission) == 64);

// Why a queue pair is of no more use. The word is skeind's (release): what it completed before is there (acquire).
enum class End : uint32_t {
  kOpen = 0,
  kClosed = 1,      // by this process
  kPeerClosed = 2,  // by the peer, or its process has died
  kConnection = 3,  // the connection of the two skeinds has failed
  kRequest = 4,     // this process asked for what it may not
  kOverrun = 5,     // a completion queue had no space
  kGone = 6,        // the session has ended
};

struct SubmissionHeader {
  alignas(64) std::atomic<uint64_t> published;  // requests, since the start
  alignas(64) std::atomic<uint32_t> end;        // End
};

struct CompletionEntry {
  uint64_t position = 0;  // of a request: how many were posted before it. Of a receive: nothing
  uint32_t queue_pair = 0;
  uint32_t status = 0;  // CompletionStatus
  uint32_t opcode = 0;  // Opcode
  uint32_t immediate = 0;
  uint64_t bytes = 0;
};
static_assert(sizeof(CompletionEntry) == 32);

struct CompletionHeader {
  alignas(64) std::atomic<uint64_t> published;  // skeind's
  alignas(64) std::atomic<uint64_t> consumed;   // the process's, release: the entry may be written over
  alignas(64) std::atomic<uint32_t> sleeps;
};

// Zeroed memory is a valid new one of each.
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

// Entries that a queue for `wanted` has: a power of two.
constexpr uint64_t Entries(uint64_t wanted) { return std::bit_ceil(wanted); }
inline constexpr uint64_t kMostEntries = 1 << 14;

constexpr size_t SubmissionBytes(uint64_t depth) {
  return sizeof(SubmissionHeader) + static_cast<size_t>(Entries(depth)) * sizeof(Submission);
}
constexpr size_t CompletionBytes(uint64_t capacity) {
  return sizeof(CompletionHeader) + static_cast<size_t>(Entries(capacity)) * sizeof(CompletionEntry);
}

template <typename Header, typename Entry>
class SharedQueue {
 public:
  SharedQueue() = default;
  // `memory`: aligned to a line, of a header and Entries(wanted) entries.
  SharedQueue(std::byte* memory, uint64_t wanted)
      : header_(reinterpret_cast<Header*>(memory)),
        entries_(reinterpret_cast<Entry*>(memory + sizeof(Header))),
        mask_(Entries(wanted) - 1) {}

  Header& header() const { return *header_; }
  Entry& at(uint64_t position) const { return entries_[position & mask_]; }
  uint64_t size() const { return mask_ + 1; }

 private:
  Header* header_ = nullptr;
  Entry* entries_ = nullptr;
  uint64_t mask_ = 0;
};
using SubmissionQueue = SharedQueue<SubmissionHeader, Submission>;
using CompletionRing = SharedQueue<CompletionHeader, CompletionEntry>;

// Whether the flag was up and is down now by this call: its caller wakes the other end.
inline bool TakeDown(std::atomic<uint32_t>& flag) {
  FullFence();
  return flag.load(std::memory_order_relaxed) != 0 && flag.exchange(0, std::memory_order_relaxed) != 0;
}
// Whoever puts it up looks again before it sleeps.
inline void PutUp(std::atomic<uint32_t>& flag) {
  flag.store(1, std::memory_order_relaxed);
  FullFence();
}

// An immediate's bits that travel; the other 24 bits of the device's name the queue pair (RaaS, fig. 5).
inline constexpr uint32_t kImmediateBits = 0x00FF0000;
inline constexpr int kImmediateShift = 16;

}  // namespace skein::fabric::service

#endif  // SKEIN_CORE_FABRIC_SERVICE_SHARED_QUEUES_H_
