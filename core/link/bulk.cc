#include "core/link/bulk.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "core/wire/bytes.h"

namespace skein::link {
namespace {

// Announced by one message: the first bytes are pulled while the next are copied, and a message costs a credit.
constexpr size_t kGroup = 4;

// Blocks that are filled, and what is said of them.
class Group {
 public:
  void Add(const Blocks::Block& block, size_t size) {
    const wire::Block announced{block.remote.address, block.remote.rkey, static_cast<uint32_t>(size), block.number};
    blocks_.push_back(announced);
    texts_.push_back(wire::Encode(announced));
  }
  absl::Span<const wire::Block> blocks() const { return blocks_; }
  // The items, whose bytes are this object's.
  absl::Span<const Gathered> Items() {
    for (size_t i = 0; i < texts_.size(); ++i) {
      parts_[i] = {reinterpret_cast<const std::byte*>(texts_[i].data()), texts_[i].size()};
      items_[i] = {&parts_[i], 1};
    }
    return absl::MakeConstSpan(items_).first(texts_.size());
  }

 private:
  absl::InlinedVector<wire::Block, kGroup> blocks_;
  absl::InlinedVector<std::string, kGroup> texts_;
  std::array<ConstBytes, kGroup> parts_;
  std::array<Gathered, kGroup> items_;
};

}  // namespace

// With the channel's memory, and not at the first block: what is refused now costs nobody bytes that are on their way.
absl::Status Bulk::Prepare() {
  if (group_.device() == nullptr) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<Pulls>> pulls = Pulls::Create(*group_.device());
  if (!pulls.ok()) return pulls.status();
  pulls_ = *std::move(pulls);
  return absl::OkStatus();
}

absl::StatusOr<size_t> Bulk::Send(Port& port, absl::Span<const ConstBytes> buffers, size_t bytes) {
  size_t sent = 0;
  while (sent < bytes) {
    const absl::StatusOr<size_t> more = SendGroup(port, buffers, sent, bytes - sent);
    if (absl::IsResourceExhausted(more.status()) || (more.ok() && *more == 0)) break;
    if (!more.ok()) return more.status();
    sent += *more;
  }
  return sent;
}

// As much as one message says. Less than that, even 0: there was no space for it, and OnSpace follows.
absl::StatusOr<size_t> Bulk::SendGroup(Port& port, absl::Span<const ConstBytes> buffers, size_t offset, size_t most) {
  Group group;
  absl::Status none_left;
  for (size_t filled = 0; filled < most && group.blocks().size() < kGroup;) {
    const absl::StatusOr<Blocks::Block> block = blocks_.Take(port);
    if (!block.ok()) {
      none_left = block.status();
      break;
    }
    const size_t size = std::min(most - filled, Blocks::kBlockBytes);
    CopyGathered(buffers, offset + filled, {block->bytes, size});
    blocks_.Announce(block->number);
    group.Add(*block, size);
    filled += size;
  }
  if (group.blocks().empty()) return none_left;
  const absl::StatusOr<size_t> sent = queue_.Send({port, group.Items(), wire::ItemKind::kBlock});
  size_t bytes = 0;
  for (const wire::Block& block : group.blocks().first(sent.value_or(0))) bytes += block.size;
  for (const wire::Block& block : group.blocks().subspan(sent.value_or(0))) {
    // Who waits for one is told by a poll.
    if (blocks_.GiveBack(block.number)) group_.Wake();
  }
  if (!sent.ok()) return sent.status();
  return bytes;
}

absl::Status Bulk::OnBlock(Port* port, absl::Span<const std::byte> payload) {
  if (pulls_ == nullptr) return absl::DataLossError("a block on a link that takes none");
  const absl::StatusOr<wire::Block> block = wire::DecodeBlock(wire::CopyOf(payload));
  if (!block.ok()) return block.status();
  if (absl::Status status = pulls_->Begin(*block); !status.ok()) return status;
  const absl::StatusOr<bool> wanted = port == nullptr ? false : port->OnBlock(block->size);
  if (!wanted.ok()) return wanted.status();
  if (*wanted) {
    pulls_->Read(port->stream(), *block);
  } else {
    pulls_->Skip(*block);
  }
  return absl::OkStatus();
}

absl::Status Bulk::OnPulled(absl::Span<const std::byte> payload) {
  const absl::StatusOr<std::vector<uint32_t>> numbers = wire::DecodePulled(wire::CopyOf(payload));
  if (!numbers.ok()) return numbers.status();
  for (const uint32_t number : *numbers) {
    if (absl::Status status = blocks_.OnPulled(number); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Bulk::Pull(int& messages) {
  ports_.TellOfSpace(blocks_.TakeWaiters());
  if (pulls_ == nullptr) return absl::OkStatus();
  while (std::optional<Pulls::Pulled> pulled = pulls_->Take()) {
    ++messages;
    const std::shared_ptr<Port> port = ports_.Find(pulled->stream).port;
    if (port == nullptr) continue;
    port->OnPulled(std::move(pulled->bytes), pulled->size);
    ports_.Touch(port);
  }
  const auto wanted = [this](uint32_t stream) {
    const std::shared_ptr<Port> port = ports_.Find(stream).port;
    return port != nullptr && !port->aborted_in_ && !port->abandoned();
  };
  if (pulls_->Post(operations_, wanted)) ++messages;
  return pulls_->Answer(queue_);
}

bool Bulk::waits() const {
  return pulls_ != nullptr && (pulls_->ready() || (pulls_->blocked() && group_.sends_completed()));
}

void Bulk::Fail() {
  blocks_.Fail();
  if (pulls_ != nullptr) pulls_->Clear();
}

}  // namespace skein::link
