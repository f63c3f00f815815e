#include "core/base/tcp_address.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "gtest/gtest.h"

namespace skein {
namespace {

absl::StatusOr<UniqueFd> Bound(const addrinfo& address) {
  UniqueFd fd(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid() || bind(fd.get(), address.ai_addr, address.ai_addrlen) != 0) return absl::UnavailableError("unbound");
  return fd;
}

TEST(OpenFirst, OpensAtTheAddressNamed) {
  const absl::StatusOr<UniqueFd> fd = OpenFirst("127.0.0.1:0", AI_PASSIVE, Bound);
  ASSERT_TRUE(fd.ok()) << fd.status();
  const absl::StatusOr<std::string> address = AddressOf(fd->get());
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_TRUE(address->starts_with("127.0.0.1:")) << *address;
  EXPECT_FALSE(address->ends_with(":0")) << *address;
}

TEST(OpenFirst, GivesTheLastErrorWhenNoAddressWillDo) {
  int tried = 0;
  const absl::Status status = OpenFirst("127.0.0.1:7000", 0, [&](const addrinfo&) -> absl::StatusOr<UniqueFd> {
                                return absl::UnavailableError(std::to_string(++tried));
                              }).status();
  EXPECT_EQ(status, absl::UnavailableError(std::to_string(tried)));
  EXPECT_EQ(tried, 1);
}

TEST(OpenFirst, RefusesWhatIsNoHostAndPort) {
  for (const char* text :
       {"", ":", ":7000", "localhost", "localhost:", "localhost:x", "localhost:-1", "localhost:65536"}) {
    EXPECT_EQ(OpenFirst(text, 0, Bound).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(CheckPeerAddress, TakesWhatAPeerCanBeReachedAt) {
  for (const char* text : {"localhost:1", "10.0.0.1:7000", "[::1]:65535"})
    EXPECT_TRUE(CheckPeerAddress(text).ok()) << text;
  for (const char* text : {"foo", ":7000", "localhost:0", "localhost:65536"}) {
    EXPECT_EQ(CheckPeerAddress(text).code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(OpenFirst, NamesTheHostItCannotFind) {
  const absl::Status status = OpenFirst("no-such-host.invalid:7000", AI_NUMERICHOST, Bound).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find("no-such-host.invalid"), absl::string_view::npos) << status;
}

TEST(NumericAddress, PutsBracketsAroundVersion6) {
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  v6.sin6_addr = in6addr_loopback;
  v6.sin6_port = htons(7000);
  EXPECT_EQ(NumericAddress(reinterpret_cast<const sockaddr*>(&v6), sizeof(v6)).value(), "[::1]:7000");
}

}  // namespace
}  // namespace skein
