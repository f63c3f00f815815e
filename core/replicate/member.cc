#include "core/replicate/member.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace skein::replicate {
namespace {

// Of one path before the others have their turn.
constexpr size_t kReadAtOnce = size_t{1} << 20;

class Wake final : public PathObserver {
 public:
  Wake(std::weak_ptr<Member> member, Neighbour& neighbour) : member_(std::move(member)), neighbour_(neighbour) {}
  void OnReadable() override { Tell(&Neighbour::BecomesReadable); }
  void OnWritable() override { Tell(&Neighbour::BecomesWritable); }

 private:
  void Tell(void (Neighbour::*what)()) {
    const std::shared_ptr<Member> member = member_.lock();
    if (member == nullptr) return;
    (neighbour_.*what)();
    member->Advance();
  }

  const std::weak_ptr<Member> member_;
  Neighbour& neighbour_;  // lives as long as the member
};

}  // namespace

Member::Member(const GroupOptions& options, std::vector<MemberPath> paths, std::shared_ptr<GroupObserver> observer)
    : options_(options), schedule_(*FindSchedule(options.schedule)), observer_(std::move(observer)) {
  const Hello own{options.id, options.members, options.self, options.schedule};
  for (uint32_t member = 1; member < options_.members; ++member) {
    if (member == options_.self || ChildTowards(member).has_value()) ++expected_haves_;
  }
  for (MemberPath& path : paths) neighbours_.push_back(std::make_unique<Neighbour>(*this, own, std::move(path)));
}

Member::~Member() = default;

void Member::Start() {
  for (const auto& neighbour : neighbours_) {
    neighbour->path().SetObserver(std::make_shared<Wake>(weak_from_this(), *neighbour));
  }
  Advance();
}

absl::StatusOr<uint64_t> Member::Write(ConstBytes bytes) {
  if (options_.self != 0) return absl::FailedPreconditionError("only a group's first member writes");
  if (bytes.size() > uint64_t{options_.block_bytes} * kMaxBlocks) {
    return absl::InvalidArgumentError(
        absl::StrCat(bytes.size(), " bytes are more than ", kMaxBlocks, " blocks of ", options_.block_bytes, " bytes"));
  }
  uint64_t write = 0;
  {
    MutexLock lock(&mu_);
    if (!status_.ok()) return status_;
    if (busy_) return absl::ResourceExhaustedError("a write of this group is under way");
    busy_ = true;
    orders_.write = bytes;
    write = ++begun_;
  }
  Advance();
  return write;
}

void Member::Acknowledge(uint64_t write) {
  {
    MutexLock lock(&mu_);
    orders_.acknowledged = write;
  }
  Advance();
}

void Member::Fail(const absl::Status& why) {
  {
    MutexLock lock(&mu_);
    orders_.failure.Update(why);
  }
  Advance();
}

void Member::Advance() {
  uint32_t seen = 1;
  if (notes_.fetch_add(1, std::memory_order_acq_rel) > 0) return;
  // An observer may give up the last reference.
  const std::shared_ptr<Member> self = shared_from_this();
  for (uint32_t left = 1; left > 0;) {
    seen = notes_.load(std::memory_order_acquire);
    while (Round()) {
    }
    left = notes_.fetch_sub(seen, std::memory_order_acq_rel) - seen;
  }
}

bool Member::Round() {
  TakeOrders();
  bool more = ReadPaths();
  StartSends();
  more |= WritePaths();
  TellProgress();
  return more;
}

void Member::TakeOrders() {
  Orders orders;
  {
    MutexLock lock(&mu_);
    orders = std::exchange(orders_, {});
  }
  if (failed_) return;
  if (!orders.failure.ok()) return FailFrom(nullptr, options_.self, orders.failure);
  if (orders.acknowledged > 0) AcknowledgeOwn(orders.acknowledged);
  if (!orders.write.has_value()) return;
  BeginWrite({last_write_ + 1, orders.write->size(), options_.block_bytes}, {}, *orders.write);
}

void Member::BeginWrite(const Begin& begin, Bytes place, ConstBytes source) {
  last_write_ = begin.write;
  write_.emplace(ActiveWrite{.begin = begin,
                             .place = place,
                             .source = source,
                             .progress = Progress(schedule_, {options_.members, begin.blocks()}, options_.self),
                             .have = std::vector<bool>(options_.members)});
}

bool Member::ReadPaths() {
  bool more = false;
  for (const auto& neighbour : neighbours_) more |= neighbour->Read(kReadAtOnce);
  return more;
}

void Member::StartSends() {
  while (write_.has_value() && write_->sending < options_.max_sends) {
    const std::optional<Transfer> send = write_->progress.NextSend();
    if (!send.has_value()) return;
    write_->progress.BeginSend();
    ++write_->sending;
    NeighbourAt(send->peer).SendBlock(write_->begin, send->block, write_->BytesOf(send->block));
  }
}

// Whether blocks have gone, so that others may follow them; or a path is to be read for why it takes nothing.
bool Member::WritePaths() {
  size_t gone = 0;
  bool failed = false;
  for (const auto& neighbour : neighbours_) {
    gone += neighbour->Write();
    failed |= neighbour->write_failed();
  }
  if (write_.has_value()) write_->sending -= static_cast<uint32_t>(gone);
  return gone > 0 || failed;
}

void Member::TellProgress() {
  if (!write_.has_value()) return;
  const uint64_t number = write_->begin.write;
  if (options_.self != 0 && write_->progress.complete() && !std::exchange(write_->received, true)) {
    observer_->OnReceived(number);
  }
  const bool done = write_->progress.complete() && write_->progress.all_sent() && write_->sending == 0;
  if (done && !std::exchange(write_->released, true)) observer_->OnReleased(number);
  if (options_.self != 0) {
    if (write_->released && write_->haves == expected_haves_) EndWrite();
    return;
  }
  const uint32_t haves = write_->haves;
  const bool over = haves == expected_haves_;
  // A receiver may say so before it can know; the memory is the user's first.
  if (haves == write_->told || (over && !write_->released)) return;
  write_->told = haves;
  if (over) EndWrite();
  observer_->OnHave(number, haves);
}

void Member::EndWrite() {
  write_.reset();
  for (const auto& neighbour : neighbours_) neighbour->WriteIsOver();
  MutexLock lock(&mu_);
  busy_ = false;
}

void Member::AcknowledgeOwn(uint64_t write) {
  const bool due = write_.has_value() && write_->begin.write == write && write_->received;
  if (!due || write_->have[options_.self]) return;
  write_->have[options_.self] = true;
  ++write_->haves;
  NeighbourAt(schedule_.ParentOf(options_.members, options_.self)).SayHave(write_->begin, options_.self);
}

Neighbour& Member::NeighbourAt(uint32_t member) {
  return **std::lower_bound(neighbours_.begin(), neighbours_.end(), member,
                            [](const auto& neighbour, uint32_t number) { return neighbour->number() < number; });
}

std::optional<uint32_t> Member::ChildTowards(uint32_t member) const {
  while (member != 0 && member != options_.self) {
    const uint32_t parent = schedule_.ParentOf(options_.members, member);
    if (parent == options_.self) return member;
    member = parent;
  }
  return std::nullopt;
}

absl::Status Member::OnBegin(const Begin& begin) {
  if (write_.has_value()) {
    if (begin == write_->begin) return absl::OkStatus();
    return absl::DataLossError("it speaks of another write than others do");
  }
  if (options_.self == 0 || begin.write != last_write_ + 1) return absl::DataLossError("it begins a write out of turn");
  if (begin.bytes > options_.max_bytes) {
    FailFrom(nullptr, options_.self,
             absl::ResourceExhaustedError(
                 absl::StrCat("a write of ", begin.bytes, " bytes; it takes ", options_.max_bytes, " at most")));
    return absl::OkStatus();
  }
  const absl::StatusOr<Bytes> memory = observer_->OnIncoming(begin.write, begin.bytes);
  if (!memory.ok() || memory->size() < begin.bytes) {
    FailFrom(nullptr, options_.self,
             memory.ok() ? absl::ResourceExhaustedError("it has too little memory for the write") : memory.status());
    return absl::OkStatus();
  }
  const Bytes place = memory->first(begin.bytes);
  BeginWrite(begin, place, place);
  return absl::OkStatus();
}

absl::StatusOr<Bytes> Member::PlaceOf(uint32_t from, const Block& block) {
  const bool this_write = write_.has_value() && write_->begin.write == block.write;
  if (!this_write || write_->progress.ExpectedFrom(from) != block.number) {
    return absl::DataLossError("it sends a block that its schedule does not have then");
  }
  return write_->place.subspan(write_->begin.OffsetOf(block.number), write_->begin.SizeOf(block.number));
}

absl::Status Member::OnHave(uint32_t from, const Have& have) {
  const bool this_write = write_.has_value() && write_->begin.write == have.write;
  if (!this_write || have.member >= options_.members || write_->have[have.member] ||
      ChildTowards(have.member) != from) {
    return absl::DataLossError("it acknowledges what is not its to acknowledge");
  }
  write_->have[have.member] = true;
  ++write_->haves;
  if (options_.self != 0) {
    NeighbourAt(schedule_.ParentOf(options_.members, options_.self)).SayHave(write_->begin, have.member);
  }
  return absl::OkStatus();
}

void Member::FailFrom(const Neighbour* by, uint32_t member, const absl::Status& why) {
  if (std::exchange(failed_, true)) return;
  for (const auto& neighbour : neighbours_) neighbour->Stop(neighbour.get() == by, member, why);
  write_.reset();
  const absl::Status status(why.code(), absl::StrCat("member ", member, ": ", why.message()));
  {
    MutexLock lock(&mu_);
    status_ = status;
    busy_ = false;
  }
  observer_->OnFailed(status);
}

}  // namespace skein::replicate
