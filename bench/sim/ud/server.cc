#include "bench/sim/ud/server.h"

namespace skein::bench {

UdServer::UdServer(Cluster& cluster) : host_(cluster.costs.nic) {
  for (size_t i = 0; i < cluster.costs.server_cores; ++i) cores_.push_back(std::make_unique<Core>(cluster, host_, i));
}

UdServer::Address UdServer::Add(const Exchange& exchange) { return cores_[sessions_++ % cores_.size()]->Add(exchange); }

UdServer::Core::Core(Cluster& cluster, Host& host, uint64_t queue_pair)
    : cluster_(cluster), endpoint_(cluster, *this, host, queue_pair) {}

UdServer::Address UdServer::Core::Add(const Exchange& exchange) {
  sessions_.emplace_back(exchange, cluster_.costs.ud.slots);
  return {&endpoint_.queue_pair(), sessions_.size() - 1};
}

void UdServer::Core::OnDatagram(const Datagram& datagram) {
  UdServerSession& session = sessions_[datagram.session];
  const UdServerSession::Verdict verdict = session.OnDatagram(datagram);
  if (verdict == UdServerSession::Verdict::kDrop) return;
  if (verdict == UdServerSession::Verdict::kExecute) Execute(session.exchange());
  Datagram answer = datagram;
  answer.bytes = session.exchange().AnswerBytes(datagram.number);
  endpoint_.Send(*datagram.from, answer);
}

void UdServer::Core::Execute(const Exchange& exchange) {
  const CpuCosts& cpu = cluster_.costs.cpu;
  endpoint_.Spend(cpu.item + cluster_.Handler() + cluster_.Copy(exchange.request_bytes));
  cluster_.CountReceived(1);
}

}  // namespace skein::bench
