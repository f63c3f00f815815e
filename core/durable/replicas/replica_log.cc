#include "core/durable/replicas/replica_log.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/durable/log/log_header.h"
#include "core/durable/log/recovery.h"
#include "core/durable/replicas/log_view.h"

namespace skein::durable {
namespace {

constexpr uint64_t kUnpersistedCopy = uint64_t{64} << 20;  // bytes

absl::StatusOr<uint64_t> ReadMagic(const Storage& storage) {
  uint64_t magic = 0;
  const absl::Status read = storage.Read(0, {reinterpret_cast<char*>(&magic), sizeof(magic)});
  if (!read.ok()) return read;
  return magic;
}

absl::Status WriteMagic(Storage& storage, uint64_t magic) {
  const absl::Status written = storage.WriteWord(0, magic);
  return written.ok() ? storage.Persist(0, sizeof(magic)) : written;
}

// The bytes of a change that are the primary's to write: the first page's magic and standing are the replica's own.
struct Part {
  uint64_t from = 0;
  uint64_t to = 0;
};
constexpr Part kPrimarys[] = {{sizeof(uint64_t), kStandingOffset}, {kStandingOffset + kStandingBytes, UINT64_MAX}};

}  // namespace

absl::StatusOr<std::unique_ptr<ReplicaLog>> ReplicaLog::Open(std::unique_ptr<LogPlace> place) {
  auto log = absl::WrapUnique(new ReplicaLog(std::move(place)));
  if (absl::Status started = log->Start(); !started.ok()) return started;
  return log;
}

absl::Status ReplicaLog::Start() {
  absl::StatusOr<std::unique_ptr<Storage>> log = place_->OpenLog();
  if (!log.ok()) return log.status();
  if (*log == nullptr) return absl::OkStatus();
  const absl::StatusOr<uint64_t> magic = ReadMagic(**log);
  if (!magic.ok()) return magic.status();
  if (*magic != kReplicaMagic) {
    const absl::StatusOr<bool> blank = IsBlank(**log);
    if (!blank.ok()) return blank.status();
    if (*blank) return absl::OkStatus();
  }
  const absl::StatusOr<Standing> standing = ReadStanding(**log);
  if (!standing.ok()) return standing.status();
  log_ = *std::move(log);
  standing_ = *standing;
  if (*magic != kReplicaMagic) {
    if (absl::Status made = BecomeReplica(); !made.ok()) return made;
  }
  if (!has_content()) return absl::OkStatus();
  const absl::StatusOr<LogHeader> header = ReadLogHeader(LogView(*log_));
  if (!header.ok()) return header.status();
  identity_ = header->identity;
  return absl::OkStatus();
}

// Of a server's log: what it acknowledged is here.
absl::Status ReplicaLog::BecomeReplica() {
  standing_.logs = std::max(standing_.logs, uint32_t{1});
  standing_.acknowledge = std::max(standing_.acknowledge, uint32_t{1});
  const absl::Status written = WriteStanding(*log_, standing_);
  return written.ok() ? WriteMagic(*log_, kReplicaMagic) : written;
}

ReplicaAnswer ReplicaLog::Answer(const ReplicaRequest& request) {
  ReplicaAnswer answer;
  answer.status = Check(request);
  if (answer.status.ok() && request.verb != ReplicaVerb::kShow) {
    // One that promises follows the former primary no more; one that follows begins anew.
    primary_.reset();
    copy_.reset();
    written_.clear();
    begun_ = false;
    answer.status = Promise(request.term, request.bytes);
  }
  // To the primary of another log these terms would say that it has been superseded.
  if (has_content() && identity_ == request.identity) answer.standing = standing_;
  if (log_ != nullptr) answer.level = log_->persistence();
  if (!answer.status.ok()) return answer;
  if (request.verb == ReplicaVerb::kFollow) {
    primary_ = request;
    if (has_content() && run_ == request.run) answer.has = position_;
  } else {
    const absl::StatusOr<Recovered> recovered = Recover(LogView(*log_), [](const Entry&) { return absl::OkStatus(); });
    answer.status = recovered.status();
    if (recovered.ok()) {
      answer.epoch = recovered->epoch;
      answer.tail = recovered->tail;
    }
  }
  return answer;
}

absl::Status ReplicaLog::Check(const ReplicaRequest& request) const {
  if (!failure_.ok()) return failure_;
  if (request.bytes < kSmallestLog || request.bytes > kLargestLog) {
    return absl::InvalidArgumentError(absl::StrCat("no log has ", request.bytes, " bytes"));
  }
  if (has_content() && identity_ != request.identity) {
    return absl::FailedPreconditionError(
        "the replica's file is of another log; if that log's server has lost its disk, promote this replica; if nobody "
        "wants that log any more, give the replica another file");
  }
  if (!has_content() && request.verb != ReplicaVerb::kFollow) {
    return absl::FailedPreconditionError("the replica has no log; if it had one, look for its file");
  }
  if (request.verb != ReplicaVerb::kShow && !MayFollow(standing_.promised, request.term)) {
    return absl::FailedPreconditionError(absl::StrCat("the replica has promised to follow no term before ",
                                                      standing_.promised.number, ", and this one is ",
                                                      request.term.number));
  }
  if (log_ != nullptr && log_->size() != request.bytes) {
    return absl::FailedPreconditionError(absl::StrCat("the replica's file has ", log_->size(), " bytes, the log ",
                                                      request.bytes, "; give it another file, or remove that"));
  }
  return absl::OkStatus();
}

absl::Status ReplicaLog::Promise(const Term& term, uint64_t bytes) {
  if (log_ != nullptr && term == standing_.promised) return absl::OkStatus();
  Standing standing = standing_;
  standing.promised = term;
  if (log_ != nullptr) {
    if (absl::Status written = WriteStanding(*log_, standing); !written.ok()) return failure_ = written;
  } else {
    absl::StatusOr<std::unique_ptr<Storage>> made = place_->MakeCopy(bytes);
    absl::Status status = made.status();
    if (status.ok()) status = WriteStanding(**made, standing);
    if (status.ok()) status = WriteMagic(**made, kReplicaMagic);
    if (status.ok()) status = place_->TakeCopy();
    if (!status.ok()) return status;
    log_ = *std::move(made);
  }
  standing_ = standing;
  return absl::OkStatus();
}

absl::Status ReplicaLog::Apply(absl::string_view changes) {
  absl::Status status = failure_;
  wire::FieldReader reader(changes);
  while (status.ok() && !reader.done()) {
    const absl::StatusOr<Change> change = TakeChange(reader);
    status = change.ok() ? ApplyOne(*change) : change.status();
  }
  if (!status.ok()) {
    primary_.reset();
    copy_.reset();
    run_ = 0;  // part of a batch may be there
  }
  return status;
}

absl::Status ReplicaLog::Out(absl::string_view why) {
  return absl::DataLossError(absl::StrCat("the primary sends changes out of turn: ", why));
}

absl::Status ReplicaLog::ApplyOne(const Change& change) {
  if (!primary_.has_value()) return Out("it is not followed");
  const bool begins = change.kind == ChangeKind::kFollow || change.kind == ChangeKind::kCopy;
  if (!begun_ && !begins) return Out("no beginning");
  switch (change.kind) {
    case ChangeKind::kFollow:
      if (begun_ || !has_content() || run_ != primary_->run || change.value != position_)
        return Out("another position");
      begun_ = true;
      return absl::OkStatus();
    case ChangeKind::kCopy:
      begun_ = true;
      return BeginCopy(change.value);
    case ChangeKind::kBytes:
      return PutBytes(change.value, change.bytes);
    case ChangeKind::kZeros:
      return PutZeros(change.value, change.length);
    case ChangeKind::kBatch:
      return EndBatch(change.value);
    case ChangeKind::kCopied:
      if (!copy_ || copy_->whole_at.has_value() || change.value < copy_->position) return Out("an end of a copy");
      copy_->whole_at = change.value;
      return TakeCopyIfWhole();
  }
  return Out("an unknown change");
}

// A copy that fails is made anew; a log that has failed to write is to be opened anew.
absl::Status ReplicaLog::Failed(const absl::Status& status) {
  if (!copy_) failure_ = status;
  return status;
}

absl::Status ReplicaLog::BeginCopy(uint64_t position) {
  copy_.reset();  // its file is to be made anew
  written_.clear();
  absl::StatusOr<std::unique_ptr<Storage>> storage = place_->MakeCopy(primary_->bytes);
  if (!storage.ok()) return storage.status();
  copy_ = Copy{.storage = *std::move(storage), .position = position, .whole_at = std::nullopt, .unpersisted = 0};
  return absl::OkStatus();
}

absl::Status ReplicaLog::PutBytes(uint64_t offset, absl::string_view bytes) {
  const uint64_t size = target().size();
  if (offset > size || bytes.size() > size - offset) return Out("bytes behind the log's end");
  for (const Part& part : kPrimarys) {
    const uint64_t from = std::max(offset, part.from);
    const uint64_t to = std::min(offset + bytes.size(), part.to);
    if (from >= to) continue;
    absl::Status written = target().Write(from, bytes.substr(from - offset, to - from));
    if (!written.ok()) return Failed(written);
    if (copy_) {
      copy_->unpersisted += to - from;
    } else {
      written_.push_back({from, to - from});
    }
  }
  return PersistMuchOfCopy();
}

// So that the copy's end waits for a disk no longer than its primary does.
absl::Status ReplicaLog::PersistMuchOfCopy() {
  if (!copy_ || copy_->unpersisted < kUnpersistedCopy) return absl::OkStatus();
  copy_->unpersisted = 0;
  return copy_->storage->Persist(0, copy_->storage->size());
}

// Most of a young log is zeros, as its copy is from the start.
absl::Status ReplicaLog::PutZeros(uint64_t offset, uint64_t length) {
  const uint64_t size = target().size();
  if (offset > size || length > size - offset) return Out("zeros behind the log's end");
  std::string part;
  for (uint64_t done = 0; done < length; done += part.size()) {
    part.resize(std::min<uint64_t>(length - done, 1 << 16));
    if (absl::Status read = target().Read(offset + done, absl::MakeSpan(part)); !read.ok()) return Failed(read);
    if (part.find_first_not_of('\0') == std::string::npos) continue;
    part.assign(part.size(), '\0');
    if (absl::Status written = PutBytes(offset + done, part); !written.ok()) return written;
  }
  return absl::OkStatus();
}

absl::Status ReplicaLog::EndBatch(uint64_t number) {
  uint64_t& position = copy_ ? copy_->position : position_;
  if (number != position + 1) return Out("a batch is missing");
  // One by one: an entry may say that those of the batch before are persisted.
  if (!copy_) {
    if (absl::Status persisted = log_->Persist(written_); !persisted.ok()) return Failed(persisted);
    written_.clear();
  }
  position = number;
  return copy_ ? TakeCopyIfWhole() : absl::OkStatus();
}

absl::Status ReplicaLog::TakeCopyIfWhole() {
  if (!copy_->whole_at.has_value() || copy_->position < *copy_->whole_at) return absl::OkStatus();
  Storage& copy = *copy_->storage;
  const absl::StatusOr<LogHeader> header = ReadLogHeader(LogView(copy));
  if (!header.ok()) return header.status();
  if (header->identity != primary_->identity) return Out("a copy of another log");
  const Standing standing{.promised = standing_.promised,
                          .content = primary_->term,
                          .logs = primary_->logs,
                          .acknowledge = primary_->acknowledge};
  absl::Status status = copy.Persist(0, copy.size());
  if (status.ok()) status = WriteStanding(copy, standing);
  if (status.ok()) status = WriteMagic(copy, kReplicaMagic);
  if (!status.ok()) return status;
  // If this fails, either may be the log now.
  if (status = place_->TakeCopy(); !status.ok()) return failure_ = status;
  log_ = std::move(copy_->storage);
  standing_ = standing;
  identity_ = header->identity;
  run_ = primary_->run;
  position_ = copy_->position;
  copy_.reset();
  return absl::OkStatus();
}

}  // namespace skein::durable
