// Callers that are told of their answers, instead of each waiting for its own: those of the callback and async
// interfaces.
#ifndef SKEIN_BENCH_MACRO_CROWD_H_
#define SKEIN_BENCH_MACRO_CROWD_H_

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "bench/macro/load.h"

namespace skein::bench {

// Makes one call after the other.
class Caller {
 public:
  Caller(const Stubs& stubs, const Payload& request) : request_(request), stubs_(stubs) {}
  virtual ~Caller() = default;

  // The load's call of this number, which waits since then. Crowd::Answered follows, once, maybe before this returns.
  void Start(size_t number, absl::Time since);
  // Whether the answer that has come is right; takes note of it.
  bool TakeAnswer(absl::Time now);

  size_t number() const { return number_; }
  Record TakeRecord() { return std::move(record_); }

 protected:
  // Starts a call with what is below.
  virtual void Call(Echo::Stub& stub) = 0;

  const Payload& request_;
  std::unique_ptr<grpc::ClientContext> context_;
  Payload reply_;
  grpc::Status status_;

 private:
  const Stubs& stubs_;
  size_t number_ = 0;
  absl::Time since_;
  Record record_;
};

// All callers of a load.
class Crowd {
 public:
  // Makes caller `number`, on the thread that runs the load.
  using Make = std::function<std::unique_ptr<Caller>(size_t number)>;

  Crowd(const Load& load, Make make) : load_(load), make_(std::move(make)) {}

  // Makes the load's calls and awaits their answers. Once.
  absl::StatusOr<Outcome> Run();

  // By whichever thread learns of it. In a closed loop the caller calls again from there.
  void Answered(Caller& caller);

 private:
  void StartAll();
  void KeepPace(absl::Time start);
  Caller& Free();
  bool AllHaveEnded() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return free_.size() + failed_ == callers_.size(); }

  const Load load_;
  const Make make_;
  absl::Time end_;
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<Caller>> callers_ ABSL_GUARDED_BY(mutex_);
  std::vector<Caller*> free_ ABSL_GUARDED_BY(mutex_);
  size_t failed_ ABSL_GUARDED_BY(mutex_) = 0;  // they are not used again, and remember why
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_MACRO_CROWD_H_
