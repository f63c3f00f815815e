// Statuses of durable calls as Thrift's exceptions, and levels by name.
#ifndef SKEIN_THRIFT_TRANSPORT_DURABLE_ERRORS_H_
#define SKEIN_THRIFT_TRANSPORT_DURABLE_ERRORS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "core/durable/storage/persistence.h"

namespace skein::thrift_transport {

// NOT_OPEN: nobody there, or not what was asked for; CORRUPTED_DATA: no such peer; UNKNOWN: all else, as a log that is
// full or a reply that is kept no more. The text says which.
[[noreturn]] void ThrowDurable(const absl::Status& status);

// Empty: none. TTransportException (BAD_ARGS): no such level.
std::optional<durable::Persistence> LevelOf(const std::string& name);

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_TRANSPORT_DURABLE_ERRORS_H_
