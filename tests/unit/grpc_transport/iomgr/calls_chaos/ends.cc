#include "tests/unit/grpc_transport/iomgr/calls_chaos/ends.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "core/base/tcp_address.h"
#include "gtest/gtest.h"
#include "tests/support/held.h"
#include "tests/support/patient_ends.h"

namespace skein::calls_chaos {
namespace {

// Ends of the connection between two ports of this host. gRPC's sockets have IPv6 addresses.
bool IsEndOf(int fd, absl::string_view own_port, absl::string_view peers_port) {
  const absl::StatusOr<std::string> own = AddressOf(fd);
  const absl::StatusOr<std::string> peer = PeerAddressOf(fd);
  return own.ok() && peer.ok() && absl::EndsWith(*own, own_port) && absl::EndsWith(*peer, peers_port);
}

// This end's TCP connection ends, as it does when its process dies. False: there is none.
bool EndTcp(absl::string_view own_port, absl::string_view peers_port) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    int fd = -1;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &fd) || !IsEndOf(fd, own_port, peers_port)) continue;
    // gRPC may close it meanwhile, and give its number to another file. A duplicate stays the same file.
    const UniqueFd held(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (held.valid() && IsEndOf(held.get(), own_port, peers_port)) return shutdown(held.get(), SHUT_RDWR) == 0;
  }
  return false;
}

}  // namespace

Ends::Ends(Journal& journal, chaos::Dice& dice, const grpc::ResourceQuota& quota, size_t channels)
    : journal_(journal), dice_(dice), quota_(quota), channels_(channels), port_holder_(HoldPort()), stubs_(channels) {
  Serve();
  for (size_t channel = 0; channel < channels; ++channel) Replace(channel);
}

Ends::~Ends() {
  {
    const Held lock(mu_);
    stubs_.clear();
  }
  server_->Shutdown(absl::ToChronoTime(absl::Now() + kPatience));
}

UniqueFd Ends::HoldPort() {
  UniqueFd holder(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  setsockopt(holder.get(), SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(holder.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(holder.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  port_ = ntohs(address.sin_port);
  return holder;
}

void Ends::Serve() {
  service_ = std::make_unique<Service>(journal_, ++servers_);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(absl::StrCat("127.0.0.1:", port_), grpc::InsecureServerCredentials());
  builder.AddChannelArgument("skein.mode", "require");
  builder.SetResourceQuota(quota_);
  if (dice_.OneIn(2))
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, static_cast<int>(dice_.Between(2, 5)));
  builder.RegisterService(service_.get());
  server_ = builder.BuildAndStart();
  ASSERT_NE(server_, nullptr) << "no server at port " << port_;
}

void Ends::Replace(size_t channel) {
  grpc::ChannelArguments arguments;
  arguments.SetString("skein.mode", "require");
  arguments.SetResourceQuota(quota_);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, Retries(channel) ? 1 : 0);
  std::shared_ptr<Chaos::Stub> stub = Chaos::NewStub(
      grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port_), grpc::InsecureChannelCredentials(), arguments));
  const Held lock(mu_);
  stubs_[channel].swap(stub);
}

std::shared_ptr<Chaos::Stub> Ends::Stub(size_t channel) const {
  const Held lock(mu_);
  return stubs_[channel];
}

Place Ends::Where(size_t channel, absl::FunctionRef<bool(const Place&)> wanted) {
  Place place;
  for (const absl::Time end = absl::Now() + kPatience; absl::Now() < end;) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(absl::ToChronoTime(end));
    if (Stub(channel)->Where(&context, Payload(), &place).ok() && wanted(place)) return place;
  }
  ADD_FAILURE() << "channel " << channel << " does not get to where it is to: " << place.ShortDebugString();
  return place;
}

void Ends::Cut(size_t channel, bool at_client) {
  const std::string client = Where(channel, [](const Place&) { return true; }).client();
  journal_.Befalls(channel, kCut);
  const std::string clients_port = client.substr(client.rfind(':'));
  const std::string servers_port = absl::StrCat(":", port_);
  EXPECT_TRUE(at_client ? EndTcp(clients_port, servers_port) : EndTcp(servers_port, clients_port)) << client;
  Where(channel, [&](const Place& place) { return place.client() != client; });
  journal_.Over(channel);
}

void Ends::Restart(absl::Duration grace) {
  for (size_t i = 0; i < channels_; ++i) journal_.Befalls(i, kServerEnds, /*spares_handled=*/grace >= kPatience);
  server_->Shutdown(absl::ToChronoTime(absl::Now() + grace));
  server_.reset();
  Serve();
  for (size_t i = 0; i < channels_; ++i) {
    Where(i, [&](const Place& place) { return place.server() == servers_; });
    journal_.Over(i);
  }
}

}  // namespace skein::calls_chaos
