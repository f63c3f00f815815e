// Any offer gets an answer, and any answer an outcome: a stream, or why there is none.
//
//   input = u8 active | the offer, or the answer
#include "core/fabric/sim/simulation.h"
#include "core/stream/connector.h"
#include "core/wire/negotiation.h"
#include "tests/fuzz/one_link.h"

namespace skein::fuzz {
namespace {

// Both ends, of which one hears what is honest but for the input. The same in every run.
class Ends {
 public:
  stream::Listener& listener() { return *listener_; }
  stream::Connector& connector() { return *connector_; }

 private:
  std::shared_ptr<connect::Fabrics> Fabrics(absl::string_view name) {
    return std::make_shared<connect::OneFabric>(simulation_.CreateDevice(name));
  }
  fabric::Simulation simulation_{20261121};
  OneLink passive_{simulation_};
  OneLink active_{simulation_};
  const stream::StreamOptions options_{.link = {.ring_bytes = wire::kRingGranule}};
  std::unique_ptr<stream::Listener> listener_ = stream::CreateListener(Fabrics("passive"), options_, &passive_);
  std::unique_ptr<stream::Connector> connector_ = stream::CreateConnector(Fabrics("active"), options_, &active_);
};

void Accept(absl::string_view offer) {
  Ends ends;
  const stream::Listener::Result result = ends.listener().Accept(offer, {});
  Require(result.answer.size() <= connect::kMaxAnswerBytes, "an answer's size");
  Require(wire::DecodeAnswer(result.answer).ok(), "an answer is one");
  Require(result.outcome.stream != nullptr || result.outcome.why.code != FallbackCode::kNone, "a stream, or why not");
}

void Complete(absl::string_view answer) {
  Ends ends;
  const auto attempt = ends.connector().Begin({}).value();
  const stream::Outcome outcome = attempt->Complete(answer);
  Require(outcome.stream != nullptr || outcome.why.code != FallbackCode::kNone, "a stream, or why not");
}

}  // namespace

std::vector<std::string> Seeds() {
  Ends ends;
  const auto attempt = ends.connector().Begin({}).value();
  const std::string answer = ends.listener().Accept(attempt->offer(), {}).answer;
  std::string offer(attempt->offer());
  return {std::string(1, '\0') + offer, std::string(1, '\1') + answer, std::string(1, '\1') + offer};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view bytes = skein::fuzz::Text(data + 1, size - 1);
  if (data[0] == 0) {
    skein::fuzz::Accept(bytes.substr(0, skein::connect::kMaxOfferBytes));
  } else {
    skein::fuzz::Complete(bytes);
  }
  return 0;
}
