// The system calls of a connection in shared memory, to be refused one by one.
#ifndef SKEIN_TESTS_SUPPORT_REFUSED_SHM_CALLS_H_
#define SKEIN_TESTS_SUPPORT_REFUSED_SHM_CALLS_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <functional>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/refused_call.h"

namespace skein {

// On a thread of its own, which alone is refused the call.
inline void Refused(const RefusedCall& call, int error, const std::function<void()>& act) {
  std::thread([&] {
    ASSERT_TRUE(Refuse(call, error));
    act();
  }).join();
}

struct NamedCall {
  std::string name;
  RefusedCall call;
};
inline void PrintTo(const NamedCall& named, std::ostream* out) { *out << named.name; }
inline std::string NameOfCall(const testing::TestParamInfo<NamedCall>& info) { return info.param.name; }

#ifdef SYS_poll
inline constexpr int kPollCall = SYS_poll;
#else
inline constexpr int kPollCall = SYS_ppoll;
#endif

// That any connection needs, and `more`.
inline std::vector<NamedCall> NeededShmCalls(const std::vector<NamedCall>& more) {
  std::vector<NamedCall> calls = {{"memfd_create", {SYS_memfd_create}},
                                  {"fallocate", {SYS_fallocate}},
                                  {"fcntl_F_ADD_SEALS", {SYS_fcntl, 1, F_ADD_SEALS}},
                                  {"fcntl_F_GET_SEALS", {SYS_fcntl, 1, F_GET_SEALS}},
                                  {"fstatfs", {SYS_fstatfs}},
                                  {"mmap_shared", {SYS_mmap, 3, MAP_SHARED}},
                                  {"socket_AF_UNIX", {SYS_socket, 0, AF_UNIX}},
                                  {"bind", {SYS_bind}},
                                  {"listen", {SYS_listen}},
                                  {"connect", {SYS_connect}},
                                  {"accept4", {SYS_accept4}},
                                  {"getsockopt_SO_PEERCRED", {SYS_getsockopt, 2, SO_PEERCRED}},
                                  {"sendmsg", {SYS_sendmsg}},
                                  {"recvmsg", {SYS_recvmsg}},
                                  {"epoll_create1", {SYS_epoll_create1}},
                                  {"epoll_ctl", {SYS_epoll_ctl}}};
  calls.insert(calls.end(), more.begin(), more.end());
  return calls;
}

// That any connection can do without, none at all among them, and `more`.
inline std::vector<NamedCall> DispensableShmCalls(const std::vector<NamedCall>& more = {}) {
  std::vector<NamedCall> calls = {{"none", {}},
                                  {"pipe2", {SYS_pipe2}},
                                  {"fcntl_F_SETPIPE_SZ", {SYS_fcntl, 1, F_SETPIPE_SZ}},
                                  {"readlink", {SYS_readlink}},
                                  {"prlimit64", {SYS_prlimit64}},
                                  {"madvise", {SYS_madvise}}};
  calls.insert(calls.end(), more.begin(), more.end());
  return calls;
}

}  // namespace skein

#endif  // SKEIN_TESTS_SUPPORT_REFUSED_SHM_CALLS_H_
