#include "examples/parameters/messages.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"

namespace skein::parameters {
namespace {

// `bytes` are a whole number of them.
template <typename T>
std::vector<T> AllOf(absl::string_view bytes) {
  std::vector<T> all(bytes.size() / sizeof(T));
  if (!all.empty()) std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

template <typename T>
void Append(std::string& to, const std::vector<T>& all) {
  to.append(reinterpret_cast<const char*>(all.data()), all.size() * sizeof(T));
}

bool Ascend(const Keys& keys) {
  return std::adjacent_find(keys.begin(), keys.end(), std::greater_equal<>()) == keys.end();
}

std::vector<Push> Split(absl::Span<const uint64_t> keys, absl::Span<const float> values, size_t servers) {
  std::vector<Push> parts(servers);
  for (size_t i = 0; i < keys.size(); ++i) {
    Push& part = parts[keys[i] % servers];
    part.keys.push_back(keys[i]);
    if (!values.empty()) part.values.push_back(values[i]);
  }
  return parts;
}

}  // namespace

absl::StatusOr<Push> DecodePush(absl::string_view request) {
  constexpr size_t kPair = sizeof(uint64_t) + sizeof(float);
  uint64_t count = 0;
  if (request.size() < sizeof(count)) return absl::InvalidArgumentError("a push without its count");
  std::memcpy(&count, request.data(), sizeof(count));
  request.remove_prefix(sizeof(count));
  if (request.size() % kPair != 0 || request.size() / kPair != count)
    return absl::InvalidArgumentError("a push that is not as long as it says");
  Push push = {AllOf<uint64_t>(request.substr(0, count * sizeof(uint64_t))),
               AllOf<float>(request.substr(count * sizeof(uint64_t)))};
  if (!Ascend(push.keys)) return absl::InvalidArgumentError("keys that do not ascend");
  if (!absl::c_all_of(push.values, [](float value) { return std::isfinite(value); }))
    return absl::InvalidArgumentError("a value that is no number");
  return push;
}

absl::StatusOr<Keys> DecodePull(absl::string_view request) {
  if (request.size() % sizeof(uint64_t) != 0) return absl::InvalidArgumentError("a pull with a part of a key");
  Keys keys = AllOf<uint64_t>(request);
  if (!Ascend(keys)) return absl::InvalidArgumentError("keys that do not ascend");
  return keys;
}

std::vector<std::string> PushRequests(absl::Span<const uint64_t> keys, absl::Span<const float> values, size_t servers) {
  std::vector<std::string> requests;
  for (const Push& part : Split(keys, values, servers)) {
    const uint64_t count = part.keys.size();
    std::string& request = requests.emplace_back(reinterpret_cast<const char*>(&count), sizeof(count));
    Append(request, part.keys);
    Append(request, part.values);
  }
  return requests;
}

std::vector<std::string> PullRequests(absl::Span<const uint64_t> keys, size_t servers) {
  std::vector<std::string> requests;
  for (const Push& part : Split(keys, {}, servers)) Append(requests.emplace_back(), part.keys);
  return requests;
}

absl::StatusOr<Values> Join(absl::Span<const uint64_t> keys, absl::Span<const std::string> replies) {
  std::vector<absl::string_view> left(replies.begin(), replies.end());
  Values values(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    absl::string_view& reply = left[keys[i] % left.size()];
    if (reply.size() < sizeof(float)) return absl::DataLossError("a server told fewer values than were asked for");
    std::memcpy(&values[i], reply.data(), sizeof(float));
    reply.remove_prefix(sizeof(float));
  }
  if (!absl::c_all_of(left, [](absl::string_view reply) { return reply.empty(); }))
    return absl::DataLossError("a server told more values than were asked for");
  return values;
}

}  // namespace skein::parameters
