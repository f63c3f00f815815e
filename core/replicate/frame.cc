#include "core/replicate/frame.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/base/printable.h"
#include "core/wire/bytes.h"

namespace skein::replicate {
namespace {

enum class Kind : uint8_t { kHello = 1, kBegin = 2, kBlock = 3, kHave = 4, kFailed = 5 };

struct Fields {
  Kind kind{};
  uint8_t detail = 0;
  uint16_t length = 0;
  uint32_t member = 0;
  uint32_t number = 0;
  uint32_t zero = 0;
  uint64_t write = 0;
  uint64_t bytes = 0;
  bool operator==(const Fields&) const = default;
};
static_assert(sizeof(Fields) == kFrameBytes);

Fields FieldsOf(const Hello& hello) {
  return {.kind = Kind::kHello,
          .detail = static_cast<uint8_t>(hello.schedule),
          .length = kVersion,
          .member = hello.member,
          .number = hello.members,
          .write = hello.group};
}
Fields FieldsOf(const Begin& begin) {
  return {.kind = Kind::kBegin, .number = begin.block_bytes, .write = begin.write, .bytes = begin.bytes};
}
Fields FieldsOf(const Block& block) { return {.kind = Kind::kBlock, .number = block.number, .write = block.write}; }
Fields FieldsOf(const Have& have) { return {.kind = Kind::kHave, .member = have.member, .write = have.write}; }
Fields FieldsOf(const Failure& failure) {
  return {.kind = Kind::kFailed,
          .detail = static_cast<uint8_t>(failure.code),
          .length = failure.text_bytes,
          .member = failure.member};
}

std::optional<Frame> FrameOf(const Fields& fields) {
  switch (fields.kind) {
    case Kind::kHello:
      return Hello{fields.write, fields.number, fields.member, static_cast<ScheduleKind>(fields.detail)};
    case Kind::kBegin:
      return Begin{fields.write, fields.bytes, fields.number};
    case Kind::kBlock:
      return Block{fields.write, fields.number};
    case Kind::kHave:
      return Have{fields.write, fields.member};
    case Kind::kFailed:
      return Failure{fields.member, static_cast<absl::StatusCode>(fields.detail), fields.length};
  }
  return std::nullopt;
}

bool IsValid(const Hello& hello) {
  return hello.members >= 2 && hello.members <= kMaxMembers && hello.member < hello.members &&
         FindSchedule(hello.schedule) != nullptr;
}
bool IsValid(const Begin& begin) {
  return begin.write > 0 && begin.block_bytes > 0 && begin.bytes <= uint64_t{begin.block_bytes} * kMaxBlocks;
}
bool IsValid(const Block& block) { return block.write > 0 && block.number < kMaxBlocks; }
bool IsValid(const Have& have) { return have.write > 0 && have.member > 0 && have.member < kMaxMembers; }
bool IsValid(const Failure& failure) {
  return failure.member < kMaxMembers && failure.code != absl::StatusCode::kOk &&
         failure.code <= absl::StatusCode::kUnauthenticated && failure.text_bytes <= kMaxFailureText;
}

}  // namespace

std::string Encode(const Frame& frame) {
  std::string out;
  wire::Put(out, std::visit([](const auto& kind) { return FieldsOf(kind); }, frame));
  return out;
}

std::string EncodeFailure(uint32_t member, const absl::Status& status) {
  const absl::string_view text = status.message().substr(0, kMaxFailureText);
  return absl::StrCat(Encode(Failure{member, status.code(), static_cast<uint16_t>(text.size())}), text);
}

absl::StatusOr<Frame> Decode(absl::Span<const std::byte> bytes) {
  const std::string copy = wire::CopyOf(bytes);
  wire::FieldReader reader(copy);
  const auto fields = reader.Take<Fields>();
  if (!reader.done()) return absl::DataLossError("a frame has another size");
  const std::optional<Frame> frame = FrameOf(fields);
  if (!frame.has_value()) return absl::DataLossError("a frame of no known kind");
  // What a kind does not use is zero: encoded again, it is the same.
  if (Encode(*frame) != copy) return absl::DataLossError("a frame with a field that its kind does not have");
  if (!std::visit([](const auto& kind) { return IsValid(kind); }, *frame)) {
    return absl::DataLossError("a frame with a field out of its bounds");
  }
  return *frame;
}

absl::Status StatusOf(const Failure& failure, absl::string_view text) {
  return absl::Status(failure.code, Printable(std::string(text)));
}

}  // namespace skein::replicate
