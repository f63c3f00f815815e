#include "thrift_transport/call_trace.h"

#include <utility>

namespace skein::thrift_transport {

using trace::At;
using trace::Stage;

CallTrace::CallTrace(bool client, const std::string& path) : client_(client) {
  record_.side = client ? trace::Side::kClient : trace::Side::kServer;
  const bool shm = path == trace::PathName(trace::Path::kShm);
  record_.path = shm ? trace::Path::kShm : trace::Path::kRdma;
}

void CallTrace::BeginGathering() {
  if (gathering_ == 0) gathering_ = trace::Now();
}

void CallTrace::BeginSending() {
  const uint64_t since = std::exchange(gathering_, 0);
  const bool filled = filled_.load(std::memory_order_acquire);
  if (client_) {
    // The last one's answer has yet to come: this is another message of the same call, or a call nobody answers.
    if (filled || !trace::Sampled()) return;
    record_.times = {};
    At(record_.times, Stage::kSubmitted) = since;
    At(record_.times, Stage::kQueued) = trace::Now();
  } else {
    if (!filled) return;
    At(record_.times, Stage::kHandlerEnd) = since;
    At(record_.times, Stage::kReplyQueued) = trace::Now();
  }
  sending_ = true;
}

void CallTrace::EndSending(size_t bytes) {
  sending_ = false;
  const link::Departure& departure = link::last_departure;
  record_.degree = departure.degree;
  if (client_) {
    record_.bytes = static_cast<uint32_t>(bytes);
    At(record_.times, Stage::kLed) = departure.led;
    At(record_.times, Stage::kPosted) = departure.posted;
    filled_.store(true, std::memory_order_release);
    return;
  }
  At(record_.times, Stage::kReplyPosted) = departure.posted;
  trace::Push(record_);
  filled_.store(false, std::memory_order_release);
}

void CallTrace::Came(const link::Arrival& arrival) {
  const bool filled = filled_.load(std::memory_order_acquire);
  if (client_) {
    if (!filled) return;
    At(record_.times, Stage::kReplyPosted) = OnOneHost(arrival.posted);
    At(record_.times, Stage::kReplyArrived) = arrival.arrived;
    At(record_.times, Stage::kDelivered) = trace::Now();
    trace::Push(record_);
    filled_.store(false, std::memory_order_release);
    return;
  }
  // More of the same request, or a new one: the first counts.
  if (filled || !trace::Sampled()) return;
  record_.times = {};
  At(record_.times, Stage::kPosted) = OnOneHost(arrival.posted);
  At(record_.times, Stage::kArrived) = arrival.arrived;
  At(record_.times, Stage::kDispatched) = trace::Now();
  filled_.store(true, std::memory_order_release);
}

}  // namespace skein::thrift_transport
