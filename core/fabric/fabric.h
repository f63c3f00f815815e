// The device seam: one contract, shaped like verbs, behind which RDMA NICs and a simulation stand.
//
// Objects and lifetimes. A Device makes MemoryRegions, CompletionQueues, SharedReceiveQueues and QueuePairs; it
// outlives them all. A CompletionQueue outlives the QueuePairs that complete into it, a SharedReceiveQueue those that
// take from it. A MemoryRegion outlives every request that names its keys, local or remote; destroying it revokes its
// rkey: a later access fails at the requester with kRemoteAccessError and never touches the memory.
//
// Threads. Every method may be called from any thread, except where a class says otherwise; calls on *different*
// objects never need the caller's locks. None blocks, sleeps or calls back, with one exception: Accept and Complete of
// verbs, for which the kernel may ask the network where the peer is. That may take a second.
//
// Ordering (reliable connection). Requests posted to one queue pair execute at the peer in the order posted. Requests
// on different queue pairs are unordered. Of one WRITE, the bytes land in any order except that the last eight, when
// they are one aligned word, become visible (release) no earlier than all bytes before them in that WRITE and all
// earlier requests on that queue pair; a reader that loads that word with acquire and sees the new value sees
// everything before it. This is what NICs do (in-order PCIe writes) and what FLOCK's canary relies on (thesis 3.3.1).
//
// Errors. What a peer, a device or a limit causes is an absl::Status or a Completion status that names what happened.
// A queue pair that fails goes to kError: all its outstanding requests complete with kFlushed or the first error.
#ifndef SKEIN_CORE_FABRIC_FABRIC_H_
#define SKEIN_CORE_FABRIC_FABRIC_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace skein::fabric {

// What remote peers may do with a memory region, or'd together. Local access is always allowed.
enum Access : uint32_t {
  kLocalOnly = 0,
  kRemoteWrite = 1u << 0,
  kRemoteRead = 1u << 1,
  kRemoteAtomic = 1u << 2,
  kRemoteFlush = 1u << 3,            // FLUSHes that ask for Placement::kVisible
  kRemoteFlushPersistent = 1u << 4,  // FLUSHes that ask for Placement::kPersistent; of persistent memory
};

// Where a one-sided request lands: `address` is in the peer's own numbering, as its MemoryRegion::remote() said it.
struct RemoteAddress {
  uint64_t address = 0;
  uint32_t rkey = 0;
};

// A piece of local memory. `lkey` may be 0 for SENDs and WRITEs no longer than max_inline_bytes.
struct Segment {
  std::byte* data = nullptr;
  size_t size = 0;
  uint32_t lkey = 0;
};

// Registered memory. Immutable; safe from any thread.
class MemoryRegion {
 public:
  virtual ~MemoryRegion() = default;
  virtual absl::Span<std::byte> bytes() const = 0;
  virtual uint32_t lkey() const = 0;
  // The address and rkey that a peer of this device's connected queue pairs uses for bytes()[0].
  virtual RemoteAddress remote() const = 0;
};

enum class Opcode : uint8_t {
  kSend,
  kWrite,
  kWriteWithImmediate,
  kRead,
  kFetchAdd,              // 8 bytes at a multiple of 8; the old value lands in local[0]
  kCompareSwap,           // the same
  kReceive,               // in completions only
  kReceiveWithImmediate,  // in completions only: a WRITE_WITH_IMM consumed a receive; no bytes in its buffer
  kFlush,                 // ends when `operand` bytes from `remote` on are where `placement` says; `local` is empty
};
absl::string_view OpcodeName(Opcode opcode);

// Where a FLUSH brings what earlier requests of its queue pair have left at the peer.
enum class Placement : uint8_t {
  kVisible,     // whoever reads the peer's memory sees it
  kPersistent,  // it outlives a loss of the peer's power
};

struct SendRequest {
  uint64_t id = 0;  // comes back in the Completion
  Opcode opcode = Opcode::kSend;
  absl::Span<const Segment>
      local;               // gathered (SEND, WRITE) or scattered into (READ); the span itself is copied by Post
  RemoteAddress remote;    // one-sided opcodes only
  uint32_t immediate = 0;  // kWriteWithImmediate
  uint64_t operand = 0;    // kFetchAdd: addend; kCompareSwap: expected value; kFlush: how many bytes
  uint64_t swap = 0;       // kCompareSwap: new value
  bool signaled = true;    // false: no completion on success (errors always complete)
  Placement placement = Placement::kVisible;  // kFlush
};

struct ReceiveRequest {
  uint64_t id = 0;
  Segment buffer;  // may be empty when only WRITE_WITH_IMM is expected
};

enum class CompletionStatus : uint8_t {
  kSuccess,
  kFlushed,               // the queue pair was in error before this request ran
  kRemoteAccessError,     // unknown rkey, out of bounds, access not granted
  kLocalLengthError,      // a SEND longer than the receive buffer it met, seen at the receiver
  kRemoteOperationError,  // the same, seen at the sender
  kRetryExceeded,         // the peer stopped answering or is gone
  kFatal,                 // the device or the peer broke the protocol
};
absl::string_view CompletionStatusName(CompletionStatus status);

class QueuePair;

struct Completion {
  uint64_t id = 0;
  CompletionStatus status = CompletionStatus::kSuccess;
  Opcode opcode = Opcode::kSend;
  uint32_t immediate = 0;           // kReceiveWithImmediate
  size_t bytes = 0;                 // receives, READ and atomics: bytes moved
  QueuePair* queue_pair = nullptr;  // nullptr: of a shared receive whose queue pair has been destroyed since
};

// Where requests report. Poll and Arm may be called from any thread, but by one at a time.
class CompletionQueue {
 public:
  virtual ~CompletionQueue() = default;
  // Takes up to out.size() completions, oldest first; returns how many.
  virtual size_t Poll(absl::Span<Completion> out) = 0;
  // Asks that fd() become readable at the next completion, one that arrived between the last Poll and this call
  // included or not. To sleep without losing a wake-up: Arm, Poll once more, sleep on fd() only if that found nothing.
  // A wake-up may bring no completion.
  virtual absl::Status Arm() = 0;
  // Takes an Arm back, by who goes on polling: what comes from now on need not wake anybody. False: it may have woken
  // somebody already, or cannot be taken back: AckEvents as ever.
  virtual bool Disarm() { return false; }
  // A pollable descriptor (completion channel); owned by the queue. -1 where time is simulated.
  virtual int fd() const = 0;
  // Makes fd() readable, armed or not: for what its sleeper must hear of from elsewhere. Any thread, at any time.
  virtual void Wake() = 0;
  // Makes fd() readable, too, whenever `fd` is or hangs up: its event's data (epoll_ctl(2)) is that number. Until
  // Forget, which comes before `fd` is closed. Any thread. Nothing where time is simulated.
  virtual absl::Status Watch(int fd) = 0;
  virtual void Forget(int fd) = 0;
  // Makes fd() unreadable again. Call after waking, before Poll. The queue may leave something that it need not have
  // looked at: then the next sleep is over at once.
  virtual void AckEvents() = 0;
  // The same for a sleeper that only a change wakes (edge-triggered epoll): the queue leaves nothing.
  virtual void AckAllEvents() { AckEvents(); }
  // Sleeps until fd() is readable, or `also` is, or `timeout_ms` are over (poll(2); -1: for ever). Any thread, after
  // Arm. A queue that knows what fd() stands for may wait for that directly: then the kernel can let the sleeper run at
  // once, where the thread that wakes it has run.
  struct Woken {
    bool by_queue = false;
    bool by_also = false;
  };
  virtual Woken Sleep(int also, int timeout_ms);
};

// Receives that several queue pairs of one device take from, so that they need not be posted for each. The oldest goes
// to whichever message comes first; of several that wait, which is first is open. One that is taken reports in the
// receive queue of the queue pair that took it. A queue pair that fails gives back, as kFlushed, the one it was in the
// middle of; the others stay. What is still posted when the queue is destroyed reports nowhere.
class SharedReceiveQueue {
 public:
  virtual ~SharedReceiveQueue() = default;
  // Any number of threads at a time. Posts all of `batch`, in order, or nothing: RESOURCE_EXHAUSTED when there is no
  // space for it among `max_receives`, which counts what is posted and what is taken but not polled yet;
  // INVALID_ARGUMENT as for a queue pair; FAILED_PRECONDITION when the device refuses.
  virtual absl::Status PostReceive(absl::Span<const ReceiveRequest> batch) = 0;
};

enum class QueuePairState : uint8_t { kReset, kReady, kError };

// A reliable connection's end. Posts on one queue pair need the caller's order: one posting thread at a time.
// Destroying it drops its completions that nobody has polled, but for those of shared receives, whose buffers would be
// lost.
class QueuePair {
 public:
  virtual ~QueuePair() = default;

  // Connecting, three calls and no waiting: the active side's Offer travels to the peer over any channel, the passive
  // side's Accept is connected when it returns and gives the answer, which the active side hands to Complete. Offers
  // are good for one Accept. The bytes are opaque and, coming from a peer, hostile: every field is checked. What only
  // the peer could check (a second Accept, a spoilt token) may pass Accept, but nothing ever answers that queue pair.
  virtual absl::StatusOr<std::string> Offer() = 0;
  virtual absl::StatusOr<std::string> Accept(absl::string_view offer) = 0;
  virtual absl::Status Complete(absl::string_view answer) = 0;

  // Posts all of `batch` with one doorbell, in order, or nothing: RESOURCE_EXHAUSTED when the send queue has no space
  // for it (poll the completion queue), FAILED_PRECONDITION when the queue pair is not ready, INVALID_ARGUMENT for a
  // request the contract does not allow.
  virtual absl::Status PostSend(absl::Span<const SendRequest> batch) = 0;
  // The same for receives. A SEND or WRITE_WITH_IMM that finds no receive posted waits for one (infinite RNR retry).
  // INVALID_ARGUMENT with a shared receive queue: no state of the queue pair would ever make it right.
  virtual absl::Status PostReceive(absl::Span<const ReceiveRequest> batch) = 0;

  virtual QueuePairState state() const = 0;
  // Looks whether the connection's state has changed (peer gone, device event). Returns the state after it. It may ask
  // the peer by a request of its own, whose end wakes those that sleep: a sleeper that calls this whenever it wakes
  // never sleeps again. Where the device alone could tell that a peer is gone, a queue pair whose peer always receives
  // does not wait for the device for ever: if requests do not end, and this question neither, it is in error after
  // several times as long as the device may try, whether this is called or not. Meanwhile those that sleep on its
  // queues are woken now and then.
  virtual QueuePairState RefreshState() = 0;
  // Why the state is kError; OK otherwise.
  virtual absl::Status error() const = 0;
  // Moves to kError at once; the peer notices as if this process had died.
  virtual void Close() = 0;
};

struct QueuePairOptions {
  CompletionQueue* send_queue = nullptr;     // required
  CompletionQueue* receive_queue = nullptr;  // required; may be the same
  uint32_t max_send_requests = 128;          // outstanding, unreaped included
  uint32_t max_receive_requests = 128;
  SharedReceiveQueue* shared_receive_queue = nullptr;  // of the same device; then max_receive_requests means nothing
  // The peer posts a receive ahead of whatever needs one, so that nothing waits for long: see RefreshState.
  bool peer_always_receives = false;
  bool flushes = false;  // this end or the peer posts kFlush. Both ends must say so, of devices that offer it
};

struct DeviceCapabilities {
  bool atomics = true;            // kFetchAdd and kCompareSwap, asked for by this end and by the peer
  bool flush = false;             // kFlush to Placement::kVisible
  bool flush_persistent = false;  // kFlush to Placement::kPersistent, of memory that the device knows to be persistent
  bool announces_close = false;   // who ends a connection is seen by the peer, also if silent, before what it does next
  uint32_t max_inline_bytes = 0;
  uint64_t max_message_bytes = 0;
  uint64_t good_message_bytes = 0;         // longer ones gain nothing, or more than they risk
  uint32_t immediate_bits = ~uint32_t{0};  // of an immediate, those that travel; the others must be 0
};

class Device {
 public:
  virtual ~Device() = default;
  virtual absl::string_view name() const = 0;  // "sim:a", "mlx5_0/1"
  virtual DeviceCapabilities capabilities() const = 0;
  // An error once the device has been removed, has failed for good or is no longer what it was when it was opened, or
  // once the kernel has refused this process something that a queue pair needed: for new queue pairs, open another.
  virtual absl::Status Usable() const { return absl::OkStatus(); }
  // The same device, for one peer alone: the rkeys of other peers' memory are of no use on queue pairs of this one (a
  // protection domain). Null: this object does, for its rkeys cannot be guessed, or nobody could try.
  virtual absl::StatusOr<std::shared_ptr<Device>> ForPeer() { return nullptr; }
  // Zeroed, page-aligned memory the device can reach best. Errors:
  // RESOURCE_EXHAUSTED naming the limit met, INVALID_ARGUMENT for size 0, FAILED_PRECONDITION for FLUSHes that the
  // device does not offer, or not of such memory.
  virtual absl::StatusOr<std::unique_ptr<MemoryRegion>> Allocate(size_t bytes, uint32_t access) = 0;
  // Registers the caller's memory, which must outlive the region.
  virtual absl::StatusOr<std::unique_ptr<MemoryRegion>> Register(absl::Span<std::byte> bytes, uint32_t access) = 0;
  virtual absl::StatusOr<std::unique_ptr<CompletionQueue>> CreateCompletionQueue(uint32_t capacity) = 0;
  // For `max_receives` at a time. INVALID_ARGUMENT for 0, RESOURCE_EXHAUSTED naming the device's limit.
  virtual absl::StatusOr<std::unique_ptr<SharedReceiveQueue>> CreateSharedReceiveQueue(uint32_t max_receives) = 0;
  // FAILED_PRECONDITION for FLUSHes where the device offers none.
  virtual absl::StatusOr<std::unique_ptr<QueuePair>> CreateQueuePair(const QueuePairOptions& options) = 0;
};

}  // namespace skein::fabric

#endif  // SKEIN_CORE_FABRIC_FABRIC_H_
