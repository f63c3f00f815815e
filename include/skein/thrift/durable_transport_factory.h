// The transport factory of a server of durable calls: sees by a connection's first byte which kind of client it is.
#ifndef SKEIN_THRIFT_DURABLE_TRANSPORT_FACTORY_H_
#define SKEIN_THRIFT_DURABLE_TRANSPORT_FACTORY_H_

#include <skein/export.h>
#include <thrift/transport/TTransport.h>

#include <memory>

namespace skein::thrift_transport {

// For TSimpleServer, TThreadedServer and TThreadPoolServer; with any other than a TSkeinDurableProcessor, durable
// clients are turned away.
class SKEIN_EXPORT TSkeinDurableTransportFactory : public apache::thrift::transport::TTransportFactory {
 public:
  // `ordinary` makes what is between the socket and the protocol for clients whose calls are not durable; by default a
  // TBufferedTransport.
  explicit TSkeinDurableTransportFactory(
      const std::shared_ptr<apache::thrift::transport::TTransportFactory>& ordinary = {});

  std::shared_ptr<apache::thrift::transport::TTransport> getTransport(
      std::shared_ptr<apache::thrift::transport::TTransport> trans) override;

 private:
  const std::shared_ptr<apache::thrift::transport::TTransportFactory> ordinary_;
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_DURABLE_TRANSPORT_FACTORY_H_
