#include "grpc_transport/durable/marks.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/mutex.h"

namespace skein::grpc_transport {
namespace {

struct Marks {
  Mutex mu;
  uint64_t last ABSL_GUARDED_BY(mu) = 0;
  absl::flat_hash_map<uint64_t, OnPersisted> open ABSL_GUARDED_BY(mu);
};

Marks& Get() {
  static auto* const marks = new Marks;  // contexts may outlive whatever is destroyed at the end
  return *marks;
}

uint64_t Add(OnPersisted on_persisted) {
  Marks& marks = Get();
  const MutexLock lock(&marks.mu);
  marks.open.emplace(++marks.last, std::move(on_persisted));
  return marks.last;
}

OnPersisted Take(uint64_t number) {
  Marks& marks = Get();
  const MutexLock lock(&marks.mu);
  const auto found = marks.open.find(number);
  if (found == marks.open.end()) return nullptr;
  OnPersisted on_persisted = std::move(found->second);
  marks.open.erase(found);
  return on_persisted;
}

}  // namespace

OnPersisted TakeMark(const std::string& number) {
  uint64_t value = 0;
  return absl::SimpleAtoi(number, &value) ? Take(value) : nullptr;
}

DurableMark::DurableMark(grpc::ClientContext& context, OnPersisted on_persisted)
    : number_(Add(std::move(on_persisted))) {
  context.AddMetadata(kMarkMetadata, absl::StrCat(number_));
}

DurableMark::~DurableMark() { Take(number_); }

}  // namespace skein::grpc_transport
