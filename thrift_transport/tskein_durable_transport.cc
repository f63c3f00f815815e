#include <skein/thrift/durable_transport.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "thrift_transport/durable_client.h"

namespace skein::thrift_transport {

using apache::thrift::TConfiguration;
using apache::thrift::transport::TTransportException;

TSkeinDurableTransport::TSkeinDurableTransport(Connect connect, const TSkeinDurableClientOptions& options,
                                               const std::shared_ptr<TConfiguration>& config)
    : TVirtualTransport(config),
      client_(std::make_unique<DurableClient>(std::move(connect), options,
                                              static_cast<uint64_t>(std::max(getMaxMessageSize(), 0)))) {}

TSkeinDurableTransport::~TSkeinDurableTransport() = default;

void TSkeinDurableTransport::open() {
  if (isOpen()) return;
  written_.clear();
  reply_.clear();
  taken_ = 0;
  client_->Open();
}

void TSkeinDurableTransport::close() { client_->Close(); }
bool TSkeinDurableTransport::isOpen() const { return client_->open(); }

uint32_t TSkeinDurableTransport::read(uint8_t* buf, uint32_t len) {
  checkReadBytesAvailable(len);
  if (taken_ == reply_.size()) {
    reply_ = client_->TakeReply();
    taken_ = 0;
  }
  const size_t size = std::min<size_t>(len, reply_.size() - taken_);
  std::memcpy(buf, reply_.data() + taken_, size);
  taken_ += size;
  return static_cast<uint32_t>(size);
}

// What is left of a reply is no part of the next.
uint32_t TSkeinDurableTransport::readEnd() {
  const auto size = static_cast<uint32_t>(reply_.size());
  taken_ = reply_.size();
  return size;
}

void TSkeinDurableTransport::write(const uint8_t* buf, uint32_t len) {
  if (!isOpen()) throw TTransportException(TTransportException::NOT_OPEN, "skein: write on a transport that is closed");
  written_.append(reinterpret_cast<const char*>(buf), len);
}

void TSkeinDurableTransport::flush() {
  if (written_.empty()) return;
  client_->Call(std::exchange(written_, {}));
}

uint64_t TSkeinDurableTransport::lastCall() const { return client_->last_call(); }
std::string TSkeinDurableTransport::waitPersisted() { return client_->WaitPersisted(); }
void TSkeinDurableTransport::onPersisted(OnPersisted callback) { client_->SetOnPersisted(std::move(callback)); }

}  // namespace skein::thrift_transport
