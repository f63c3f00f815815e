// A server's connection whose client may speak of durable calls, or plain Thrift.
#ifndef SKEIN_THRIFT_TRANSPORT_PROTOCOL_SNIFFER_H_
#define SKEIN_THRIFT_TRANSPORT_PROTOCOL_SNIFFER_H_

#include <thrift/transport/TVirtualTransport.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace skein::thrift_transport {

// A transport whose first byte has been read by somebody else, and is there all the same.
class PeekedTransport final : public apache::thrift::transport::TVirtualTransport<PeekedTransport> {
 public:
  explicit PeekedTransport(std::shared_ptr<apache::thrift::transport::TTransport> transport);

  // Reads the first byte and puts it back. Waits for it; TTransportException (END_OF_FILE): there is none.
  uint8_t Look();
  const std::shared_ptr<apache::thrift::transport::TTransport>& below() const { return transport_; }

  bool isOpen() const override { return transport_->isOpen(); }
  bool peek() override { return first_.has_value() || transport_->peek(); }
  void open() override { transport_->open(); }
  void close() override { transport_->close(); }
  uint32_t read(uint8_t* buf, uint32_t len);
  void write(const uint8_t* buf, uint32_t len) { transport_->write(buf, len); }
  void flush() override { transport_->flush(); }
  const uint8_t* borrow(uint8_t* buf, uint32_t* len);
  void consume(uint32_t len) { transport_->consume(len); }
  const std::string getOrigin() const override { return transport_->getOrigin(); }

 private:
  const std::shared_ptr<apache::thrift::transport::TTransport> transport_;
  std::optional<uint8_t> first_;
};

// What the protocol of a server reads and writes: for an ordinary client what the ordinary factory has made.
class ProtocolSniffer final : public apache::thrift::transport::TVirtualTransport<ProtocolSniffer> {
 public:
  ProtocolSniffer(std::shared_ptr<apache::thrift::transport::TTransport> transport,
                  apache::thrift::transport::TTransportFactory& ordinary);

  // Waits for the first byte, the first time. Throws what the transport throws.
  bool IsDurable();
  // Reads the rest of the opening, and gives what is below. TTransportException (CORRUPTED_DATA): it is none.
  std::shared_ptr<apache::thrift::transport::TTransport> TakeDurable();

  bool isOpen() const override { return ordinary_->isOpen(); }
  bool peek() override { return ordinary_->peek(); }
  void open() override { ordinary_->open(); }
  void close() override { ordinary_->close(); }
  uint32_t read(uint8_t* buf, uint32_t len) { return ordinary_->read(buf, len); }
  uint32_t readAll(uint8_t* buf, uint32_t len) { return ordinary_->readAll(buf, len); }
  uint32_t readEnd() override { return ordinary_->readEnd(); }
  void write(const uint8_t* buf, uint32_t len) { ordinary_->write(buf, len); }
  uint32_t writeEnd() override { return ordinary_->writeEnd(); }
  void flush() override { ordinary_->flush(); }
  const uint8_t* borrow(uint8_t* buf, uint32_t* len) { return ordinary_->borrow(buf, len); }
  void consume(uint32_t len) { ordinary_->consume(len); }
  const std::string getOrigin() const override { return ordinary_->getOrigin(); }

 private:
  const std::shared_ptr<PeekedTransport> socket_;
  const std::shared_ptr<apache::thrift::transport::TTransport> ordinary_;  // on top of it
  std::optional<bool> durable_;
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_TRANSPORT_PROTOCOL_SNIFFER_H_
