// A server's write after its client has closed the connection succeeds once, and is dropped.
#ifndef SKEIN_THRIFT_TRANSPORT_WRITE_AFTER_THE_END_H_
#define SKEIN_THRIFT_TRANSPORT_WRITE_AFTER_THE_END_H_

#include <utility>

namespace skein::thrift_transport {

// Over TCP the kernel takes the first write behind a client's close. The client's kernel answers with a reset, which
// makes all later writes fail. (A TSocket sends the reset with its close: the write fails once that has arrived.)
// Thrift's servers end a connection whose write fails. If the first write failed, the server would not execute calls
// that the client had sent before its close without waiting for replies. A client's write fails at once, for the client
// gains nothing by a message that is lost.
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
