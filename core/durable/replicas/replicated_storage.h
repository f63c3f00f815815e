// A log's storage whose Persist also waits until enough replicas of the log have what was written.
#ifndef SKEIN_CORE_DURABLE_REPLICAS_REPLICATED_STORAGE_H_
#define SKEIN_CORE_DURABLE_REPLICAS_REPLICATED_STORAGE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/durable/replicas/follower.h"
#include "core/durable/replicas/journal.h"
#include "core/durable/storage/storage.h"

namespace skein::durable {

class ReplicatedStorage final : public Storage {
 public:
  ReplicatedStorage(std::unique_ptr<Storage> own, const JournalOptions& options);
  // Ends the followers' connections.
  ~ReplicatedStorage() override;

  uint64_t size() const override { return own_->size(); }
  // This log's own: a replica whose level is another is refused when it is met.
  Persistence persistence() const override { return own_->persistence(); }
  // A second Persist would be a second trip to the replicas.
  bool fine_grained() const override { return false; }

  using Storage::Persist;
  using Storage::Write;
  absl::Status Write(uint64_t offset, absl::Span<const absl::string_view> pieces) override;
  absl::Status WriteWord(uint64_t offset, uint64_t value) override;
  // Errors: the own storage's; Journal::Await's. Upon either, nothing is acknowledged any more.
  absl::Status Persist(absl::Span<const Extent> extents) override;
  absl::Status Read(uint64_t offset, absl::Span<char> into) const override { return own_->Read(offset, into); }

  Journal& journal() { return journal_; }
  const std::vector<std::shared_ptr<Follower>>& followers() const { return followers_; }
  // What connects the followers; it goes before them. Once, before the storage is used.
  void KeepConnected(std::shared_ptr<void> connections) { connections_ = std::move(connections); }

 private:
  const std::unique_ptr<Storage> own_;
  Journal journal_;
  std::vector<std::shared_ptr<Follower>> followers_;  // constant
  std::shared_ptr<void> connections_;                 // last: it uses the others
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_REPLICAS_REPLICATED_STORAGE_H_
