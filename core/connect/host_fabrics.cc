#include "core/connect/host_fabrics.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/base/deadline.h"
#include "core/base/descriptors_left.h"
#include "core/base/mutex.h"
#include "core/channel/ring/ring_group.h"
#include "core/channel/shm/shm_options.h"
#include "core/connect/rdma_ports.h"
#include "core/connect/rehearsed_shm.h"
#include "core/connect/service_sessions.h"
#include "core/connect/verbs_options.h"
#include "core/fabric/service/service_device.h"
#include "core/fabric/verbs/gid_list.h"
#include "core/fabric/verbs/offer.h"
#include "core/fabric/verbs/verbs_device.h"

namespace skein::connect {
namespace {

class HostFabrics final : public Fabrics {
 public:
  HostFabrics(const SharedMemoryOptions& shm, const RdmaOptions& rdma)
      : shm_options_(shm),
        options_(rdma),
        shm_(shm, rdma.retry_delay),
        ports_(
            rdma, [list = std::make_shared<fabric::verbs::GidList>()] { return list->Read(); },
            [verbs = VerbsOptionsOf(rdma)](const fabric::verbs::GidEntry& through) {
              return fabric::OpenVerbsDevice(through, verbs);
            }),
        sessions_(rdma.service, rdma.retry_delay) {}

  std::vector<Candidate> For(const Route& route) override {
    const bool same_host = MayBeSameHost(route);
    std::vector<Candidate> candidates;
    candidates.push_back(Shm(same_host));
    const bool alone = candidates[0].why_not.code != FallbackCode::kNone;
    if (options_.by != RdmaBy::kService) {
      Candidate rdma = Rdma(route);
      // On one host it is the second choice, and not worth a word when it is none, unless there is nothing else.
      if (rdma.transport != nullptr || !same_host || (alone && MayHaveRdma())) candidates.push_back(std::move(rdma));
    }
    if (MeansService() && (!same_host || alone)) candidates.push_back(RdmaViaSkeind(route));
    return candidates;
  }

  absl::Status CheckPeer(const Route& route, absl::string_view kind, absl::string_view queue_pair) override {
    if (kind != "rdma" || NamesPort(options_)) return absl::OkStatus();
    return fabric::verbs::CheckComesFrom(route.peer, queue_pair);
  }

  void Failed(const Route& route, absl::string_view kind) override {
    const absl::StatusOr<fabric::verbs::Gid> peer = fabric::verbs::GidOf(route.peer);
    if (kind == "shm" || !peer.ok()) return;
    MutexLock lock(&mu_);
    const absl::Time now = SteadyNow();
    absl::erase_if(settling_, [now](const auto& entry) { return entry.second <= now; });
    settling_[{std::string(kind), *peer}] = now + options_.retry_delay;
  }

 private:
  Candidate Shm(bool same_host) {
    if (!same_host && shm_options_.rendezvous.empty()) return {"shm", nullptr, {FallbackCode::kRemotePeer, {}}};
    if (!shm_options_.enabled) return {"shm", nullptr, {FallbackCode::kFabricOff, "skein.shm"}};
    RehearsedShm::Result transport = shm_.Get();
    if (!transport.ok()) return {"shm", nullptr, FallbackOf(transport.status())};
    return IfDescriptorsAreLeft({"shm", *std::move(transport), {}});
  }

  static Candidate IfDescriptorsAreLeft(Candidate candidate) {
    const absl::Status status = CheckDescriptorsLeft(channel::kShmDescriptors);
    if (!status.ok()) candidate = {candidate.kind, nullptr, FallbackOf(status)};
    return candidate;
  }

  Candidate Rdma(const Route& route) {
    if (!options_.enabled) return {"rdma", nullptr, {FallbackCode::kFabricOff, "skein.rdma"}};
    MutexLock lock(&mu_);
    if (Fallback why = Settling("rdma", route); why.code != FallbackCode::kNone)
      return {"rdma", nullptr, std::move(why)};
    absl::StatusOr<std::shared_ptr<fabric::Device>> device = ports_.For(route, SteadyNow());
    if (!device.ok()) return {"rdma", nullptr, {FallbackCode::kNoRdma, std::string(device.status().message())}};
    auto transport = std::make_shared<channel::RingTransport>(*std::move(device));
    return IfDescriptorsAreLeft({"rdma", std::move(transport), {}, NamesPort(options_)});
  }

  bool MeansService() const {
    if (!options_.enabled || options_.by == RdmaBy::kDirect) return false;
    return options_.by == RdmaBy::kService || fabric::MayHaveService(options_.service);
  }

  Candidate RdmaViaSkeind(const Route& route) {
    const std::string kind(fabric::kServiceKind);
    MutexLock lock(&mu_);
    if (Fallback why = Settling(kind, route); why.code != FallbackCode::kNone) return {kind, nullptr, std::move(why)};
    absl::StatusOr<std::shared_ptr<fabric::Device>> device = sessions_.For(route, SteadyNow());
    if (!device.ok()) return {kind, nullptr, {FallbackCode::kNoRdma, std::string(device.status().message())}};
    return IfDescriptorsAreLeft({kind, std::make_shared<channel::RingTransport>(*std::move(device)), {}});
  }

  bool MayHaveRdma() {
    MutexLock lock(&mu_);
    return options_.enabled && !ports_.none();
  }

  Fallback Settling(absl::string_view kind, const Route& route) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const absl::StatusOr<fabric::verbs::Gid> peer = fabric::verbs::GidOf(route.peer);
    if (!peer.ok()) return {};
    const auto found = settling_.find({std::string(kind), *peer});
    const absl::Time now = SteadyNow();
    if (found == settling_.end() || found->second <= now) return {};
    return {
        FallbackCode::kSettling,
        absl::StrCat("for ", absl::FormatDuration(absl::Ceil(found->second - now, absl::Milliseconds(1))), " more")};
  }

  const SharedMemoryOptions shm_options_;
  const RdmaOptions options_;
  RehearsedShm shm_;
  Mutex mu_;
  RdmaPorts ports_ ABSL_GUARDED_BY(mu_);
  ServiceSessions sessions_ ABSL_GUARDED_BY(mu_);
  // By kind and the peer's address; until.
  absl::flat_hash_map<std::pair<std::string, fabric::verbs::Gid>, absl::Time> settling_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

std::shared_ptr<Fabrics> CreateHostFabrics(const SharedMemoryOptions& shm, const RdmaOptions& rdma) {
  return std::make_shared<HostFabrics>(shm, rdma);
}

std::shared_ptr<Fabrics> HostFabricsOfProcess(const SharedMemoryOptions& shm, const RdmaOptions& rdma) {
  struct Known {
    SharedMemoryOptions shm;
    RdmaOptions rdma;
    std::weak_ptr<Fabrics> fabrics;
  };
  static auto* const mu = new Mutex;
  static auto* const all = new std::vector<Known>;  // under `mu`; a process has a handful
  MutexLock lock(mu);
  std::erase_if(*all, [](const Known& known) { return known.fabrics.expired(); });
  for (const Known& known : *all) {
    if (known.shm != shm || known.rdma != rdma) continue;
    if (std::shared_ptr<Fabrics> fabrics = known.fabrics.lock(); fabrics != nullptr) return fabrics;
  }
  std::shared_ptr<Fabrics> made = CreateHostFabrics(shm, rdma);
  all->push_back({shm, rdma, made});
  return made;
}

}  // namespace skein::connect
