// An IP address as a socket's, by its text: "10.9.0.1", "fd09::1".
#ifndef SKEIN_TESTS_SUPPORT_IP_ADDRESS_H_
#define SKEIN_TESTS_SUPPORT_IP_ADDRESS_H_

#include <arpa/inet.h>
#include <netinet/in.h>

#include "gtest/gtest.h"

namespace skein {

inline sockaddr_storage Ip(const char* text) {
  sockaddr_storage address = {};
  auto& v4 = reinterpret_cast<sockaddr_in&>(address);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
  if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
  } else {
    EXPECT_EQ(inet_pton(AF_INET6, text, &v6.sin6_addr), 1) << text;
    v6.sin6_family = AF_INET6;
  }
  return address;
}

}  // namespace skein

#endif  // SKEIN_TESTS_SUPPORT_IP_ADDRESS_H_
