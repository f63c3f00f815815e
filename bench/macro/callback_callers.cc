#include "bench/macro/crowd.h"
#include "bench/macro/load.h"

namespace skein::bench {
namespace {

class CallbackCaller final : public Caller {
 public:
  CallbackCaller(const Stubs& stubs, const Payload& request, Crowd& crowd) : Caller(stubs, request), crowd_(crowd) {}

 private:
  void Call(Echo::Stub& stub) override {
    stub.async()->Call(context_.get(), &request_, &reply_, [this](grpc::Status status) {
      status_ = std::move(status);
      crowd_.Answered(*this);
    });
  }

  Crowd& crowd_;
};

}  // namespace

absl::StatusOr<Outcome> RunCallback(const Stubs& stubs, const Load& load) {
  const Payload request = PayloadOf(load.bytes);
  Crowd crowd(load, [&](size_t) { return std::make_unique<CallbackCaller>(stubs, request, crowd); });
  return crowd.Run();
}

}  // namespace skein::bench
