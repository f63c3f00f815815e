// Large payloads, at both ends of a link: announced here, pulled there.
#ifndef SKEIN_CORE_LINK_BULK_H_
#define SKEIN_CORE_LINK_BULK_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/channel/channel.h"
#include "core/link/blocks.h"
#include "core/link/operations.h"
#include "core/link/ports.h"
#include "core/link/pulls.h"
#include "core/link/send_queue.h"

namespace skein::link {

// Send: any thread; the rest is the poller's, but for Prepare. Its memory outlives the channel: the peer, and READs
// under way, may still use it.
class Bulk {
 public:
  // All outlive it but for the channel.
  Bulk(channel::ChannelGroup& group, SendQueue& queue, Operations& operations, Ports& ports)
      : group_(group), queue_(queue), operations_(operations), ports_(ports), blocks_(group.device().get()) {}

  // This end takes blocks: gets the memory that they land in. Before the link is shared.
  absl::Status Prepare();

  // As Link::SendBlocks; FAILED_PRECONDITION where there is no memory for that.
  absl::StatusOr<size_t> Send(Port& port, absl::Span<const ConstBytes> buffers, size_t bytes);

  // Items of the peer's. `port`: null if the stream has ended.
  absl::Status OnBlock(Port* port, absl::Span<const std::byte> payload);
  absl::Status OnPulled(absl::Span<const std::byte> payload);
  // Hands up what has come, asks for what is to come next, and says which blocks are free. Adds to `messages` if there
  // was any.
  absl::Status Pull(int& messages);
  // Whether a poll may have anything to do here; whether Pull would do something just now; whether READs are under way.
  bool active() const { return (pulls_ != nullptr && !pulls_->idle()) || blocks_.wanted(); }
  bool waits() const;
  bool reads() const { return pulls_ != nullptr && pulls_->under_way(); }
  // The link is lost.
  void Fail();

  Blocks& blocks() { return blocks_; }

 private:
  absl::StatusOr<size_t> SendGroup(Port& port, absl::Span<const ConstBytes> buffers, size_t offset, size_t most);

  channel::ChannelGroup& group_;
  SendQueue& queue_;
  Operations& operations_;
  Ports& ports_;
  Blocks blocks_;
  std::unique_ptr<Pulls> pulls_;  // null: it takes no blocks. Set before the link is shared
};

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_BULK_H_
