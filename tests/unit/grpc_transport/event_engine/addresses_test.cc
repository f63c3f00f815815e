#include "grpc_transport/event_engine/addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "gtest/gtest.h"

namespace skein::grpc_transport {
namespace {

EventEngine::ResolvedAddress V6(const char* text, uint16_t port) {
  sockaddr_in6 address = {};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  inet_pton(AF_INET6, text, &address.sin6_addr);
  return {reinterpret_cast<const sockaddr*>(&address), sizeof(address)};
}

EventEngine::ResolvedAddress Unix(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return {reinterpret_cast<const sockaddr*>(&address),
          static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size())};
}

TEST(AddressesTest, AreWrittenAsGrpcWritesThem) {
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(50051);
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(AddressText({reinterpret_cast<const sockaddr*>(&v4), sizeof(v4)}), "ipv4:127.0.0.1:50051");
  EXPECT_EQ(AddressText(V6("::1", 50051)), "ipv6:%5B::1%5D:50051");
  EXPECT_EQ(AddressText(V6("::ffff:10.1.2.3", 7)), "ipv4:10.1.2.3:7");
  EXPECT_EQ(AddressText(Unix("/run/a.sock")), "unix:/run/a.sock");
  EXPECT_EQ(AddressText(Unix(std::string("\0name", 5))), "unix-abstract:name");
  EXPECT_EQ(AddressText(Unix("")), "unix:") << "a client's end has no name";
}

}  // namespace
}  // namespace skein::grpc_transport
