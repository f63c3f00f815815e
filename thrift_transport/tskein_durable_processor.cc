#include <skein/thrift/durable_processor.h>
#include <thrift/transport/TSSLSocket.h>
#include <thrift/transport/TSocket.h>
#include <thrift/transport/TTransportException.h>

#include <algorithm>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/base/mutex.h"
#include "core/durable/calls/call_service.h"
#include "core/durable/replicas/open_replicated.h"
#include "thrift_transport/durable_connection.h"
#include "thrift_transport/durable_errors.h"
#include "thrift_transport/durable_execution.h"
#include "thrift_transport/durable_processor_on.h"
#include "thrift_transport/protocol_sniffer.h"

namespace skein::thrift_transport {
namespace {

using apache::thrift::TProcessor;
using apache::thrift::protocol::TProtocol;
using apache::thrift::protocol::TProtocolFactory;
using apache::thrift::transport::TSocket;
using apache::thrift::transport::TSSLSocket;
using apache::thrift::transport::TTransport;
using apache::thrift::transport::TTransportException;

// What may wait for a client that does not read: more than the log keeps for it.
constexpr uint64_t kMostUnsent = 1 << 20;

[[noreturn]] void RefuseOption(absl::string_view why) {
  throw TTransportException(TTransportException::BAD_ARGS, absl::StrCat("skein: ", why));
}

[[noreturn]] void Refuse(const std::string& path, absl::string_view why) {
  throw TTransportException(TTransportException::NOT_OPEN, absl::StrCat("skein: the redo log ", path, ": ", why));
}

std::unique_ptr<durable::Storage> StorageOf(const TSkeinDurableServerOptions& options) {
  absl::StatusOr<std::unique_ptr<durable::Storage>> storage =
      durable::OpenReplicatedStorage(options.path, options.bytes,
                                     {.replicas = options.replicas,
                                      .acknowledge = options.acknowledge,
                                      .patience = absl::FromChrono(options.replica_patience)});
  if (absl::IsInvalidArgument(storage.status())) RefuseOption(storage.status().message());
  if (!storage.ok()) Refuse(options.path, storage.status().message());
  return *std::move(storage);
}

durable::CallServiceOptions ServiceOptionsOf(const TSkeinDurableServerOptions& options) {
  if (options.threads < 1) RefuseOption("durable calls need a thread that executes them");
  durable::CallServiceOptions out;
  out.threads = options.threads;
  out.ledger.overlap = options.overlap;
  out.ledger.slow_requests = options.slow_requests;
  out.ledger.kept_outcomes = options.kept_outcomes;
  out.ledger.kept_for = absl::FromChrono(options.kept_for);
  out.ledger.clients = options.clients;
  out.ledger.client_expiry = absl::FromChrono(options.client_expiry);
  return out;
}

std::unique_ptr<durable::CallService> Open(const TSkeinDurableServerOptions& options,
                                           std::unique_ptr<durable::Storage> storage, DurableExecution execution) {
  const std::optional<durable::Persistence> required = LevelOf(options.required);
  const durable::Persistence level = storage->persistence();
  if (required.has_value() && !durable::Gives(level, *required)) {
    Refuse(options.path, absl::StrCat("is ", durable::PersistenceName(level), ", not ", options.required,
                                      ": put it on a volume that keeps what is flushed"));
  }
  absl::StatusOr<std::unique_ptr<durable::CallService>> service =
      durable::CallService::Open(std::move(storage), ServiceOptionsOf(options), std::move(execution));
  if (absl::IsInvalidArgument(service.status())) RefuseOption(service.status().message());
  if (!service.ok()) Refuse(options.path, service.status().message());
  return *std::move(service);
}

}  // namespace

class TSkeinDurableProcessor::Impl {
 public:
  Impl(std::shared_ptr<TProcessor> inner, std::shared_ptr<TProtocolFactory> protocol,
       const TSkeinDurableServerOptions& options, std::unique_ptr<durable::Storage> storage)
      : inner_(std::move(inner)),
        most_unsent_(storage->size() + kMostUnsent),
        service_(Open(options, std::move(storage), DurableExecution(inner_, std::move(protocol)))) {
    service_->Start();
  }
  ~Impl() { Stop(); }

  TProcessor& inner() { return *inner_; }
  const durable::CallService& service() const { return *service_; }

  void Serve(const std::shared_ptr<TTransport>& transport) ABSL_LOCKS_EXCLUDED(mu_) {
    if (dynamic_cast<TSocket*>(transport.get()) == nullptr || dynamic_cast<TSSLSocket*>(transport.get()) != nullptr) {
      throw TTransportException(TTransportException::BAD_ARGS,
                                "skein: durable calls come over TSocket or TSkeinSocket, and not over TLS");
    }
    DurableConnection connection(transport, service_->largest_request() + durable::kMessageOverhead,
                                 {.unsent = most_unsent_});
    {
      const MutexLock lock(&mu_);
      if (stopped_) return;
      connections_.insert(&connection);
    }
    const absl::Cleanup served = [&] {
      const MutexLock lock(&mu_);
      connections_.erase(&connection);
    };
    connection.Serve(*service_);
  }

  void Stop() ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock stopping(&stop_mu_);
    {
      const MutexLock lock(&mu_);
      stopped_ = true;
    }
    service_->Stop();
    const MutexLock lock(&mu_);
    for (DurableConnection* connection : connections_) connection->End();
  }

 private:
  const std::shared_ptr<TProcessor> inner_;
  const uint64_t most_unsent_;
  const std::unique_ptr<durable::CallService> service_;
  Mutex stop_mu_;  // before mu_
  Mutex mu_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  absl::flat_hash_set<DurableConnection*> connections_ ABSL_GUARDED_BY(mu_);
};

TSkeinDurableProcessor::TSkeinDurableProcessor(const std::shared_ptr<TProcessor>& inner,
                                               std::shared_ptr<TProtocolFactory> protocol,
                                               const TSkeinDurableServerOptions& options)
    : TSkeinDurableProcessor(std::make_unique<Impl>(inner, std::move(protocol), options, StorageOf(options))) {}
TSkeinDurableProcessor::TSkeinDurableProcessor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

std::shared_ptr<TSkeinDurableProcessor> DurableProcessorOn(std::unique_ptr<durable::Storage> storage,
                                                           const std::shared_ptr<TProcessor>& inner,
                                                           std::shared_ptr<TProtocolFactory> protocol,
                                                           const TSkeinDurableServerOptions& options) {
  return std::make_shared<TSkeinDurableProcessor>(
      std::make_unique<TSkeinDurableProcessor::Impl>(inner, std::move(protocol), options, std::move(storage)));
}

TSkeinDurableProcessor::~TSkeinDurableProcessor() = default;

bool TSkeinDurableProcessor::process(std::shared_ptr<TProtocol> in, std::shared_ptr<TProtocol> out, void* context) {
  const auto connection = std::dynamic_pointer_cast<ProtocolSniffer>(in->getTransport());
  if (connection == nullptr || !connection->IsDurable()) {
    return impl_->inner().process(std::move(in), std::move(out), context);
  }
  impl_->Serve(connection->TakeDurable());
  return false;
}

void TSkeinDurableProcessor::stop() { impl_->Stop(); }

std::string TSkeinDurableProcessor::getLevel() const {
  return std::string(durable::PersistenceName(impl_->service().persistence()));
}
std::string TSkeinDurableProcessor::getHealth() const { return std::string(impl_->service().health().message()); }
uint64_t TSkeinDurableProcessor::getUnfinished() const { return impl_->service().load().unfinished; }

}  // namespace skein::thrift_transport
