#include "core/replicate/neighbour.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/replicate/member.h"

namespace skein::replicate {

bool Neighbour::Read(size_t most) {
  if (ended_ || !readable_.exchange(false, std::memory_order_acq_rel)) return false;
  absl::StatusOr<bool> more = incoming_.Read(*path_, most, *this);
  if (more.ok() && *more) {
    readable_.store(true, std::memory_order_relaxed);
    return true;
  }
  const absl::Status write_error = std::exchange(write_error_, absl::OkStatus());
  if (more.ok()) {
    if (write_error.ok()) return false;
    more =
        absl::UnavailableError(write_error.message());  // no event would tell: this end's kernel has refused the write
  }
  const bool by_path = absl::IsOutOfRange(more.status()) || absl::IsUnavailable(more.status());
  if (by_path) ended_ = true;
  // Of what it has said, a protocol error; of the path, that nobody is there any more to say why.
  member_.FailFrom(
      nullptr, number_,
      by_path ? absl::UnavailableError(absl::StrCat("its path has ended: ", more.status().message())) : more.status());
  if (absl::IsUnavailable(more.status())) outgoing_.Drop();
  return false;
}

size_t Neighbour::Write() {
  if (outgoing_.idle() || !writable_.exchange(false, std::memory_order_acq_rel)) return 0;
  const absl::StatusOr<Outgoing::Taken> taken = outgoing_.Write(*path_);
  if (!taken.ok()) {
    // What has arrived says better why, and then the path's end does.
    outgoing_.Drop();
    if (!ended_) write_error_ = taken.status();
    BecomesReadable();
    return 0;
  }
  if (taken->all) BecomesWritable();
  return taken->blocks;
}

void Neighbour::SendBlock(const Begin& begin, uint32_t block, ConstBytes bytes) {
  SayBegin(begin);
  outgoing_.SendBlock(Encode(Block{begin.write, block}), bytes);
}

void Neighbour::SayHave(const Begin& begin, uint32_t member) {
  SayBegin(begin);
  outgoing_.Say(Encode(Have{begin.write, member}));
}

void Neighbour::SayBegin(const Begin& begin) {
  if (!std::exchange(began_, true)) outgoing_.Say(Encode(begin));
}

void Neighbour::Stop(bool told, uint32_t failed_member, const absl::Status& why) {
  incoming_.Drop();
  outgoing_.Cut();
  if (!told) outgoing_.Say(EncodeFailure(failed_member, why));
  outgoing_.Close();
}

absl::Status Neighbour::Greeted() const {
  return greeted_ ? absl::OkStatus() : absl::DataLossError("its first word is no hello");
}

absl::Status Neighbour::OnHello(const Hello& hello) {
  if (greeted_ || hello != expected_) {
    return absl::FailedPreconditionError("it is another member, or of another group, than the path was given for");
  }
  greeted_ = true;
  return absl::OkStatus();
}

absl::Status Neighbour::OnBegin(const Begin& begin) {
  if (absl::Status status = Greeted(); !status.ok()) return status;
  if (peer_began_) return absl::DataLossError("it begins a write twice");
  if (absl::Status status = member_.OnBegin(begin); !status.ok()) return status;
  peer_began_ = true;
  return absl::OkStatus();
}

absl::StatusOr<Bytes> Neighbour::PlaceOf(const Block& block) {
  if (absl::Status status = Greeted(); !status.ok()) return status;
  return member_.PlaceOf(number_, block);
}

absl::Status Neighbour::OnBlock(const Block&) {
  member_.OnBlock(number_);
  return absl::OkStatus();
}

absl::Status Neighbour::OnHave(const Have& have) {
  if (absl::Status status = Greeted(); !status.ok()) return status;
  return member_.OnHave(number_, have);
}

absl::Status Neighbour::OnFailure(const Failure& failure, absl::string_view text) {
  if (absl::Status status = Greeted(); !status.ok()) return status;
  member_.FailFrom(this, failure.member, StatusOf(failure, text));
  return absl::OkStatus();
}

}  // namespace skein::replicate
