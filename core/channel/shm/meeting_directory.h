// A directory that processes of different network namespaces have mounted, where they meet by a socket's file. Abstract
// names do not lead out of a network namespace.
//
// Only root or this process's own user may own it. Another user who writes there must not be able to move files that
// are not his (the sticky bit): he could put a link in the place of a socket whose mode is about to be set. So a user
// of peer_users may write there, but not own it. The kernel's word decides all the same on each peer that comes to a
// socket, or listens at one.
#ifndef SKEIN_CORE_CHANNEL_SHM_MEETING_DIRECTORY_H_
#define SKEIN_CORE_CHANNEL_SHM_MEETING_DIRECTORY_H_

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/unique_fd.h"

namespace skein::channel::shm {

// A listening socket whose file goes with it. In a child made by fork() both stay as they are, for the parent. A
// process that is killed leaves the file.
class MeetingFile {
 public:
  MeetingFile(UniqueFd listening, std::string path) : listening_(std::move(listening)), path_(std::move(path)) {}
  MeetingFile(const MeetingFile&) = delete;
  MeetingFile& operator=(const MeetingFile&) = delete;
  ~MeetingFile();

  int listening() const { return listening_.get(); }

 private:
  UniqueFd listening_;
  const std::string path_;
  const pid_t process_ = getpid();
};

class MeetingDirectory {
 public:
  MeetingDirectory() = default;  // none
  explicit MeetingDirectory(std::string path) : path_(std::move(path)) {}

  bool named() const { return !path_.empty(); }
  // All three check the directory first. FAILED_PRECONDITION: it is not to be trusted, with what to do.
  // UNAVAILABLE: it is none.
  // Anybody who may look into the directory can connect.
  absl::StatusOr<std::unique_ptr<MeetingFile>> Listen(absl::string_view name) const;
  // NOT_FOUND when nobody listens there, otherwise as ConnectAbstract has it.
  absl::StatusOr<UniqueFd> Connect(absl::string_view name) const;
  // Takes away what processes of this user have left that were killed. Files of the last minute stay: somebody may be
  // about to listen there.
  void RemoveStale() const;

 private:
  absl::Status Check() const;
  std::string PathOf(absl::string_view name) const;

  std::string path_;
};

}  // namespace skein::channel::shm

#endif  // SKEIN_CORE_CHANNEL_SHM_MEETING_DIRECTORY_H_
