#include "core/durable/replicas/replicated_storage.h"

namespace skein::durable {

ReplicatedStorage::ReplicatedStorage(std::unique_ptr<Storage> own, const JournalOptions& options)
    : own_(std::move(own)), journal_(options) {
  for (size_t i = 0; i < options.replicas.size(); ++i) {
    followers_.push_back(std::make_shared<Follower>(*own_, journal_, i));
  }
}

ReplicatedStorage::~ReplicatedStorage() {
  connections_ = nullptr;
  for (const auto& follower : followers_) follower->End(absl::CancelledError("the primary closes its log"));
}

absl::Status ReplicatedStorage::Write(uint64_t offset, absl::Span<const absl::string_view> pieces) {
  absl::Status written = own_->Write(offset, pieces);
  // Behind it: a copy that is read in between has it already, and one that was read before gets it by the batch.
  if (written.ok()) journal_.Write(offset, pieces);
  return written;
}

absl::Status ReplicatedStorage::WriteWord(uint64_t offset, uint64_t value) {
  absl::Status written = own_->WriteWord(offset, value);
  const absl::string_view bytes(reinterpret_cast<const char*>(&value), sizeof(value));
  if (written.ok()) journal_.Write(offset, {&bytes, 1});
  return written;
}

absl::Status ReplicatedStorage::Persist(absl::Span<const Extent> extents) {
  const uint64_t number = journal_.Seal();
  for (const auto& follower : followers_) follower->Send();
  const absl::Status own = own_->Persist(extents);
  if (!own.ok()) journal_.End(own);
  return own.ok() ? journal_.Await(number) : own;
}

}  // namespace skein::durable
