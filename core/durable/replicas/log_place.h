// Where a replica keeps its log, and the copy that is to take the log's place.
#ifndef SKEIN_CORE_DURABLE_REPLICAS_LOG_PLACE_H_
#define SKEIN_CORE_DURABLE_REPLICAS_LOG_PLACE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/durable/storage/storage.h"

namespace skein::durable {

// One thread at a time.
class LogPlace {
 public:
  virtual ~LogPlace() = default;
  // Null: there is none.
  virtual absl::StatusOr<std::unique_ptr<Storage>> OpenLog() = 0;
  // Zeros; in place of a copy that was cut short.
  virtual absl::StatusOr<std::unique_ptr<Storage>> MakeCopy(uint64_t bytes) = 0;
  // The copy, which is persisted, is the log from now on, whatever crashes; cut short, either is.
  virtual absl::Status TakeCopy() = 0;
};

// A file, and beside it "FILE.copy".
class FilePlace final : public LogPlace {
 public:
  explicit FilePlace(std::string path) : path_(std::move(path)) {}
  // Errors: OpenLogFile's, of both; FAILED_PRECONDITION: a file too small for a log.
  absl::StatusOr<std::unique_ptr<Storage>> OpenLog() override;
  absl::StatusOr<std::unique_ptr<Storage>> MakeCopy(uint64_t bytes) override;
  absl::Status TakeCopy() override;

 private:
  std::string CopyPath() const { return path_ + ".copy"; }

  const std::string path_;
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_REPLICAS_LOG_PLACE_H_
