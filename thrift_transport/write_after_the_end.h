// What a server's write means once its client has closed the connection: as over TCP.
#ifndef SKEIN_THRIFT_TRANSPORT_WRITE_AFTER_THE_END_H_
#define SKEIN_THRIFT_TRANSPORT_WRITE_AFTER_THE_END_H_

#include <utility>

namespace skein::thrift_transport {

// The kernel takes the first write behind a client's close, and the reset that answers it makes all later ones fail.
// Thrift's servers end a connection whose write fails: were the first one to fail, calls that the client had sent
// before its close, without waiting for replies, would not be executed. A client's write fails at once: there nothing
// is gained by a message that is lost.
//
// The writer's.
class WriteAfterTheEnd {
 public:
  // Whether a write that would fail is taken all the same, and dropped.
  bool TakesOne() { return !std::exchange(taken_, true); }

 private:
  bool taken_ = false;
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_TRANSPORT_WRITE_AFTER_THE_END_H_
