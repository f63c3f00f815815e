#include "thrift_transport/protocol_sniffer.h"

#include <utility>

#include "thrift_transport/durable_line.h"

namespace skein::thrift_transport {

using apache::thrift::transport::TTransport;
using apache::thrift::transport::TTransportException;
using apache::thrift::transport::TTransportFactory;

PeekedTransport::PeekedTransport(std::shared_ptr<TTransport> transport) : transport_(std::move(transport)) {}

uint8_t PeekedTransport::Look() {
  uint8_t first = 0;
  if (transport_->read(&first, 1) == 0) {
    throw TTransportException(TTransportException::END_OF_FILE, "skein: the client has said nothing");
  }
  first_ = first;
  return first;
}

uint32_t PeekedTransport::read(uint8_t* buf, uint32_t len) {
  if (!first_.has_value() || len == 0) return transport_->read(buf, len);
  *buf = *std::exchange(first_, std::nullopt);
  return 1;
}

const uint8_t* PeekedTransport::borrow(uint8_t* buf, uint32_t* len) {
  return first_.has_value() ? nullptr : transport_->borrow(buf, len);
}

ProtocolSniffer::ProtocolSniffer(std::shared_ptr<TTransport> transport, TTransportFactory& ordinary)
    : socket_(std::make_shared<PeekedTransport>(std::move(transport))), ordinary_(ordinary.getTransport(socket_)) {}

bool ProtocolSniffer::IsDurable() {
  if (!durable_.has_value()) durable_ = socket_->Look() == static_cast<uint8_t>(kDurableOpening[0]);
  return *durable_;
}

std::shared_ptr<TTransport> ProtocolSniffer::TakeDurable() {
  std::string opening(kDurableOpening.size(), '\0');
  socket_->readAll(reinterpret_cast<uint8_t*>(opening.data()), static_cast<uint32_t>(opening.size()));
  if (opening != kDurableOpening) {
    throw TTransportException(TTransportException::CORRUPTED_DATA, "skein: neither Thrift nor durable calls");
  }
  return socket_->below();
}

}  // namespace skein::thrift_transport
