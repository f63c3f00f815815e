// How a connection of Thrift's becomes a stream. A client says hello before anything else, which no Thrift protocol
// begins like; a server looks at the first byte of each connection.
//
//     hello:  A5 | CR LF | a frame (core/connect/frame.h) with the offer
//     answer: a frame
//
// The line's end is for servers that speak HTTP, which would wait for one before they say no.
#ifndef SKEIN_THRIFT_TRANSPORT_HELLO_H_
#define SKEIN_THRIFT_TRANSPORT_HELLO_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/deadline.h"
#include "core/connect/frame.h"
#include "core/stream/connector.h"
#include "thrift_transport/runtime.h"

namespace skein::thrift_transport {

// A UNIX socket's path is never Skein's: TTransportException (BAD_ARGS) where that is required.
void CheckAddress(const Options& options, bool is_path);

// What became of a connection.
struct Greeted {
  std::shared_ptr<stream::Stream> stream;
  Fallback why;  // without a stream: why there is none; with one: why none of a better fabric
  // Without a stream: whether the peer takes this connection for Thrift's own now.
  bool goes_on = false;
  // Whether the server is one without Skein, as far as can be seen.
  bool plain = false;
};

// The client's end, on a connected socket. Blocks for as long as the negotiation may take, until `deadline` at most.
Greeted SayHello(int fd, const Options& options, Deadline deadline);

// The server's end.
enum class First : uint8_t { kNothing, kEnd, kHello, kOther };
// The first byte that lies in the socket, which stays there.
First LookAtFirst(int fd);

// A hello, as it comes.
class HelloReader {
 public:
  // Takes what has come. True: it is whole or broken, and Answer is next. UNAVAILABLE: the connection has ended.
  absl::StatusOr<bool> Read(int fd);
  // Judges it and answers.
  Greeted Answer(int fd, const Options& options);

 private:
  std::string bytes_;
  connect::Parsed parsed_;  // of what is behind the opening
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_TRANSPORT_HELLO_H_
