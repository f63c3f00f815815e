// Calls that their program has marked as durable, on the way from the mark to the channel's interceptor.
#ifndef SKEIN_GRPC_TRANSPORT_DURABLE_MARKS_H_
#define SKEIN_GRPC_TRANSPORT_DURABLE_MARKS_H_

#include <skein/grpc_durable.h>

#include <string>

namespace skein::grpc_transport {

// Of a marked context, its value a mark's number. It goes nowhere.
inline constexpr char kMarkMetadata[] = "skein-durable-mark";

// Who is to hear; empty if there is no such mark, or it has been taken.
OnPersisted TakeMark(const std::string& number);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_DURABLE_MARKS_H_
