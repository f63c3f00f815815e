// Statistics, collected from those who count: sessions, trunks and the service.
#include <map>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/service/service.h"

namespace skein::service {

void TrunkLine::AddUnderWay(UnderWayOf& of) const {
  for (const TrunkRequests::Request& each : requests_.under_way()) ++of[each.queue_pair.get()];
}

ProcessStatistics Session::Statistics() const {
  ProcessStatistics statistics;
  statistics.user = user();
  statistics.process = process();
  statistics.sessions = ended_ ? 0 : 1;
  statistics.queue_pairs = queue_pairs_.size();
  for (const auto& [lkey, region] : regions_) statistics.registered_bytes += region->size();
  statistics.refusals = refusals_;
  statistics.traffic = destroyed_;
  for (const auto& [number, queue_pair] : queue_pairs_) statistics.traffic += TrafficOf(*queue_pair);
  return statistics;
}

Statistics Service::Count() const {
  Statistics statistics = counted_;
  statistics.turns = turn_;
  TrunkLine::UnderWayOf under_way;
  absl::flat_hash_map<const Trunk*, std::string> hosts;
  std::map<std::string, PeerStatistics> peers;
  for (const auto& trunk : trunks_.all()) {
    trunk->line().AddUnderWay(under_way);
    const std::string& host = hosts[trunk.get()] = trunk->PeerHost();
    PeerStatistics& peer = peers[host];
    ++peer.trunks;
    peer.queue_pairs += trunk->queue_pairs();
    peer.under_way += trunk->line().under_way();
    peer.waits += trunk->line().waits();
  }
  for (auto& [host, peer] : peers) {
    peer.host = host;
    statistics.peers.push_back(std::move(peer));
  }
  std::map<std::pair<uid_t, pid_t>, ProcessStatistics> processes;
  for (const auto& session : sessions_) {
    ProcessStatistics& process = processes[{session->user(), session->process()}];
    process.user = session->user();
    process.process = session->process();
    process += session->Statistics();
  }
  for (const auto& [number, queue_pair] : queue_pairs_.all()) {
    if (queue_pair->destroyed) continue;
    const Session& session = *queue_pair->session;
    const auto its = under_way.find(queue_pair.get());
    const uint64_t requests = its == under_way.end() ? 0 : its->second;
    processes[{session.user(), session.process()}].under_way += requests;
    statistics.queue_pairs.push_back(
        {session.user(), session.process(), number, hosts[queue_pair->trunk.get()], requests, TrafficOf(*queue_pair)});
  }
  for (const auto& [who, process] : processes) statistics.processes.push_back(process);
  return statistics;
}

}  // namespace skein::service
