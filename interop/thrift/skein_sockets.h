// Forced in front of each source of Thrift's own test programs, unchanged, in their Skein variant: the sockets they
// make are then Skein's. Generated code and Thrift's headers must not see these macros, so all headers that speak of
// sockets come first.
#pragma once

#include <skein/thrift/nonblocking_server_socket.h>
#include <skein/thrift/server_socket.h>
#include <skein/thrift/socket.h>
#include <thrift/server/TNonblockingServer.h>
#include <thrift/transport/TNonblockingSSLServerSocket.h>
#include <thrift/transport/TNonblockingServerSocket.h>
#include <thrift/transport/TSSLServerSocket.h>
#include <thrift/transport/TSSLSocket.h>
#include <thrift/transport/TServerSocket.h>
#include <thrift/transport/TSocket.h>
#include <thrift/transport/TWebSocketServer.h>

// The sources name the classes with their namespace, or by a using-directive for it.
namespace apache::thrift::transport {
using skein::thrift_transport::TSkeinNonblockingServerSocket;
using skein::thrift_transport::TSkeinServerSocket;
using skein::thrift_transport::TSkeinSocket;
}  // namespace apache::thrift::transport

#ifdef SKEIN_SWAP_NEW
// Of the non-blocking sockets the program makes one with TLS or one without in a conditional expression: the latter's
// pointer must become one to what both are.
namespace skein_sockets {
struct AsThrifts {};
inline apache::thrift::transport::TNonblockingServerSocket* operator|(
    apache::thrift::transport::TNonblockingServerSocket* socket, AsThrifts) {
  return socket;
}
}  // namespace skein_sockets

// Only `new TSocket(...)`: the program keeps TLS sockets in pointers of the same type.
#define TSocket(...) TSkeinSocket(__VA_ARGS__)
#define TServerSocket(...) TSkeinServerSocket(__VA_ARGS__)
#define TNonblockingServerSocket(...) TSkeinNonblockingServerSocket(__VA_ARGS__) | skein_sockets::AsThrifts()
#else
#define TSocket TSkeinSocket
#define TServerSocket TSkeinServerSocket
#define TNonblockingServerSocket TSkeinNonblockingServerSocket
#endif
