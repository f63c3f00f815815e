#include "core/stream/host_fabrics.h"

#include <map>
#include <tuple>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/fabric/shm/shm_device.h"
#include "core/fabric/verbs/verbs_device.h"

namespace skein::stream {
namespace {

using fabric::verbs::GidEntry;

// Ports come and go, addresses move: what was listed is looked up again after this long.
constexpr absl::Duration kListingIsFresh = absl::Seconds(5);

fabric::VerbsOptions VerbsOptionsOf(const RdmaOptions& options) {
  fabric::VerbsOptions verbs;
  verbs.mtu = static_cast<uint32_t>(options.mtu);
  verbs.traffic_class = static_cast<uint8_t>(options.traffic_class);
  verbs.service_level = static_cast<uint8_t>(options.service_level);
  verbs.timeout = static_cast<uint8_t>(options.timeout);
  verbs.retries = static_cast<uint8_t>(options.retries);
  verbs.rnr_timer = static_cast<uint8_t>(options.rnr_timer);
  verbs.max_registered_bytes = static_cast<uint64_t>(options.memory);
  return verbs;
}

class HostFabrics final : public Fabrics {
 public:
  HostFabrics(bool shm, const RdmaOptions& rdma) : shm_wanted_(shm), options_(rdma) {}

  std::vector<Candidate> For(const Route& route) override {
    const bool same_host = MayBeSameHost(route);
    std::vector<Candidate> candidates;
    candidates.push_back(Shm(same_host));
    Candidate rdma = Rdma(route);
    // On one host it is the second choice, and not worth a word when it is none.
    if (rdma.device != nullptr || !same_host) candidates.push_back(std::move(rdma));
    return candidates;
  }

  void Failed(const Route& route, absl::string_view kind) override {
    const absl::StatusOr<fabric::verbs::Gid> peer = fabric::verbs::GidOf(route.peer);
    if (kind != "rdma" || !peer.ok()) return;
    absl::MutexLock lock(&mu_);
    const absl::Time now = absl::Now();
    absl::erase_if(settling_, [now](const auto& entry) { return entry.second <= now; });
    settling_[*peer] = now + options_.settle_time;
  }

 private:
  Candidate Shm(bool same_host) {
    if (!same_host) return {"shm", nullptr, {FallbackCode::kRemotePeer, {}}};
    if (!shm_wanted_) return {"shm", nullptr, {FallbackCode::kFabricOff, "skein.shm"}};
    absl::MutexLock lock(&mu_);
    if (shm_ == nullptr) {
      absl::StatusOr<std::shared_ptr<fabric::Device>> opened = fabric::OpenShmDevice();
      if (!opened.ok()) return {"shm", nullptr, FallbackOf(opened.status())};  // the next connection tries again
      shm_ = *std::move(opened);
    }
    return {"shm", shm_, {}};
  }

  Candidate Rdma(const Route& route) {
    if (!options_.enabled) return {"rdma", nullptr, {FallbackCode::kFabricOff, "skein.rdma"}};
    absl::MutexLock lock(&mu_);
    if (Fallback why = Settling(route); why.code != FallbackCode::kNone) return {"rdma", nullptr, std::move(why)};
    const absl::StatusOr<GidEntry> through = Through(route);
    if (!through.ok()) return {"rdma", nullptr, {FallbackCode::kNoRdma, std::string(through.status().message())}};
    absl::StatusOr<std::shared_ptr<fabric::Device>> device = Open(*through);
    if (!device.ok()) return {"rdma", nullptr, {FallbackCode::kNoRdma, std::string(device.status().message())}};
    return {"rdma", *std::move(device), {}};
  }

  Fallback Settling(const Route& route) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const absl::StatusOr<fabric::verbs::Gid> peer = fabric::verbs::GidOf(route.peer);
    if (!peer.ok()) return {};
    const auto found = settling_.find(*peer);
    const absl::Time now = absl::Now();
    if (found == settling_.end() || found->second <= now) return {};
    return {
        FallbackCode::kSettling,
        absl::StrCat("for ", absl::FormatDuration(absl::Ceil(found->second - now, absl::Milliseconds(1))), " more")};
  }

  absl::StatusOr<GidEntry> Through(const Route& route) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (absl::Now() > listed_ + kListingIsFresh) {
      entries_ = fabric::verbs::ListGids();
      listed_ = absl::Now();
    }
    if (!entries_.ok()) return entries_.status();
    std::vector<GidEntry> wanted = *entries_;
    std::erase_if(wanted, [this](const GidEntry& entry) { return !Means(options_, entry); });
    if (wanted.empty()) {
      return absl::NotFoundError(absl::StrCat("no GID of the device (", options_.device, "), port (", options_.port,
                                              ") and index (", options_.gid_index, ") that the options name"));
    }
    // Who names a device knows what it reaches.
    const bool named = !options_.device.empty() || options_.port != 0 || options_.gid_index >= 0;
    const absl::StatusOr<GidEntry> routed = fabric::verbs::ChooseGid(wanted, route.local);
    return routed.ok() || !named ? routed : fabric::verbs::DefaultGid(wanted);
  }

  absl::StatusOr<std::shared_ptr<fabric::Device>> Open(const GidEntry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    std::shared_ptr<fabric::Device>& device = rdma_[{entry.device, entry.port, entry.index, entry.gid}];
    if (device != nullptr && device->usable()) return device;
    device = nullptr;
    absl::StatusOr<std::shared_ptr<fabric::Device>> opened = fabric::OpenVerbsDevice(entry, VerbsOptionsOf(options_));
    if (opened.ok()) device = *opened;
    return opened;
  }

  const bool shm_wanted_;
  const RdmaOptions options_;
  absl::Mutex mu_;
  std::shared_ptr<fabric::Device> shm_ ABSL_GUARDED_BY(mu_);
  absl::StatusOr<std::vector<GidEntry>> entries_ ABSL_GUARDED_BY(mu_) = absl::UnknownError("not listed yet");
  absl::Time listed_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  using Key = std::tuple<std::string, uint8_t, uint32_t, fabric::verbs::Gid>;
  std::map<Key, std::shared_ptr<fabric::Device>> rdma_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<fabric::verbs::Gid, absl::Time> settling_ ABSL_GUARDED_BY(mu_);  // by the peer's address, until
};

}  // namespace

std::shared_ptr<Fabrics> CreateHostFabrics(bool shm, const RdmaOptions& rdma) {
  return std::make_shared<HostFabrics>(shm, rdma);
}

bool Means(const RdmaOptions& options, const GidEntry& entry) {
  return (options.device.empty() || entry.device == options.device) &&
         (options.port == 0 || entry.port == options.port) &&
         (options.gid_index < 0 || entry.index == static_cast<uint32_t>(options.gid_index));
}

StreamOptions StreamOptionsOf(const Options& options) {
  return {static_cast<size_t>(options.ring_bytes), static_cast<size_t>(options.window_bytes),
          static_cast<uint64_t>(options.rdma.peer_memory)};
}

}  // namespace skein::stream
