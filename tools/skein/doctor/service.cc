#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"
#include "core/fabric/service/query.h"
#include "core/fabric/service/service_device.h"
#include "core/fabric/service/session.h"
#include "core/inspect/control.h"
#include "tools/skein/doctor/checks.h"

namespace skein::doctor {
namespace {

using fabric::service::About;
using fabric::service::Query;
using fabric::service::UserShare;

constexpr absl::string_view kRestart = "systemctl restart skeind, on the host";
constexpr absl::string_view kMount = "start one on this host; in a container, mount that folder (docs/service.md)";

class ServiceCheck {
 public:
  ServiceCheck(const RdmaOptions& options, Report& report) : options_(options), report_(report) {}

  void Run() {
    if (!options_.enabled || options_.by == RdmaBy::kDirect) return report_.Ok("skeind: not used, as skein.rdma says");
    if (!FolderIsThere() || !SocketIsThere()) return;
    const absl::StatusOr<Query> query = Query::Open(options_.service);
    if (absl::IsNotFound(query.status())) {
      return Bad(absl::StrCat(Socket(), ": nobody listens there any more"), kRestart);
    }
    if (!query.ok()) return Bad(absl::StrCat(Socket(), ": ", query.status().message()));
    const std::string name = query->who().pid == 0 ? "skeind" : absl::StrCat("skeind, process ", query->who().pid);
    const absl::StatusOr<About> about = query->AskAbout();
    if (absl::IsDeadlineExceeded(about.status())) {
      return Bad(absl::StrCat(name, ", does not answer within a second"),
                 absl::StrCat("it is stopped (kill -CONT), or hangs: ", kRestart));
    }
    if (!about.ok()) {
      return Bad(absl::StrCat(name, ": ", about.status().message()),
                 "it may be of another version than this command, or no skeind");
    }
    SayAbout(*about, name);
    SayDevice();
  }

 private:
  std::string Socket() const { return absl::StrCat(options_.service, "/", fabric::service::kSocketName); }
  bool is_needed() const { return options_.by == RdmaBy::kService; }
  // A process that would use skeind cannot. With a device of its own it needs none.
  void Bad(absl::string_view fact, absl::string_view advice = "") {
    is_needed() ? report_.Fail(fact, advice) : report_.Warn(fact, advice);
  }
  void None(absl::string_view fact) {
    is_needed() ? report_.Fail(absl::StrCat(fact, ", and skein.rdma is service"), kMount)
                : report_.Ok(fact, "a process that has an RDMA device needs none");
  }

  bool FolderIsThere() {
    struct stat folder = {};
    if (stat(options_.service.c_str(), &folder) != 0) {
      if (errno == ENOENT) return None(absl::StrCat("skeind: there is no ", options_.service)), false;
      return Bad(ErrnoStatus(errno, absl::StrCat("look for skeind in ", options_.service)).message()), false;
    }
    if (!S_ISDIR(folder.st_mode)) return Bad(absl::StrCat(options_.service, " is no directory")), false;
    if ((folder.st_mode & S_IWOTH) != 0) {
      report_.Warn(absl::StrCat(options_.service, " may be written by every user"),
                   absl::StrCat("one of them could put another socket there, and be taken for skeind: chmod o-w ",
                                options_.service));
    }
    return true;
  }

  bool SocketIsThere() {
    struct stat socket = {};
    if (stat(Socket().c_str(), &socket) != 0) {
      if (errno == ENOENT) return None(absl::StrCat("skeind: none serves ", options_.service)), false;
      return MayNot(), false;
    }
    if (!S_ISSOCK(socket.st_mode)) return Bad(absl::StrCat(Socket(), " is no socket")), false;
    if (faccessat(AT_FDCWD, Socket().c_str(), R_OK | W_OK, AT_EACCESS) != 0) return MayNot(), false;
    return true;
  }

  void MayNot() {
    Bad(absl::StrCat(Socket(), " may not be used by user ", geteuid()),
        absl::StrCat("its folder's permissions say who may use RDMA: chmod o+rx ", options_.service,
                     " for everybody, or a group; the socket's are 0666"));
  }

  void SayAbout(const About& about, absl::string_view name) {
    const std::string fact = absl::StrCat(name, ", serves ", options_.service, ", and other hosts at port ", about.port,
                                          ": Skein ", about.version);
    if (about.version == inspect::Version()) {
      report_.Ok(fact);
    } else {
      report_.Warn(fact, absl::StrCat("this command is of ", inspect::Version(),
                                      "; programs and skeind need not be of one version, but are tested so"));
    }
    SayShare("sessions", "--user-sessions", about.sessions);
    SayShare("virtual queue pairs", "--user-queue-pairs", about.queue_pairs);
    SayShare("registered bytes", "--user-memory", about.bytes);
  }

  void SayShare(absl::string_view what, absl::string_view option, const UserShare& share) {
    const std::string fact =
        absl::StrCat("skeind: this user's processes have ", share.used, " of ", share.most, " ", what);
    if (share.used < share.most - share.most / 10) return report_.Ok(fact);
    report_.Warn(fact, absl::StrCat("more connections will not use RDMA: start skeind with a higher ", option));
  }

  void SayDevice() {
    const absl::StatusOr<std::shared_ptr<fabric::Device>> device = fabric::OpenServiceDevice(options_.service, "");
    if (device.ok()) {
      return report_.Ok(absl::StrCat((*device)->name(), ": messages of up to ",
                                     (*device)->capabilities().max_message_bytes, " bytes"));
    }
    Bad(absl::StrCat("skeind has no RDMA port for this process: ", device.status().message()),
        "run skein doctor on the host, as skeind's user");
  }

  const RdmaOptions& options_;
  Report& report_;
};

}  // namespace

void CheckService(const RdmaOptions& options, Report& report) { ServiceCheck(options, report).Run(); }

}  // namespace skein::doctor
