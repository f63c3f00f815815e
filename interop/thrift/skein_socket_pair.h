// Forced in front of Thrift's TransportTest, unchanged: where it makes two sockets of a socketpair's ends, they are the
// two ends of a connection between Skein's sockets.
#pragma once

#include <skein/thrift/server_socket.h>
#include <skein/thrift/socket.h>
#include <thrift/transport/PlatformSocket.h>
#include <thrift/transport/TSocket.h>
#include <thrift/transport/TVirtualTransport.h>

#include <array>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

namespace skein_socket_pair {

using apache::thrift::transport::TSocket;
using apache::thrift::transport::TTransport;

// The ends made last, until an End takes them.
inline std::array<std::shared_ptr<TTransport>, 2>& Made() {
  static std::array<std::shared_ptr<TTransport>, 2> made;
  return made;
}

// As socketpair; but the numbers are for End.
inline int Make(int* ends) {
  skein::thrift_transport::TSkeinServerSocket server("127.0.0.1", 0);
  server.setInterruptableChildren(false);  // the connection outlives it
  server.listen();
  const auto client = std::make_shared<skein::thrift_transport::TSkeinSocket>("127.0.0.1", server.getPort());
  // The server negotiates when it reads.
  std::thread opener([&client] {
    client->open();
    client->write(reinterpret_cast<const uint8_t*>("!"), 1);
    client->flush();
  });
  const std::shared_ptr<TTransport> accepted = server.accept();
  uint8_t first = 0;
  accepted->readAll(&first, 1);
  opener.join();
  // The test does this to the End, which is not what sends, with 100 ms. The one thread here writes and then reads;
  // where a write waits for the reader's credits, another thread returns them, and needs a processor to do it.
  client->setSendTimeout(1000);
  Made() = {accepted, client};
  ends[0] = 0;
  ends[1] = 1;
  return 0;
}

class End : public apache::thrift::transport::TVirtualTransport<End, TSocket> {
 public:
  explicit End(int number) : end_(std::move(Made()[number])) {}

  bool isOpen() const override { return end_->isOpen(); }
  bool peek() override { return end_->peek(); }
  void close() override { end_->close(); }
  uint32_t read(uint8_t* buf, uint32_t len) override { return end_->read(buf, len); }
  void write(const uint8_t* buf, uint32_t len) override { end_->write(buf, len); }
  void flush() override { end_->flush(); }
  const uint8_t* borrow(uint8_t* buf, uint32_t* len) { return end_->borrow(buf, len); }
  void consume(uint32_t len) { end_->consume(len); }

 private:
  const std::shared_ptr<TTransport> end_;
};

}  // namespace skein_socket_pair

#undef THRIFT_SOCKETPAIR
#define THRIFT_SOCKETPAIR(domain, type, protocol, ends) skein_socket_pair::Make(ends)
#define TSocket(number) skein_socket_pair::End(number)
