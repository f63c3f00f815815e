#include "thrift_transport/durable_errors.h"

#include <thrift/transport/TTransportException.h>

#include "absl/strings/str_cat.h"

namespace skein::thrift_transport {
namespace {

using apache::thrift::transport::TTransportException;

TTransportException::TTransportExceptionType TypeOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kFailedPrecondition:
      return TTransportException::NOT_OPEN;
    case absl::StatusCode::kInvalidArgument:
      return TTransportException::CORRUPTED_DATA;
    default:
      return TTransportException::UNKNOWN;
  }
}

}  // namespace

void ThrowDurable(const absl::Status& status) {
  throw TTransportException(TypeOf(status.code()), absl::StrCat("skein: ", status.message()));
}

std::optional<durable::Persistence> LevelOf(const std::string& name) {
  if (name.empty()) return std::nullopt;
  const std::optional<durable::Persistence> level = durable::PersistenceOf(name);
  if (!level.has_value()) {
    throw TTransportException(
        TTransportException::BAD_ARGS,
        absl::StrCat("skein: '", name,
                     "' is no level of durable calls: visible, cpu-flushed, flushed, persistent, emulated"));
  }
  return level;
}

}  // namespace skein::thrift_transport
