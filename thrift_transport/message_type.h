// What kind of message Thrift's protocols have written.
#ifndef SKEIN_THRIFT_TRANSPORT_MESSAGE_TYPE_H_
#define SKEIN_THRIFT_TRANSPORT_MESSAGE_TYPE_H_

#include "absl/strings/string_view.h"

namespace skein::thrift_transport {

// Whether nobody reads a reply to this. Known of the binary, compact and JSON protocols; false for others.
bool IsOneway(absl::string_view message);

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_TRANSPORT_MESSAGE_TYPE_H_
