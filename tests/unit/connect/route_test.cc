// Which connections may lead to a process on this host, by real sockets.
#include "core/connect/route.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "core/base/unique_fd.h"
#include "gtest/gtest.h"

namespace skein::connect {
namespace {

bool MayBeSameHost(int fd) { return connect::MayBeSameHost(RouteOf(fd)); }

struct Address {
  sockaddr_storage storage = {};
  socklen_t size = 0;
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Address Ipv4(const char* text, uint16_t port) {
  Address address;
  auto& ip = reinterpret_cast<sockaddr_in&>(address.storage);
  ip.sin_family = AF_INET;
  ip.sin_port = htons(port);
  EXPECT_EQ(inet_pton(AF_INET, text, &ip.sin_addr), 1) << text;
  address.size = sizeof(ip);
  return address;
}

Address Ipv6(const char* text, uint16_t port) {
  Address address;
  auto& ip = reinterpret_cast<sockaddr_in6&>(address.storage);
  ip.sin6_family = AF_INET6;
  ip.sin6_port = htons(port);
  EXPECT_EQ(inet_pton(AF_INET6, text, &ip.sin6_addr), 1) << text;
  address.size = sizeof(ip);
  return address;
}

Address LocalOf(int fd) {
  Address address;
  address.size = sizeof(address.storage);
  EXPECT_EQ(getsockname(fd, address.get(), &address.size), 0) << std::strerror(errno);
  return address;
}

// A socket connected to `peer`. With UDP nothing is sent. Empty, with errno, if there is no way there.
UniqueFd Connected(int type, Address peer) {
  UniqueFd fd(socket(peer.storage.ss_family, type | SOCK_CLOEXEC, 0));
  if (fd.get() >= 0 && ::connect(fd.get(), peer.get(), peer.size) != 0) fd = UniqueFd();
  return fd;
}

// Both ends of a TCP connection to a listener at `address`, whose port is 0.
struct Tcp {
  explicit Tcp(Address address) : listener(socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (bind(listener.get(), address.get(), address.size) != 0 || listen(listener.get(), 1) != 0) return;
    client = Connected(SOCK_STREAM, LocalOf(listener.get()));
    server = UniqueFd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  bool ok() const { return client.get() >= 0 && server.get() >= 0; }
  UniqueFd listener;
  UniqueFd client;
  UniqueFd server;
};

bool Is(const sockaddr_storage& address, const Address& wanted) {
  return std::memcmp(&address, &wanted.storage, wanted.size) == 0;
}

TEST(RouteOf, BothEndsOfAConnection) {
  const Tcp tcp(Ipv4("127.0.0.1", 0));
  ASSERT_TRUE(tcp.ok()) << std::strerror(errno);
  const Route route = RouteOf(tcp.client.get());
  EXPECT_TRUE(Is(route.local, LocalOf(tcp.client.get())));
  EXPECT_TRUE(Is(route.peer, LocalOf(tcp.listener.get())));
}

// However either of them writes it.
TEST(EndOf, BothEndsOfAConnectionSeeTheSame) {
  for (const auto& [listening, connecting] :
       {std::pair(Ipv4("127.0.0.1", 0), Ipv4("127.0.0.1", 0)), std::pair(Ipv6("::1", 0), Ipv6("::1", 0)),
        std::pair(Ipv6("::", 0), Ipv4("127.0.0.1", 0))}) {
    const UniqueFd listener(socket(listening.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (bind(listener.get(), listening.get(), listening.size) != 0) continue;  // no IPv6 here
    ASSERT_EQ(listen(listener.get(), 1), 0) << std::strerror(errno);
    Address to = connecting;
    const Address bound = LocalOf(listener.get());
    reinterpret_cast<sockaddr_in&>(to.storage).sin_port = reinterpret_cast<const sockaddr_in&>(bound.storage).sin_port;
    const UniqueFd client = Connected(SOCK_STREAM, to);
    ASSERT_TRUE(client.valid()) << std::strerror(errno);
    const UniqueFd server(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const wire::ConnectionEnd end = EndOf(RouteOf(client.get()).local);
    EXPECT_NE(end, wire::ConnectionEnd());
    EXPECT_EQ(end, EndOf(RouteOf(server.get()).peer));
    EXPECT_NE(end, EndOf(RouteOf(server.get()).local));
  }
}

TEST(EndOf, NothingButTcpHasOne) {
  std::array<int, 2> ends = {};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const UniqueFd one(ends[0]);
  const UniqueFd other(ends[1]);
  EXPECT_EQ(EndOf(RouteOf(one.get()).local), wire::ConnectionEnd());
  EXPECT_EQ(EndOf({}), wire::ConnectionEnd());
}

// Of a listener that may have one connection waiting, which answers no others.
TEST(RouteOf, AConnectionThatIsBeingMade) {
  for (const Address& any : {Ipv4("127.0.0.1", 0), Ipv6("::ffff:127.0.0.1", 0)}) {
    const UniqueFd listener(socket(any.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (bind(listener.get(), any.get(), any.size) != 0) continue;  // no IPv6 here
    ASSERT_EQ(listen(listener.get(), 0), 0) << std::strerror(errno);
    const Address address = LocalOf(listener.get());
    std::array<UniqueFd, 2> connecting;
    for (UniqueFd& fd : connecting) {
      fd = UniqueFd(socket(any.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      ASSERT_TRUE(::connect(fd.get(), address.get(), address.size) == 0 || errno == EINPROGRESS)
          << std::strerror(errno);
      pollfd one_waits = {listener.get(), POLLIN, 0};
      ASSERT_EQ(poll(&one_waits, 1, 10000), 1) << std::strerror(errno);
    }
    EXPECT_TRUE(IsConnected(connecting.front().get()));
    const int last = connecting.back().get();
    EXPECT_FALSE(IsConnected(last));
    tcp_info info = {};
    socklen_t size = sizeof(info);
    ASSERT_EQ(getsockopt(last, IPPROTO_TCP, TCP_INFO, &info, &size), 0) << std::strerror(errno);
    ASSERT_EQ(info.tcpi_state, TCP_SYN_SENT);
    const Route route = RouteOf(last);
    EXPECT_TRUE(Is(route.local, LocalOf(last)));
    EXPECT_TRUE(Is(route.peer, address));
    EXPECT_TRUE(connect::MayBeSameHost(route));
  }
}

TEST(RouteOf, NothingOfWhatIsNotConnected) {
  const UniqueFd unconnected(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(RouteOf(unconnected.get()).local.ss_family, AF_UNSPEC);
  EXPECT_EQ(RouteOf(-1).local.ss_family, AF_UNSPEC);
}

TEST(MayBeSameHost, Ipv4Loopback) {
  for (const char* address : {"127.0.0.1", "127.8.9.10"}) {
    const Tcp tcp(Ipv4(address, 0));
    ASSERT_TRUE(tcp.ok()) << std::strerror(errno);
    EXPECT_TRUE(MayBeSameHost(tcp.client.get())) << address;
    EXPECT_TRUE(MayBeSameHost(tcp.server.get())) << address;
  }
}

TEST(MayBeSameHost, Ipv6Loopback) {
  const Tcp tcp(Ipv6("::1", 0));
  if (!tcp.ok()) GTEST_SKIP() << "no IPv6 here: " << std::strerror(errno);
  EXPECT_TRUE(MayBeSameHost(tcp.client.get()));
  EXPECT_TRUE(MayBeSameHost(tcp.server.get()));
}

// gRPC listens on IPv6 sockets that take IPv4, too.
TEST(MayBeSameHost, Ipv4LoopbackOnAnIpv6Socket) {
  const Tcp tcp(Ipv6("::ffff:127.0.0.1", 0));
  if (!tcp.ok()) GTEST_SKIP() << "no IPv6 here: " << std::strerror(errno);
  EXPECT_TRUE(MayBeSameHost(tcp.client.get()));
  EXPECT_TRUE(MayBeSameHost(tcp.server.get()));
}

TEST(MayBeSameHost, UnixSockets) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  const UniqueFd one(fds[0]);
  const UniqueFd other(fds[1]);
  EXPECT_TRUE(MayBeSameHost(one.get()));
  EXPECT_TRUE(MayBeSameHost(other.get()));
}

// 192.0.2.0/24 and 2001:db8::/32 are for documentation: nobody has these addresses.
TEST(MayBeSameHost, NotWithAnotherHostsAddress) {
  const UniqueFd fd = Connected(SOCK_DGRAM, Ipv4("192.0.2.1", 9));
  if (fd.get() < 0) GTEST_SKIP() << "no route: " << std::strerror(errno);
  EXPECT_FALSE(MayBeSameHost(fd.get()));
}

TEST(MayBeSameHost, NotWithAnotherHostsIpv6Address) {
  const UniqueFd fd = Connected(SOCK_DGRAM, Ipv6("2001:db8::1", 9));
  if (fd.get() < 0) GTEST_SKIP() << "no route: " << std::strerror(errno);
  EXPECT_FALSE(MayBeSameHost(fd.get()));
}

TEST(MayBeSameHost, NotWithAnotherHostsIpv4AddressOnAnIpv6Socket) {
  const UniqueFd fd = Connected(SOCK_DGRAM, Ipv6("::ffff:192.0.2.1", 9));
  if (fd.get() < 0) GTEST_SKIP() << "no route: " << std::strerror(errno);
  EXPECT_FALSE(MayBeSameHost(fd.get()));
}

TEST(MayBeSameHost, ThisHostsOwnAddress) {
  const UniqueFd outwards = Connected(SOCK_DGRAM, Ipv4("192.0.2.1", 9));
  if (outwards.get() < 0) GTEST_SKIP() << "no route: " << std::strerror(errno);
  const UniqueFd fd = Connected(SOCK_DGRAM, LocalOf(outwards.get()));
  ASSERT_GE(fd.get(), 0) << std::strerror(errno);
  EXPECT_TRUE(MayBeSameHost(fd.get()));
}

TEST(MayBeSameHost, LeavesItToTheFabricWhenThereAreNoAddresses) {
  EXPECT_TRUE(MayBeSameHost(-1));
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  const UniqueFd reading(fds[0]);
  const UniqueFd writing(fds[1]);
  EXPECT_TRUE(MayBeSameHost(reading.get())) << "not a socket";
  const UniqueFd unconnected(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_TRUE(MayBeSameHost(unconnected.get()));
}

TEST(HasEnded, WhenNothingIsLeftToBeReadButTheEnd) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  const UniqueFd own(fds[0]);
  UniqueFd peers(fds[1]);
  EXPECT_FALSE(HasEnded(own.get()));
  ASSERT_EQ(write(peers.get(), "x", 1), 1);
  peers.Reset();
  EXPECT_FALSE(HasEnded(own.get()));
  char last = 0;
  ASSERT_EQ(read(own.get(), &last, 1), 1);
  EXPECT_TRUE(HasEnded(own.get()));
  EXPECT_TRUE(HasEnded(-1));
}

}  // namespace
}  // namespace skein::connect
