// The message seam: what a link needs of a transport. A channel is one end of a pair of ordered message queues between
// two processes. Two implementations stand behind it: shm/ (a FIFO each way in shared memory) and ring/ (FLOCK's ring,
// written by a reliable queue pair of any fabric).
//
//   reset --Offer--> offering --Complete--> connected --peer gone, error, Close--> ended
//     \____________________Accept____________^
//
// A message is a list of items (core/wire/message.h) and travels whole: the receiver sees all of it or nothing.
// Messages arrive in the order in which they were published, each once, until the channel has ended.
//
// Threads. *Sending methods*: one thread at a time, which the caller sees to (the link's sender's place). *Receiving
// methods*: the owner of the link's polling. One thread may send while another receives. Other methods: any thread, at
// any time. No method blocks, but for Accept and Complete of RDMA, for which the kernel asks the network.
//
// Memory. A ChannelGroup outlives its channels, a Transport its groups. The peer's bytes are hostile: each word is read
// once and checked.
#ifndef SKEIN_CORE_CHANNEL_CHANNEL_H_
#define SKEIN_CORE_CHANNEL_CHANNEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/channel/memory_operation.h"
#include "core/channel/notification_suppression.h"
#include "core/channel/out_item.h"
#include "core/channel/remote_memory.h"
#include "core/channel/renewals.h"
#include "core/fabric/fabric.h"
#include "core/wire/message.h"
#include "core/wire/ring_descriptor.h"

namespace skein::channel {

// A message that has arrived. Its bytes stay in the channel's memory until Pop, where the peer may change them: copy
// them before anything looks at them.
struct InMessage {
  uint32_t items = 0;
  uint64_t stage_time = 0;           // wire::StageTime; 0: nobody traces
  absl::Span<const std::byte> area;  // of the items

  wire::ItemWalk walk() const { return {items, area}; }
};

// What a message is for, and so how much free space it must leave: control can still be sent where data cannot, or two
// full queues would wait for each other.
enum class Use : uint8_t { kData, kControl };

// Its messages. What it does with the peer's memory, and the schedule of its sends, are seams of their own.
class Channel : public Renewals, public RemoteMemory {
 public:
  // Connecting, three calls: the active side's Offer travels to the peer, the passive side's Accept is connected when
  // it returns and gives the answer, which the active side hands to Complete. Offers are good for one Accept. Errors
  // are FallbackErrors that say why the two ends cannot have this channel. Both ends' memory is there before the peer
  // hears yes.
  struct Answer {
    std::string connection;
    wire::RingDescriptor ring;  // where and how large the passive side's queue is; of shm, the size alone counts
  };
  virtual absl::StatusOr<std::string> Offer() = 0;
  virtual absl::StatusOr<Answer> Accept(absl::string_view offer) = 0;
  virtual absl::Status Complete(const Answer& answer) = 0;
  // The payload of the active side's first item (wire::ItemKind::kHello), and what the passive side makes of it. Before
  // that the passive side has not met its peer. DATA_LOSS: no honest peer says that; RESOURCE_EXHAUSTED: no memory.
  virtual std::string Greeting() const = 0;
  virtual absl::Status OnGreeting(absl::string_view greeting) = 0;

  // Sending methods ------------------------------------------------------------------------------------------------
  // Whether this end knows where to write. Nothing is sent before. Any thread, as LargestItem.
  virtual bool met() const = 0;
  // Bytes of items (wire::ItemBytes) that one message could carry now; 0: no message can be sent. Once it has said too
  // little, MoreSpace tells when to ask again.
  virtual size_t Space(Use use) = 0;
  // Whether Lay is expected to take so many bytes, found out with less work than Space takes. False says nothing: ask
  // Space. Lay may refuse them all the same, where the kernel takes memory back.
  virtual bool Fits(size_t /*bytes*/, Use /*use*/) { return false; }
  // Payload of the largest item that goes alone, given space enough. 0 before met(), then constant.
  virtual size_t LargestItem() const = 0;
  // The same in the memory that there is: less while the kernel gives no more.
  virtual size_t LargestItemNow() const { return LargestItem(); }
  // Puts a message together in the peer's queue, where the peer does not see it yet. RESOURCE_EXHAUSTED: it does not
  // fit (Space). Payloads stay where they are until Publish. A message that is laid and never published leaves no
  // trace.
  virtual absl::Status Lay(absl::Span<OutItem> items, Use use) = 0;
  // Makes the message that was laid visible to the peer, and wakes a peer that sleeps. RESOURCE_EXHAUSTED: not now, and
  // nothing has happened; other errors end the channel. `stage_time`: of wire::StageTime; 0: nobody traces.
  virtual absl::Status Publish(uint64_t stage_time) = 0;
  // Bytes of the peer's queue used since the start.
  virtual uint64_t written() const = 0;
  virtual uint64_t messages_written() const = 0;
  // Whether all that was published has reached the peer's memory. If not, the group's sends_completed follows.
  virtual absl::StatusOr<bool> Reached() = 0;
  // Upkeep, where the poller has found it due (AfterReading, MoreSpace), and whenever something that waited may go.
  // Heed comes first: it takes note of what the peer says of itself, so that more may be sent. Tend comes last: it
  // tells the peer what no message has taken along meanwhile. Errors end the channel; DATA_LOSS: the peer said what
  // cannot be.
  virtual absl::Status Heed() { return absl::OkStatus(); }
  virtual absl::Status Tend() { return absl::OkStatus(); }
  // Whether Tend has something to do that only a completed send lets it do.
  virtual bool tending() const { return false; }
  // The group's suppression() has changed. The first tells the peer that this end may sleep, the second wakes the peer
  // for what it has not read.
  virtual void TellPresence() {}
  virtual void RingForUnseen() {}

  // Receiving methods ----------------------------------------------------------------------------------------------
  // The next message, if it has arrived whole; the same until Pop. DATA_LOSS: the peer broke the format.
  virtual absl::StatusOr<std::optional<InMessage>> Next() = 0;
  virtual void Pop() = 0;
  // Whether Next would give something, or an error.
  virtual bool Readable() const = 0;
  // Once after a number of Pops. Wakes a peer that waits for space. True: Heed and Tend are due.
  virtual bool AfterReading() = 0;
  // Whether the peer may have made space, or credits may have come, since Space said too little; or the peer waits to
  // hear what was read. A hint that is never missing, and stays true until Heed and Tend.
  virtual bool MoreSpace() { return false; }
  // Messages and bytes of this end's queue that were consumed since the start; and how many bytes it holds at most. The
  // first two: any thread.
  virtual uint64_t messages_read() const = 0;
  virtual uint64_t bytes_read() const = 0;
  virtual uint64_t capacity() const = 0;
  // Whether the connection has ended. Messages that had arrived before are still to be read.
  virtual bool Ended() = 0;

  // Any thread -----------------------------------------------------------------------------------------------------
  // Ends it; the peer notices as if this process had died.
  virtual void Close() = 0;
  // From now on Ended() holds, whatever the connection does.
  virtual void Disconnect() = 0;
  virtual bool connected() const = 0;
  // Whether it ended because the peer broke the protocol.
  virtual bool peer_broke_protocol() const = 0;
  virtual absl::Status why_ended() const = 0;
  // Looks whether the peer is still there, by more than what has arrived. Takes nothing that a sleeper is to wake for.
  virtual bool StillConnected() = 0;
};

struct ChannelOptions {
  // Of this end's queue, a multiple of wire::kRingGranule. In shared memory the passive end's option sizes both queues.
  size_t ring_bytes = 1 << 20;
  uint64_t max_staging_bytes = uint64_t{64} << 20;  // of the peer's queue, where the device needs as much memory here
  MemoryOperations* operations = nullptr;           // whose completions it passes on; outlives the channel
};

// Of one link: what its channel needs beside itself, and what the link's sleeper sleeps on. Any thread, but Arm, Disarm
// and the two acknowledgements by the owner of the link's polling.
class ChannelGroup {
 public:
  virtual ~ChannelGroup() = default;
  // Once.
  virtual absl::StatusOr<std::unique_ptr<Channel>> Open(const ChannelOptions& options) = 0;
  // The device for one-sided operations and for large payloads; null: there is none.
  virtual const std::shared_ptr<fabric::Device>& device() const = 0;
  // Who listens at this end.
  NotificationSuppression& suppression() { return suppression_; }

  // Takes what has completed and what has become of the peer. False: the channel has not become readable by that.
  virtual bool Look() = 0;
  // Whether sends, or operations, have completed since this was last asked, so that what waited may go.
  virtual bool TakeSendsCompleted() { return false; }
  virtual bool sends_completed() { return false; }

  // As fabric::CompletionQueue has them: to sleep without losing a wake-up, Arm, look once more at the channel, and
  // sleep on fd() only if that found nothing.
  virtual absl::Status Arm() = 0;
  virtual bool Disarm() = 0;
  virtual int fd() const = 0;
  virtual void Wake() = 0;
  virtual absl::Status Watch(int fd) = 0;
  virtual void Forget(int fd) = 0;
  virtual void AckEvents() = 0;
  virtual void AckAllEvents() = 0;
  virtual fabric::CompletionQueue::Woken Sleep(int also, int timeout_ms) = 0;

 private:
  NotificationSuppression suppression_;
};

// A way to peers. Any thread.
class Transport {
 public:
  struct Traits {
    bool announces_close = false;   // as fabric::DeviceCapabilities has it
    bool meets_on_connect = false;  // connecting has used the transport itself: no need to try whether it works
  };
  virtual ~Transport() = default;
  virtual absl::string_view name() const = 0;  // "shm", "sim:a", "mlx5_0/1"
  virtual Traits traits() const = 0;
  // An error once it is of no use to new links; see fabric::Device.
  virtual absl::Status Usable() const { return absl::OkStatus(); }
  // For one peer's link. `shares_memory`: the peer may use the keys of memory that other peers were given.
  virtual absl::StatusOr<std::unique_ptr<ChannelGroup>> NewGroup(bool shares_memory) = 0;
  // Zeroed memory that peers reach best; see fabric::Device. Channel::Pass gives it to one.
  virtual absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> Allocate(size_t bytes, uint32_t access) = 0;
  // The device that it is of; null: of none.
  virtual std::shared_ptr<fabric::Device> device() const { return nullptr; }
};

}  // namespace skein::channel

#endif  // SKEIN_CORE_CHANNEL_CHANNEL_H_
