#include "examples/cache/service.h"

#include <cstring>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace skein::cache {
namespace {

struct SetHeader {
  uint32_t lifetime_ms = 0;
  uint32_t key_size = 0;
};

absl::Status CheckKey(absl::string_view key) {
  if (!key.empty() && key.size() <= kMaxKey) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a key has 1 to ", kMaxKey, " bytes"));
}

absl::Status Set(Cache& cache, absl::string_view request) {
  SetHeader header;
  if (request.size() < sizeof(header)) return absl::InvalidArgumentError("a request to set without its sizes");
  std::memcpy(&header, request.data(), sizeof(header));
  request.remove_prefix(sizeof(header));
  if (header.key_size > request.size()) return absl::InvalidArgumentError("a key that is not all there");
  const absl::string_view key = request.substr(0, header.key_size);
  const absl::string_view value = request.substr(header.key_size);
  if (absl::Status status = CheckKey(key); !status.ok()) return status;
  if (value.size() > kMaxValue)
    return absl::InvalidArgumentError(absl::StrCat("a value has at most ", kMaxValue, " bytes"));
  const absl::Duration lifetime =
      header.lifetime_ms == 0 ? absl::InfiniteDuration() : absl::Milliseconds(header.lifetime_ms);
  return cache.Set(key, value, absl::Now() + lifetime);
}

}  // namespace

std::string SetRequest(absl::string_view key, absl::string_view value, uint32_t lifetime_ms) {
  const SetHeader header = {lifetime_ms, static_cast<uint32_t>(key.size())};
  return absl::StrCat(absl::string_view(reinterpret_cast<const char*>(&header), sizeof(header)), key, value);
}

examples::Functions FunctionsOf(Cache& cache) {
  using Answer = absl::StatusOr<absl::string_view>;
  const auto nothing_or = [](const absl::Status& status) { return status.ok() ? Answer("") : Answer(status); };
  return {
      {kGet,
       [&cache](absl::string_view key) -> Answer {
         if (absl::Status status = CheckKey(key); !status.ok()) return status;
         return cache.Get(key, absl::Now());
       }},
      {kSet, [&cache, nothing_or](absl::string_view request) { return nothing_or(Set(cache, request)); }},
      {kDelete,
       [&cache, nothing_or](absl::string_view key) {
         const absl::Status status = CheckKey(key);
         return nothing_or(status.ok() ? cache.Delete(key) : status);
       }},
  };
}

}  // namespace skein::cache
