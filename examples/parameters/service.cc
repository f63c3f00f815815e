#include "examples/parameters/service.h"

#include <memory>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace skein::parameters {

absl::Status Parameters::Add(const Push& push) {
  const auto is_new = [this](uint64_t key) { return !values_.contains(key); };
  // Few pushes bring new parameters: only near the limit does one need to know how many.
  if (values_.size() + push.keys.size() > max_ && values_.size() + absl::c_count_if(push.keys, is_new) > max_)
    return absl::ResourceExhaustedError(absl::StrCat("this server holds ", max_, " parameters at most"));
  for (size_t i = 0; i < push.keys.size(); ++i) values_[push.keys[i]] += push.values[i];
  return absl::OkStatus();
}

Values Parameters::Get(const Keys& keys) const {
  Values values(keys.size());
  absl::c_transform(keys, values.begin(), [this](uint64_t key) {
    const auto found = values_.find(key);
    return found == values_.end() ? 0.0f : found->second;
  });
  return values;
}

examples::Functions FunctionsOf(Parameters& parameters) {
  using Answer = absl::StatusOr<absl::string_view>;
  const auto pulled = std::make_shared<Values>();  // until the next call
  return {
      {kPush,
       [&parameters](absl::string_view request) -> Answer {
         const absl::StatusOr<Push> push = DecodePush(request);
         if (!push.ok()) return push.status();
         if (absl::Status status = parameters.Add(*push); !status.ok()) return status;
         return "";
       }},
      {kPull,
       [&parameters, pulled](absl::string_view request) -> Answer {
         const absl::StatusOr<Keys> keys = DecodePull(request);
         if (!keys.ok()) return keys.status();
         *pulled = parameters.Get(*keys);
         return absl::string_view(reinterpret_cast<const char*>(pulled->data()), pulled->size() * sizeof(float));
       }},
  };
}

}  // namespace skein::parameters
