#include "core/durable/replicas/open_replicated.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/tcp_address.h"
#include "core/durable/replicas/connection.h"
#include "core/durable/replicas/primary.h"
#include "core/durable/replicas/replica_connector.h"
#include "core/durable/replicas/replicated_storage.h"
#include "core/durable/storage/open_storage.h"

namespace skein::durable {
namespace {

absl::Status Check(const ReplicaOptions& options) {
  const size_t logs = options.replicas.size() + 1;
  if (options.acknowledge > logs) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.acknowledge, " logs are to have what is acknowledged, and there are ", logs));
  }
  if (std::set<std::string>(options.replicas.begin(), options.replicas.end()).size() + 1 < logs) {
    return absl::InvalidArgumentError("a replica is named twice");
  }
  for (const std::string& replica : options.replicas) {
    const absl::Status address = CheckPeerAddress(replica);
    if (!address.ok()) return absl::InvalidArgumentError(absl::StrCat("a replica's address: ", address.message()));
  }
  return absl::OkStatus();
}

// All are told before any is waited for.
struct Connectors {
  ~Connectors() {
    for (const auto& each : all) each->Stop();
  }
  std::vector<std::unique_ptr<ReplicaConnector>> all;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Storage>> OpenReplicatedStorage(const std::string& path, uint64_t bytes,
                                                               const ReplicaOptions& options) {
  if (absl::Status fits = Check(options); !fits.ok()) return fits;
  if (options.replicas.empty()) return OpenStorage(path, bytes);
  const absl::StatusOr<Options> fabrics = FabricOptions();
  if (!fabrics.ok()) return fabrics.status();
  absl::StatusOr<std::unique_ptr<Storage>> own = OpenStorage(path, bytes);
  if (!own.ok()) return own;
  const auto logs = static_cast<uint32_t>(options.replicas.size() + 1);
  const uint32_t acknowledge = options.acknowledge == 0 ? logs : options.acknowledge;
  const absl::StatusOr<ReplicaRequest> request = PrepareLog(**own, logs, acknowledge);
  if (!request.ok()) return request.status();
  auto storage = std::make_unique<ReplicatedStorage>(
      *std::move(own),
      JournalOptions{.replicas = options.replicas, .acknowledge = acknowledge, .patience = options.patience});
  auto connections = std::make_shared<Connectors>();
  for (size_t i = 0; i < options.replicas.size(); ++i) {
    auto connector = ReplicaConnector::Start(options.replicas[i], storage->followers()[i], storage->journal(), i,
                                             *request, storage->persistence(), *fabrics);
    if (!connector.ok()) return connector.status();
    connections->all.push_back(*std::move(connector));
  }
  storage->KeepConnected(std::move(connections));
  return storage;
}

}  // namespace skein::durable
