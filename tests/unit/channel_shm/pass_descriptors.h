// What no honest peer sends: one message with several descriptors.
#ifndef SKEIN_TESTS_UNIT_CHANNEL_SHM_PASS_DESCRIPTORS_H_
#define SKEIN_TESTS_UNIT_CHANNEL_SHM_PASS_DESCRIPTORS_H_

#include <sys/socket.h>

#include <array>
#include <cstring>
#include <vector>

#include "core/channel/shm/side_message.h"
#include "gtest/gtest.h"

namespace skein::channel::shm {

// Eight at most.
inline void PassDescriptors(int socket, const SideMessage& message, const std::vector<int>& passed) {
  iovec bytes = {const_cast<SideMessage*>(&message), sizeof(message)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(8 * sizeof(int))> control = {};
  msghdr header = {};
  header.msg_iov = &bytes;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = CMSG_SPACE(passed.size() * sizeof(int));
  cmsghdr* const rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(passed.size() * sizeof(int));
  std::memcpy(CMSG_DATA(rights), passed.data(), passed.size() * sizeof(int));
  ASSERT_GT(sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL), 0);
}

}  // namespace skein::channel::shm

#endif  // SKEIN_TESTS_UNIT_CHANNEL_SHM_PASS_DESCRIPTORS_H_
