// The skeind that serves a folder now, as another one that takes its place has it:
//
//     successor                                    predecessor
//     kPassListener, for each of the two     -->   answers with the descriptor; both listen on it
//     has all that it needs
//     kStop                                  -->   closes the listeners, answers, ends its sessions and trunks, goes
//     waits for its end; serves
//
// At each moment somebody listens, so no process and no skeind is turned away. A successor that fails before kStop has
// changed nothing.
#ifndef SKEIN_CORE_SERVICE_PREDECESSOR_H_
#define SKEIN_CORE_SERVICE_PREDECESSOR_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"
#include "core/fabric/service/query.h"

namespace skein::service {

// The errors say what to do.
class Predecessor {
 public:
  // Nothing: nobody listens in `folder`.
  static absl::StatusOr<std::optional<Predecessor>> Find(const std::string& folder);

  absl::StatusOr<UniqueFd> Listener(fabric::service::Listener which) const;
  // Waits until it has gone, for 10 s at most. ALREADY_EXISTS: another successor was faster, and has its place.
  // INTERNAL: this process's kernel did not let it be told, and it goes on. Another error: it has not gone, but has
  // been told to, and takes nobody any more once it hears that: the successor serves.
  absl::Status Stop() const;

 private:
  Predecessor(std::string folder, fabric::service::Query query)
      : folder_(std::move(folder)), query_(std::move(query)) {}
  absl::Status Explain(const absl::Status& status) const;

  std::string folder_;
  fabric::service::Query query_;
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_PREDECESSOR_H_
