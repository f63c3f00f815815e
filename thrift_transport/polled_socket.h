// A connection of TNonblockingServer's: a TSocket whose descriptor polls truthfully, by libevent or whatever else, also
// when its bytes come over a stream.
//
// Its descriptor is then an eventfd (core/stream/readiness.h): readable while there is something to read (the end
// included), not writable while nothing can be written.
#ifndef SKEIN_THRIFT_TRANSPORT_POLLED_SOCKET_H_
#define SKEIN_THRIFT_TRANSPORT_POLLED_SOCKET_H_

#include <thrift/transport/TSocket.h>

#include <memory>

#include "absl/status/statusor.h"
#include "core/stream/stream.h"
#include "core/wait/wait_set.h"
#include "thrift_transport/arrived.h"
#include "thrift_transport/path_list.h"
#include "thrift_transport/write_after_the_end.h"

namespace skein::thrift_transport {

class PolledSocket final : public apache::thrift::transport::TSocket {
 public:
  explicit PolledSocket(THRIFT_SOCKET socket) : TSocket(socket) {}
  ~PolledSocket() override;

  // By who has accepted it, before the server hears of it: goes on over `stream`. False: there is no descriptor left,
  // or the kernel has no memory to watch it.
  bool Adopt(std::shared_ptr<stream::Stream> stream, std::shared_ptr<wait::WaitSet> space);
  void List(ListedPath listed) { listed_ = std::move(listed); }

  // A read that would block throws "retry", which TNonblockingServer knows.
  uint32_t read(uint8_t* buf, uint32_t len) override;
  uint32_t write_partial(const uint8_t* buf, uint32_t len) override;
  bool hasPendingDataToRead() override;
  bool peek() override;
  void close() override;

 private:
  class Told;

  bool Fill();
  absl::StatusOr<size_t> WriteSome(stream::ConstBytes bytes);

  // The owner's, once socket_ is the eventfd.
  int tcp_ = -1;
  std::shared_ptr<stream::Stream> stream_;
  std::shared_ptr<Told> told_;
  std::shared_ptr<wait::WaitSet> space_;
  std::shared_ptr<wait::NegotiationConnection> liveness_;
  ListedPath listed_;
  Arrived arrived_;
  bool ended_ = false;
  WriteAfterTheEnd after_the_end_;
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_TRANSPORT_POLLED_SOCKET_H_
