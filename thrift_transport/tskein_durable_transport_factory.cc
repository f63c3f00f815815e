#include <skein/thrift/durable_transport_factory.h>
#include <thrift/transport/TBufferTransports.h>

#include <utility>

#include "thrift_transport/protocol_sniffer.h"

namespace skein::thrift_transport {

using apache::thrift::transport::TBufferedTransportFactory;
using apache::thrift::transport::TTransport;
using apache::thrift::transport::TTransportFactory;

TSkeinDurableTransportFactory::TSkeinDurableTransportFactory(const std::shared_ptr<TTransportFactory>& ordinary)
    : ordinary_(ordinary != nullptr ? ordinary : std::make_shared<TBufferedTransportFactory>()) {}

std::shared_ptr<TTransport> TSkeinDurableTransportFactory::getTransport(std::shared_ptr<TTransport> trans) {
  return std::make_shared<ProtocolSniffer>(std::move(trans), *ordinary_);
}

}  // namespace skein::thrift_transport
