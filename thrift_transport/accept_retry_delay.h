#ifndef SKEIN_THRIFT_TRANSPORT_ACCEPT_RETRY_DELAY_H_
#define SKEIN_THRIFT_TRANSPORT_ACCEPT_RETRY_DELAY_H_

#include <chrono>

namespace skein::thrift_transport {

// What cannot be accepted for want of descriptors or memory is tried again after so long: nothing tells when there are
// some again.
inline constexpr std::chrono::milliseconds kAcceptRetryDelay{100};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_TRANSPORT_ACCEPT_RETRY_DELAY_H_
