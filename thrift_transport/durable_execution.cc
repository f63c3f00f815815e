#include "thrift_transport/durable_execution.h"

#include <skein/thrift/durable_processor.h>
#include <thrift/TApplicationException.h>
#include <thrift/transport/TBufferTransports.h>

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace skein::thrift_transport {
namespace {

using apache::thrift::TApplicationException;
using apache::thrift::TProcessor;
using apache::thrift::protocol::TMessageType;
using apache::thrift::protocol::TProtocol;
using apache::thrift::protocol::TProtocolFactory;
using apache::thrift::transport::TMemoryBuffer;

thread_local const TSkeinDurableCall* current_call = nullptr;

std::shared_ptr<TMemoryBuffer> Over(absl::string_view bytes) {
  return std::make_shared<TMemoryBuffer>(reinterpret_cast<uint8_t*>(const_cast<char*>(bytes.data())),
                                         static_cast<uint32_t>(bytes.size()), TMemoryBuffer::OBSERVE);
}

std::string NameOf(const durable::ClientId& client) {
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(client.data()), client.size()));
}

}  // namespace

const TSkeinDurableCall* TSkeinDurableProcessor::currentCall() { return current_call; }

DurableExecution::DurableExecution(std::shared_ptr<TProcessor> processor, std::shared_ptr<TProtocolFactory> protocol)
    : processor_(std::move(processor)), protocol_(std::move(protocol)) {}

std::string DurableExecution::operator()(const durable::DurableCall& call) const {
  const TSkeinDurableCall named{NameOf(call.client), call.sequence};
  current_call = &named;
  const absl::Cleanup executed = [] { current_call = nullptr; };
  try {
    return Process(call);
  } catch (const std::exception& error) {
    return Refuse(call, error.what());
  } catch (...) {
    return Refuse(call, "the server's processor has thrown what is no std::exception");
  }
}

std::string DurableExecution::Process(const durable::DurableCall& call) const {
  const auto reply = std::make_shared<TMemoryBuffer>();
  processor_->process(protocol_->getProtocol(Over(call.request)), protocol_->getProtocol(reply), nullptr);
  return reply->getBufferAsString();
}

std::string DurableExecution::Refuse(const durable::DurableCall& call, const std::string& why) const {
  std::string name;
  TMessageType type = apache::thrift::protocol::T_CALL;
  int32_t id = 0;
  try {
    protocol_->getProtocol(Over(call.request))->readMessageBegin(name, type, id);
  } catch (const std::exception&) {  // no message; its client hears that, too
  }
  if (type == apache::thrift::protocol::T_ONEWAY) return {};
  const auto reply = std::make_shared<TMemoryBuffer>();
  const std::shared_ptr<TProtocol> protocol = protocol_->getProtocol(reply);
  const TApplicationException error(TApplicationException::INTERNAL_ERROR, why);
  protocol->writeMessageBegin(name, apache::thrift::protocol::T_EXCEPTION, id);
  error.write(protocol.get());
  protocol->writeMessageEnd();
  return reply->getBufferAsString();
}

}  // namespace skein::thrift_transport
