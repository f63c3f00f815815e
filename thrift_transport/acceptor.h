// Accepts connections and waits until each has said what it is, on a thread of its own: a nonblocking server is given
// those alone of which that is known.
#ifndef SKEIN_THRIFT_TRANSPORT_ACCEPTOR_H_
#define SKEIN_THRIFT_TRANSPORT_ACCEPTOR_H_

#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/deadline.h"
#include "core/base/mutex.h"
#include "core/base/options.h"
#include "core/base/unique_fd.h"
#include "core/connect/own_process.h"
#include "thrift_transport/hello.h"
#include "thrift_transport/polled_socket.h"

namespace skein::thrift_transport {

// Lock: mu_, a leaf. All but what it guards is the thread's.
class Acceptor {
 public:
  using Accept = std::function<std::shared_ptr<PolledSocket>()>;  // throws

  // `accept` is called when `listener` is readable. Both outlive this. A byte is sent by `tell` when there is something
  // to take; its other end, where it arrives, is `ready`. When that is closed nothing is taken any more: then nobody
  // can connect any more.
  static absl::StatusOr<std::unique_ptr<Acceptor>> Start(int listener, Accept accept, const Options& options, int tell,
                                                         int ready);
  ~Acceptor();

  // Null: there is nothing.
  std::shared_ptr<PolledSocket> Take();

 private:
  struct Connection {
    std::shared_ptr<PolledSocket> socket;
    HelloReader hello;
    Deadline deadline = Deadline::max();  // of a hello that has begun
  };

  Acceptor(int listener, Accept accept, const Options& options, int tell, int ready);
  bool Watch(int fd);
  void Unwatch(int fd);
  void Run();
  void AcceptOne();
  // False: it is to be forgotten here.
  bool LookAt(int fd, Connection& connection);
  void OnHello(int fd, Connection& connection);
  void HandOutOnTcp(int fd, Connection& connection, const Fallback& why);
  void HandOut(int fd, std::shared_ptr<PolledSocket> socket);
  void TellServer();
  bool Full();
  void OnServerGone();
  void Refuse(PolledSocket& socket, const std::string& why) const;
  // Those whose hello does not end.
  void DropLate();
  int TimeoutMs() const;
  void LeaveToParent() ABSL_NO_THREAD_SAFETY_ANALYSIS;  // the lock may be one of the parent's threads'

  const int listener_;
  const Accept accept_;
  const Options options_;
  const int tell_;
  const int ready_;
  const connect::OwnProcess process_;
  UniqueFd epoll_;
  UniqueFd stop_;
  absl::flat_hash_map<int, Connection> connections_;  // undecided, by TCP descriptor
  Deadline accepts_again_ = Deadline::min();          // after a failure
  Deadline tells_again_ = Deadline::max();            // the same

  Mutex mu_;
  std::deque<std::shared_ptr<PolledSocket>> decided_ ABSL_GUARDED_BY(mu_);
  bool told_ ABSL_GUARDED_BY(mu_) = false;  // a byte is under way, as it is to be while there are any

  std::thread thread_;
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_TRANSPORT_ACCEPTOR_H_
