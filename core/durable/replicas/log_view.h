// A replica's log as the log that it will be when it is promoted. To read.
#ifndef SKEIN_CORE_DURABLE_REPLICAS_LOG_VIEW_H_
#define SKEIN_CORE_DURABLE_REPLICAS_LOG_VIEW_H_

#include <algorithm>
#include <cstring>

#include "absl/status/status.h"
#include "core/durable/log/log_header.h"
#include "core/durable/storage/storage.h"

namespace skein::durable {

class LogView final : public Storage {
 public:
  explicit LogView(const Storage& replica) : replica_(replica) {}

  uint64_t size() const override { return replica_.size(); }
  Persistence persistence() const override { return replica_.persistence(); }
  bool fine_grained() const override { return replica_.fine_grained(); }
  absl::Status Write(uint64_t, absl::Span<const absl::string_view>) override { return ReadOnly(); }
  absl::Status WriteWord(uint64_t, uint64_t) override { return ReadOnly(); }
  absl::Status Persist(absl::Span<const Extent>) override { return ReadOnly(); }
  absl::Status Read(uint64_t offset, absl::Span<char> into) const override {
    absl::Status read = replica_.Read(offset, into);
    if (!read.ok() || offset >= sizeof(kLogMagic)) return read;
    char magic[sizeof(kLogMagic)];
    std::memcpy(magic, &kLogMagic, sizeof(magic));
    const size_t shown = std::min<size_t>(into.size(), sizeof(magic) - offset);
    std::memcpy(into.data(), magic + offset, shown);
    return absl::OkStatus();
  }

 private:
  static absl::Status ReadOnly() { return absl::FailedPreconditionError("a view of a replica's log is for reading"); }

  const Storage& replica_;
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_REPLICAS_LOG_VIEW_H_
