// A client's calls, of every kind that --kinds names.
#ifndef SKEIN_TESTS_LOAD_GRPC_CALLS_H_
#define SKEIN_TESTS_LOAD_GRPC_CALLS_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/random/random.h"
#include "absl/time/time.h"
#include "tests/system/load/load.grpc.pb.h"
#include "tests/system/load/tally.h"

namespace skein::load {

// As gRPC has deadlines. (Not by absl::Now, which for two seconds does not notice that the clock was set.)
std::chrono::system_clock::time_point Within(absl::Duration time);

// One thread's calls, one after the other.
class Calls {
 public:
  Calls(const std::shared_ptr<grpc::Channel>& channel, bool looks_at_paths, Tally& tally);

  // The first of --kinds that there is none of; empty if there are all.
  static std::string UnknownKind();

  // One of any kind. Whether it was answered.
  bool One();

 private:
  using Kind = grpc::Status (Calls::*)(grpc::ClientContext&);
  static Kind KindCalled(const std::string& name);

  Payload Next();
  void Expect(const Payload& got, const std::string& wanted, const char* kind);

  grpc::Status Blocking(grpc::ClientContext& context);
  grpc::Status Queued(grpc::ClientContext& context);
  grpc::Status Callback(grpc::ClientContext& context);
  grpc::Status Chat(grpc::ClientContext& context);
  grpc::Status Get(grpc::ClientContext& context);
  grpc::Status Put(grpc::ClientContext& context);

  const std::unique_ptr<Load::Stub> stub_;
  const bool looks_at_paths_;
  Tally& tally_;
  std::vector<Kind> kinds_;
  absl::BitGen random_;
  uint32_t message_ = absl::Uniform<uint32_t>(random_);
  uint64_t bytes_ = 0;
  bool cancelled_ = false;  // by this caller
};

}  // namespace skein::load

#endif  // SKEIN_TESTS_LOAD_GRPC_CALLS_H_
