#ifndef SKEIN_BENCH_DURABLE_MODELLED_PMEM_H_
#define SKEIN_BENCH_DURABLE_MODELLED_PMEM_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/durable/storage/storage.h"

namespace skein::bench::durable {

// Memory as a DAX file would be; the costs say what persisting costs.
class ModelledPmem final : public skein::durable::Storage {
 public:
  explicit ModelledPmem(uint64_t size) : memory_(size / 8) {}
  ModelledPmem(const ModelledPmem& other) : Storage(), memory_(other.memory_) {}  // as it is at this moment
  uint64_t size() const override { return memory_.size() * 8; }
  skein::durable::Persistence persistence() const override { return skein::durable::Persistence::kEmulated; }
  bool fine_grained() const override { return true; }
  absl::Span<std::byte> mapped() override { return {reinterpret_cast<std::byte*>(memory_.data()), size()}; }

  using Storage::Persist;
  using Storage::Write;
  absl::Status Write(uint64_t offset, absl::Span<const absl::string_view> pieces) override {
    for (const absl::string_view piece : pieces) {
      std::memcpy(mapped().data() + offset, piece.data(), piece.size());
      offset += piece.size();
    }
    return absl::OkStatus();
  }
  absl::Status WriteWord(uint64_t offset, uint64_t value) override {
    std::memcpy(mapped().data() + offset, &value, sizeof(value));
    return absl::OkStatus();
  }
  absl::Status Persist(absl::Span<const skein::durable::Extent>) override { return absl::OkStatus(); }
  absl::Status Read(uint64_t offset, absl::Span<char> into) const override {
    std::memcpy(into.data(), reinterpret_cast<const char*>(memory_.data()) + offset, into.size());
    return absl::OkStatus();
  }

 private:
  std::vector<uint64_t> memory_;
};

}  // namespace skein::bench::durable

#endif  // SKEIN_BENCH_DURABLE_MODELLED_PMEM_H_
