#include "core/link/pulls.h"

#include <cstring>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/link/operations.h"
#include "core/link/send_queue.h"

namespace skein::link {
namespace {

// Of READs under way. More bytes keep a longer path busy, and small messages waiting.
constexpr size_t kMostReads = 3;
// Answers that are worth a message while others are still to come.
constexpr size_t kWorthTelling = 4;

}  // namespace

Pulls::Pulls(std::unique_ptr<fabric::MemoryRegion> landing) : landing_(std::move(landing)) {
  for (size_t i = 0; i < kMostReads; ++i) {
    std::byte* const place = landing_->bytes().data() + i * wire::kMaxBlockBytes;
    free_.push_back(std::make_unique<Pull>(fabric::Segment{place, 0, landing_->lkey()}));
  }
}

absl::StatusOr<std::unique_ptr<Pulls>> Pulls::Create(fabric::Device& device) {
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> landing =
      device.Allocate(kMostReads * wire::kMaxBlockBytes, fabric::kLocalOnly);
  if (!landing.ok()) return landing.status();
  return std::unique_ptr<Pulls>(new Pulls(*std::move(landing)));
}

absl::Status Pulls::Begin(const wire::Block& block) {
  if (begun_.test(block.number)) return absl::DataLossError(absl::StrCat("block ", block.number, " announced twice"));
  begun_.set(block.number);
  return absl::OkStatus();
}

void Pulls::Read(uint32_t stream, const wire::Block& block) {
  auto line = absl::c_find_if(lines_, [&](const Line& l) { return l.stream == stream; });
  if (line == lines_.end()) line = lines_.insert(lines_.end(), Line{stream, {}});
  line->blocks.push_back(block);
}

bool Pulls::Post(Operations& operations, absl::FunctionRef<bool(uint32_t stream)> wanted) {
  bool any = false;
  blocked_ = false;
  while (!lines_.empty() && !free_.empty()) {
    const Line& line = lines_.front();
    if (!wanted(line.stream)) {
      Skip(line.blocks.front());
      DropFirst();
      continue;
    }
    Pull& pull = *free_.back();
    pull.Begin(line.stream, line.blocks.front());
    if (const absl::Status posted = operations.Operate(pull); !posted.ok()) {
      blocked_ = absl::IsResourceExhausted(posted);  // or the link is ending
      return any;
    }
    under_way_.push_back(std::move(free_.back()));
    free_.pop_back();
    DropFirst();
    any = true;
  }
  return any;
}

void Pulls::Pull::Begin(uint32_t of_stream, const wire::Block& announced) {
  stream = of_stream;
  block = announced;
  request.remote = {block.address, block.rkey};
  local.size = block.size;
  status_.store(kUnderWay, std::memory_order_relaxed);
}

// The stream's next block waits until all others have had their turn.
void Pulls::DropFirst() {
  Line line = std::move(lines_.front());
  lines_.pop_front();
  line.blocks.pop_front();
  if (!line.blocks.empty()) lines_.push_back(std::move(line));
}

std::optional<Pulls::Pulled> Pulls::Take() {
  while (ready()) {
    // Also one that failed: on a queue pair in error, nothing lands in its memory any more.
    const Pull& pull = *free_.emplace_back(std::move(under_way_.front()));
    under_way_.pop_front();
    if (!pull.succeeded()) continue;  // and so the link ends
    Pulled pulled{pull.stream, NewReceivedBytes(pull.block.size), pull.block.size};
    std::memcpy(pulled.bytes.get(), pull.local.data, pulled.size);
    answers_.push_back(pull.block.number);
    return pulled;
  }
  return std::nullopt;
}

absl::Status Pulls::Answer(SendQueue& queue) {
  const bool more = !lines_.empty() || !under_way_.empty();
  if (answers_.empty() || (more && answers_.size() < kWorthTelling)) return absl::OkStatus();
  for (const uint32_t number : answers_) begun_.reset(number);
  return queue.SendPulled(wire::EncodePulled(std::exchange(answers_, {})));
}

void Pulls::Clear() {
  lines_.clear();
  answers_.clear();
  // Another thread may still be about to say that one is done: that stays until the link goes.
  while (ready()) under_way_.pop_front();
}

}  // namespace skein::link
