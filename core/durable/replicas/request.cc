#include "core/durable/replicas/request.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/printable.h"
#include "core/wire/bytes.h"

namespace skein::durable {
namespace {

constexpr uint16_t kVersion = 1;
constexpr size_t kMostText = 1024;

void Put(std::string& out, const Term& term) {
  wire::Put(out, term.number);
  wire::Put(out, term.id);
}
Term TakeTerm(wire::FieldReader& reader) {
  Term term;
  term.number = reader.Take<uint64_t>();
  term.id = reader.Take<decltype(term.id)>();
  return term;
}

absl::Status Broken(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("the other end sends what is no ", what, ", or is of another version"));
}

}  // namespace

std::string EncodeRequest(const ReplicaRequest& request) {
  std::string out;
  wire::Put(out, kVersion);
  wire::Put(out, static_cast<uint8_t>(request.verb));
  wire::Put(out, request.identity);
  wire::Put(out, request.bytes);
  Put(out, request.term);
  wire::Put(out, request.run);
  wire::Put(out, request.logs);
  wire::Put(out, request.acknowledge);
  wire::Put(out, request.group);
  return out + request.offer;
}

absl::StatusOr<ReplicaRequest> DecodeRequest(absl::string_view bytes) {
  wire::FieldReader reader(bytes);
  ReplicaRequest request;
  const auto version = reader.Take<uint16_t>();
  const auto verb = reader.Take<uint8_t>();
  request.verb = static_cast<ReplicaVerb>(verb);
  request.identity = reader.Take<LogId>();
  request.bytes = reader.Take<uint64_t>();
  request.term = TakeTerm(reader);
  request.run = reader.Take<uint64_t>();
  request.logs = reader.Take<uint32_t>();
  request.acknowledge = reader.Take<uint32_t>();
  request.group = reader.Take<uint64_t>();
  request.offer = std::string(reader.TakeRest());
  const bool known =
      verb >= static_cast<uint8_t>(ReplicaVerb::kFollow) && verb <= static_cast<uint8_t>(ReplicaVerb::kPromise);
  const bool counts = request.verb != ReplicaVerb::kFollow ||
                      (request.acknowledge >= 1 && request.acknowledge <= request.logs && request.run != 0);
  if (!reader.done() || version != kVersion || !known || !counts) return Broken("request of a replica");
  return request;
}

std::string EncodeAnswer(const ReplicaAnswer& answer) {
  std::string out;
  wire::Put(out, kVersion);
  wire::Put(out, static_cast<uint8_t>(answer.status.code()));
  const absl::string_view text = answer.status.message().substr(0, kMostText);
  wire::Put(out, static_cast<uint16_t>(text.size()));
  out.append(text.data(), text.size());
  Put(out, answer.standing.promised);
  Put(out, answer.standing.content);
  wire::Put(out, answer.standing.logs);
  wire::Put(out, answer.standing.acknowledge);
  wire::Put(out, static_cast<uint8_t>(answer.level));
  wire::Put(out, static_cast<uint8_t>(answer.has.has_value()));
  wire::Put(out, answer.has.value_or(0));
  wire::Put(out, answer.epoch);
  wire::Put(out, answer.tail);
  return out + answer.answer;
}

absl::StatusOr<ReplicaAnswer> DecodeAnswer(absl::string_view bytes) {
  wire::FieldReader reader(bytes);
  ReplicaAnswer answer;
  const auto version = reader.Take<uint16_t>();
  const auto code = reader.Take<uint8_t>();
  const auto text_bytes = reader.Take<uint16_t>();
  const absl::string_view text = reader.TakeBytes(text_bytes);
  answer.standing.promised = TakeTerm(reader);
  answer.standing.content = TakeTerm(reader);
  answer.standing.logs = reader.Take<uint32_t>();
  answer.standing.acknowledge = reader.Take<uint32_t>();
  answer.level = static_cast<Persistence>(reader.Take<uint8_t>());
  const auto has = reader.Take<uint8_t>();
  const auto number = reader.Take<uint64_t>();
  if (has == 1) answer.has = number;
  answer.epoch = reader.Take<uint32_t>();
  answer.tail = reader.Take<uint64_t>();
  answer.answer = std::string(reader.TakeRest());
  const bool sound = version == kVersion && code <= static_cast<uint8_t>(absl::StatusCode::kUnauthenticated) &&
                     text_bytes <= kMostText && has <= 1;
  if (!reader.done() || !sound) return Broken("replica's answer");
  if (code != 0) answer.status = absl::Status(static_cast<absl::StatusCode>(code), Printable(std::string(text)));
  return answer;
}

}  // namespace skein::durable
