// Thrift's client socket, over Skein where the server takes it, over TCP where it does not: TSocket with the same
// constructors, setters and errors.
//
//     auto socket = std::make_shared<skein::thrift_transport::TSkeinSocket>("host", 9090);
//
// Written bytes go out by flush() (all generated code calls it), by the next read() or peek(), when more than 32 KiB
// have come together, or some milliseconds later (for a program that does not flush, later writes at once); so a
// message is one message of Skein's, without a TBufferedTransport on top, which would only copy once more. One thread
// may read while another writes; at a server, from the first read on.
#ifndef SKEIN_THRIFT_SOCKET_H_
#define SKEIN_THRIFT_SOCKET_H_

#include <skein/export.h>
#include <skein/thrift/options.h>
#include <thrift/transport/TSocket.h>
#include <thrift/transport/TVirtualTransport.h>

#include <chrono>
#include <memory>
#include <string>

namespace skein {
struct Fallback;
}

namespace skein::thrift_transport {

class SKEIN_EXPORT TSkeinSocket
    : public apache::thrift::transport::TVirtualTransport<TSkeinSocket, apache::thrift::transport::TSocket> {
 public:
  using Configuration = std::shared_ptr<apache::thrift::TConfiguration>;

  TSkeinSocket(const std::string& host, int port, const TSkeinOptions& options = {}, const Configuration& config = {});
  // A UNIX socket's path: Skein leaves such sockets as they are.
  explicit TSkeinSocket(const std::string& path, const TSkeinOptions& options = {}, const Configuration& config = {});
  // A server's socket of an accepted connection. It sees whether the client has Skein when the client has written
  // something. `interrupted`: see TServerSocket::interruptChildren.
  TSkeinSocket(THRIFT_SOCKET socket, const std::shared_ptr<THRIFT_SOCKET>& interrupted, const TSkeinOptions& options,
               const Configuration& config = {});
  ~TSkeinSocket() override;

  // Connects, and asks the server for Skein: it waits for the answer for as long as the option negotiation_timeout, the
  // connect timeout and the receive timeout all allow. After that it connects a second time, for TCP. With mode
  // require: TTransportException (NOT_OPEN) that says why there is none.
  void open() override;
  void close() override;
  bool peek() override;
  bool hasPendingDataToRead() override;
  uint32_t read(uint8_t* buf, uint32_t len) override;
  void write(const uint8_t* buf, uint32_t len) override;
  uint32_t write_partial(const uint8_t* buf, uint32_t len) override;
  void flush() override;
  const uint8_t* borrow(uint8_t* buf, uint32_t* len);
  void consume(uint32_t len);

  // To wait on, by the thread that reads: readable while there is something to read, the end included. Over a stream it
  // is a descriptor of its own, made at the first call, good for nothing but poll(2) and its kin, and closed with the
  // socket. TTransportException (UNKNOWN): there is none to be had. At a server, ask after the first read: before that
  // the socket does not know how the client's bytes come.
  //
  // Thrift's is not virtual: by a pointer to TSocket, or as `TSocket::getSocketFD()`, it is the TCP connection's, which
  // takes options and tells addresses, but is silent over a stream until the end.
  THRIFT_SOCKET getSocketFD();

  // How this connection runs: "shm", "rdma:...", "tcp"; empty before that is known.
  std::string getSkeinPath() const;
  // Why not by a better one; empty when there is none.
  std::string getSkeinReason() const;

  // Any thread: over Skein, reads that wait and all that are to come, until close(), throw TTransportException
  // (INTERRUPTED). Over TCP TServerSocket::interruptChildren does that.
  void interrupt();

 private:
  class SKEIN_PRIVATE Skein;

  std::chrono::steady_clock::time_point negotiationEnd() const;
  bool overStream();
  bool decide();
  bool decline(Fallback why);
  void refuse(const std::string& why);

  const std::unique_ptr<Skein> skein_;
  bool over_ = false;  // a client that was not served
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_SOCKET_H_
