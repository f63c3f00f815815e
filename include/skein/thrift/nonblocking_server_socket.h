// Thrift's server socket for TNonblockingServer: TNonblockingServerSocket whose connections may run over Skein. Clients
// with and without Skein come to the same port.
//
//     auto socket = std::make_shared<skein::thrift_transport::TSkeinNonblockingServerSocket>(9090);
//
// The server is given a connection when that has said something: its event handler's createContext is called then. The
// accept callback is called on a thread of this socket's, which may not close it there.
#ifndef SKEIN_THRIFT_NONBLOCKING_SERVER_SOCKET_H_
#define SKEIN_THRIFT_NONBLOCKING_SERVER_SOCKET_H_

#include <skein/export.h>
#include <skein/thrift/options.h>
#include <thrift/transport/TNonblockingServerSocket.h>

#include <cstdint>
#include <memory>
#include <string>

namespace skein::thrift_transport {

class Acceptor;

// As TNonblockingServerSocket.
class SKEIN_EXPORT TSkeinNonblockingServerSocket : public apache::thrift::transport::TNonblockingServerSocket {
 public:
  explicit TSkeinNonblockingServerSocket(int port, const TSkeinOptions& options = {});
  TSkeinNonblockingServerSocket(int port, int sendTimeout, int recvTimeout, const TSkeinOptions& options = {});
  TSkeinNonblockingServerSocket(const std::string& address, int port, const TSkeinOptions& options = {});
  explicit TSkeinNonblockingServerSocket(const std::string& path, const TSkeinOptions& options = {});
  ~TSkeinNonblockingServerSocket() override;

  // TTransportException: NOT_OPEN; BAD_ARGS, an option is wrong.
  void listen() override;
  void close() override;
  // Readable while a connection can be accepted. The caller may close it, as TNonblockingServer does with what it has
  // been given, or leave that to this.
  THRIFT_SOCKET getSocketFD() override;

 protected:
  std::shared_ptr<apache::thrift::transport::TSocket> acceptImpl() override;
  std::shared_ptr<apache::thrift::transport::TSocket> createSocket(THRIFT_SOCKET client) override;

 private:
  bool readyIsOurs() const;
  // Why not; empty: done.
  std::string makePair();
  std::string startAcceptor();
  void forgetPair();

  const TSkeinOptions options_;
  // A socket pair: what the acceptor tells, and where it arrives. A server that has been given its end goes on to poll
  // it when this is closed: so it stays, and is quiet.
  THRIFT_SOCKET tell_ = THRIFT_INVALID_SOCKET;
  THRIFT_SOCKET ready_ = THRIFT_INVALID_SOCKET;
  uint64_t readyInode_ = 0;  // of `ready_`: what has another one there is not ours
  // Null: mode off, not listening, or refused a thread or a descriptor: then connections are Thrift's own.
  std::unique_ptr<Acceptor> acceptor_;
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_NONBLOCKING_SERVER_SOCKET_H_
