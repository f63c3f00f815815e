// Where channels of this process are met: one listening socket, opened at the first offer. The passive side connects
// and leaves a first message (its token and the descriptor of the memory to be shared) without waiting; the active
// side, told over the other channel that this has happened, picks the connection with its token out of the queue.
//
// To its peers the kernel names the user that this process was when the socket began to listen. A process that has
// become another user since listens at another one; the old one stays for as long as an offer leads there.
//
// With a meeting directory it listens there as well, by a file of the same name, while an offer is out.
#ifndef SKEIN_CORE_CHANNEL_SHM_RENDEZVOUS_H_
#define SKEIN_CORE_CHANNEL_SHM_RENDEZVOUS_H_

#include <skein/options.h>
#include <unistd.h>

#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "core/base/abstract_socket.h"
#include "core/base/mutex.h"
#include "core/base/socket_message.h"
#include "core/base/unique_fd.h"
#include "core/channel/shm/meeting_directory.h"
#include "core/channel/shm/offer.h"

namespace skein::channel::shm {

// The Closer closes the socket and the memory of a meeting that becomes no connection: a stranger had both.
struct Meeting {
  Meeting(UniqueFd of_peer, UniqueFd passed, const PeerCredentials& who)
      : socket(std::move(of_peer)), memory(std::move(passed)) {
    if (who.uid != geteuid()) other_user = who.uid;
  }
  Meeting(Meeting&&) = default;
  Meeting& operator=(Meeting&&) = delete;
  ~Meeting();

  UniqueFd socket;
  UniqueFd memory;  // memfd, not yet checked
  // Whom an option allows: trusted with memory, and not with this process's threads.
  std::optional<uid_t> other_user;
};

// Any thread.
class Rendezvous {
 public:
  explicit Rendezvous(PeerUsers users = {}, MeetingDirectory directory = {})
      : users_(std::move(users)), directory_(std::move(directory)) {}

  // A new offer of this process; its token is expected until Collect or Withdraw. FallbackError(kRendezvous): the
  // directory cannot be used.
  absl::StatusOr<Offer> Announce();
  // The connection whose first message carries the token. FallbackError(kRendezvous) when there is none;
  // FallbackError(kDifferentUser) when a process of a user who may not has come instead. An ErrnoStatus where the
  // kernel has refused this process a call.
  absl::StatusOr<Meeting> Collect(const Token& token);
  void Withdraw(const Token& token);

 private:
  // Connections accepted on behalf of others' Collect. A stranger of the same user could leave any number: the oldest
  // go.
  static constexpr size_t kMaxSilent = 64;
  // All that a queue can hold, so that who comes next is found.
  static constexpr int kMaxAcceptsAtOnce = kMostQueued + 1;

  // A listening socket. Its end closes the connections that wait there, which were in strangers' hands.
  struct Door {
    ~Door();
    UniqueFd listening;
    MeetingPoint meeting_point = {};
    uid_t user = 0;  // that the kernel names to peers
    std::unique_ptr<MeetingFile> file;
    size_t offers = 0;  // out, that lead here
  };
  struct Parked {
    Meeting meeting;
    std::string token;
  };

  absl::StatusOr<std::shared_ptr<Door>> Open() const;
  void AcceptAll(const Door& door) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AcceptAll(int listening) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Forget(const Token& token) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // False: `socket`, and what was `passed` with its first message, are to be closed.
  bool Park(UniqueFd& socket, UniqueFd& passed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ParkOrClose(UniqueFd socket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const PeerUsers users_;
  const MeetingDirectory directory_;

  Mutex mu_;
  std::shared_ptr<Door> door_ ABSL_GUARDED_BY(mu_);  // of the present user
  // By the token; each keeps the door that its offer leads to.
  absl::flat_hash_map<std::string, std::shared_ptr<Door>> expected_ ABSL_GUARDED_BY(mu_);
  std::list<Parked> parked_ ABSL_GUARDED_BY(mu_);
  std::deque<UniqueFd> silent_ ABSL_GUARDED_BY(mu_);  // have connected, but not said anything yet
  // Why the last one that could not come could not: its user, or the kernel. Until somebody asks.
  absl::Status refused_ ABSL_GUARDED_BY(mu_);
};

// The passive side: connects to the offer's meeting point, if not by its name then in the directory, and leaves the
// token and `memory` there. FallbackError: kDifferentNetworkNamespace when nobody listens there, kDifferentUser,
// kRendezvous.
absl::StatusOr<Meeting> Meet(const Offer& offer, const PeerUsers& users, const MeetingDirectory& directory,
                             UniqueFd memory);

}  // namespace skein::channel::shm

#endif  // SKEIN_CORE_CHANNEL_SHM_RENDEZVOUS_H_
