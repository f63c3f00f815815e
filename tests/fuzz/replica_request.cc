// What is asked of a replica, and what it answers, from anybody that connects.
#include "core/durable/replicas/request.h"
#include "tests/fuzz/fuzz_target.h"

namespace skein::fuzz {

std::vector<std::string> Seeds() {
  durable::ReplicaRequest request{.verb = durable::ReplicaVerb::kFollow,
                                  .identity = {1, 2},
                                  .bytes = 1 << 20,
                                  .term = {.number = 3, .id = {7}},
                                  .run = 5,
                                  .logs = 3,
                                  .acknowledge = 2,
                                  .group = 9,
                                  .offer = "an offer"};
  const std::string follow = EncodeRequest(request);
  request.verb = durable::ReplicaVerb::kPromise;
  const durable::ReplicaAnswer no{.status = absl::FailedPreconditionError("of another log")};
  const durable::ReplicaAnswer yes{
      .status = absl::OkStatus(), .has = 7, .epoch = 2, .tail = 640, .answer = "an answer"};
  return {follow, EncodeRequest(request), EncodeAnswer(no), EncodeAnswer(yes), follow.substr(1)};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skein;  // NOLINT(google-build-using-namespace): for the rest of this function
  const absl::string_view bytes = fuzz::Text(data, size);
  if (const auto request = durable::DecodeRequest(bytes); request.ok()) {
    fuzz::Require(durable::EncodeRequest(*request) == bytes, "a request is what its bytes say");
  }
  if (const auto answer = durable::DecodeAnswer(bytes); answer.ok()) {
    const auto again = durable::DecodeAnswer(durable::EncodeAnswer(*answer));
    fuzz::Require(again.ok() && again->status == answer->status && again->standing == answer->standing &&
                      again->has == answer->has && again->answer == answer->answer,
                  "an answer is what its bytes say");
  }
  return 0;
}
