#include "bench/sim/ud/client.h"

#include <optional>

namespace skein::bench {

UdClient::UdClient(Cluster& cluster, Host& host, uint64_t queue_pair, UdServer& server, const Exchange& exchange)
    : cluster_(cluster),
      server_(server.Add(exchange)),
      endpoint_(cluster, *this, host, queue_pair),
      session_(*this, cluster.costs.ud, exchange, static_cast<double>(cluster.costs.nic.bytes_per_second)),
      to_begin_(cluster.scenario.outstanding) {}

void UdClient::Start() {
  endpoint_.Notice();
  cluster_.events.After(cluster_.random.Below(cluster_.costs.ud.retransmission), [this] { Scan(); });
}

void UdClient::OnDatagram(const Datagram& answer) {
  Spend(cluster_.costs.cpu.item);
  const std::optional<absl::Time> begun = session_.OnAnswer(answer);
  if (!begun.has_value()) return;
  cluster_.events.At(time(), [this, begun = *begun] { cluster_.CountResponse(begun); });
  ++to_begin_;
}

// Lost datagrams, the next requests, and datagrams that waited for their time.
void UdClient::OnTimers() {
  if (to_scan_) session_.Retransmit();
  to_scan_ = false;
  for (; to_begin_ > 0; --to_begin_) {
    Spend(cluster_.Application());
    session_.Begin();
  }
  const absl::Time due = session_.SendDue();
  if (due == absl::InfiniteFuture() || due == noticed_) return;
  noticed_ = due;
  cluster_.events.At(due, [this] { endpoint_.Notice(); });
}

void UdClient::Send(const Datagram& datagram) {
  Datagram sent = datagram;
  sent.session = server_.session;
  endpoint_.Send(*server_.queue_pair, sent);
}

// eRPC looks ten times in the time after which it retransmits.
void UdClient::Scan() {
  to_scan_ = true;
  endpoint_.Notice();
  cluster_.events.After(cluster_.costs.ud.retransmission / 10, [this] { Scan(); });
}

}  // namespace skein::bench
