#include "tests/unit/grpc_transport/iomgr/calls_chaos/caller.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/unit/grpc_transport/iomgr/calls_chaos/chaos.grpc.pb.h"
#include "tests/unit/grpc_transport/iomgr/calls_chaos/plan.h"
#include "tests/unit/grpc_transport/iomgr/calls_chaos/service.h"
#include "tests/unit/grpc_transport/iomgr/calls_chaos/steps.h"

namespace skein::calls_chaos {
namespace {

class Caller {
 public:
  Caller(Journal& journal, uint64_t call)
      : journal_(journal),
        plan_(PlanOf(call)),
        writer_steps_(journal, plan_, Part::kWriter),
        reader_steps_(journal, plan_, Part::kReader) {
    context_.set_wait_for_ready(true);
    context_.set_deadline(absl::ToChronoTime(absl::Now() + std::min(plan_.timeout, kPatience)));
    context_.AddMetadata(kCallKey, absl::StrCat(plan_.call));
    if (plan_.padding > 0) context_.AddMetadata("padding", std::string(plan_.padding, 'p'));
    if (plan_.compresses) context_.set_compression_algorithm(GRPC_COMPRESS_GZIP);
    context_.set_initial_metadata_corked(plan_.corked);
  }

  void Make(const Ends& ends, size_t channel) {
    journal_.Begin(plan_.call, channel, context_);
    const std::shared_ptr<Chaos::Stub> stub = ends.Stub(channel);
    const grpc::Status status = Call(*stub);
    Judge(status, journal_.End(plan_.call));
  }

 private:
  grpc::Status Call(Chaos::Stub& stub);
  grpc::Status Unary(Chaos::Stub& stub);
  grpc::Status Up(Chaos::Stub& stub);
  grpc::Status Down(Chaos::Stub& stub);
  grpc::Status Both(Chaos::Stub& stub);

  Payload Request(size_t index) const;
  template <class Stream>
  void WriteAll(Stream& stream);
  template <class Stream>
  void ReadAll(Stream& stream);
  void Take(const Payload& reply);

  void Judge(const grpc::Status& status, const Record& record);
  void JudgePlanned(const grpc::Status& status, const Record& record);
  // What made the call end so; empty: nothing did.
  std::string Cause(grpc::StatusCode code, const Record& record) const;
  void Wrong(absl::string_view what) { journal_.Wrong(plan_.call, what); }

  Journal& journal_;
  const Plan plan_;
  grpc::ClientContext context_;
  Steps writer_steps_;
  Steps reader_steps_;
  size_t taken_ = 0;  // replies
};

grpc::Status Caller::Call(Chaos::Stub& stub) {
  switch (plan_.kind) {
    case Kind::kUnary:
      return Unary(stub);
    case Kind::kUp:
      return Up(stub);
    case Kind::kDown:
      return Down(stub);
    case Kind::kBoth:
      return Both(stub);
  }
  return {};
}

grpc::Status Caller::Unary(Chaos::Stub& stub) {
  Payload reply;
  grpc::Status status = stub.Unary(&context_, Request(0), &reply);
  if (status.ok()) Take(reply);
  return status;
}

grpc::Status Caller::Up(Chaos::Stub& stub) {
  Payload reply;
  const auto writer = stub.Up(&context_, &reply);
  WriteAll(*writer);
  grpc::Status status = writer->Finish();
  if (status.ok()) Take(reply);
  return status;
}

grpc::Status Caller::Down(Chaos::Stub& stub) {
  const auto reader = stub.Down(&context_, Request(0));
  ReadAll(*reader);
  return reader->Finish();
}

grpc::Status Caller::Both(Chaos::Stub& stub) {
  const auto stream = stub.Both(&context_);
  std::thread writer([&] { WriteAll(*stream); });
  ReadAll(*stream);
  writer.join();
  return stream->Finish();
}

Payload Caller::Request(size_t index) const {
  Payload request;
  request.set_data(Message(plan_.call, /*is_reply=*/false, index, plan_.requests[index]));
  return request;
}

template <class Stream>
void Caller::WriteAll(Stream& stream) {
  const size_t messages = plan_.requests.size();
  for (size_t i = 0; i < messages; ++i) {
    writer_steps_.Next();
    const grpc::WriteOptions options = writer_steps_.Options();
    if (i + 1 == messages && plan_.joins_end) return stream.WriteLast(Request(i), options);
    if (!stream.Write(Request(i), options)) return;  // the status says why
  }
  stream.WritesDone();
}

template <class Stream>
void Caller::ReadAll(Stream& stream) {
  // Corked, it may not have been sent yet.
  if (plan_.awaits_initial && (!plan_.corked || plan_.kind == Kind::kDown)) stream.WaitForInitialMetadata();
  Payload reply;
  for (reader_steps_.Next(); stream.Read(&reply); reader_steps_.Next()) Take(reply);
}

void Caller::Take(const Payload& reply) {
  if (taken_ >= plan_.replies.size()) {
    Wrong("the caller gets a reply that nobody has sent");
  } else if (reply.data() != Message(plan_.call, /*is_reply=*/true, taken_, plan_.replies[taken_])) {
    Wrong(absl::StrCat("reply ", taken_, " is another, of ", reply.data().size(), " bytes"));
  }
  ++taken_;
}

// ---- The end ----

void Caller::Judge(const grpc::Status& status, const Record& record) {
  if (status.error_code() == (plan_.fails ? grpc::StatusCode::ABORTED : grpc::StatusCode::OK)) {
    JudgePlanned(status, record);
    return journal_.Count("as planned");
  }
  const std::string cause = Cause(status.error_code(), record);
  if (cause.empty()) {
    Wrong(absl::StrCat("ends for no reason with status ", static_cast<int>(status.error_code()), ": ",
                       status.error_message(), "; handled ", record.handled, " times",
                       record.complete ? ", once to the end" : ""));
  }
  journal_.Count(cause);
}

// Only the handler ends a call so: it has done all that it was to do, and the caller must have all of it.
void Caller::JudgePlanned(const grpc::Status& status, const Record& record) {
  if (!record.complete) Wrong("ends as if it had been handled");
  if (taken_ != plan_.replies.size()) Wrong(absl::StrCat("ends behind ", taken_, " replies"));
  if (plan_.fails && status.error_message() != LastWords(plan_.call)) Wrong("has another call's end");
  const auto& metadata = context_.GetServerTrailingMetadata();
  const auto number = metadata.find(kCallKey);
  if (number == metadata.end() || number->second != absl::StrCat(plan_.call)) Wrong("has another call's metadata");
}

std::string Caller::Cause(grpc::StatusCode code, const Record& record) const {
  // Not by the clock here: the server's gRPC counts from a time that it has read some milliseconds earlier, maybe.
  const bool may_expire = plan_.timeout < kPatience;
  const bool server_ended = (record.befallen & kServerEnds) != 0;
  switch (code) {
    case grpc::StatusCode::CANCELLED:
      return record.cancelled ? "cancelled" : server_ended ? "cancelled by the server's end" : "";
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return may_expire ? "expired" : "";
    case grpc::StatusCode::UNAVAILABLE:
      return server_ended ? "lost with the server" : (record.befallen & kCut) != 0 ? "cut" : "";
    case grpc::StatusCode::INTERNAL:
      // gRPC's own server says so of a call whose request it is to read as it ends.
      return server_ended && record.handled == 0 && plan_.kind != Kind::kBoth ? "lost with the server" : "";
    default:
      return "";
  }
}

}  // namespace

void MakeCall(Journal& journal, const Ends& ends, size_t channel, uint64_t call) {
  Caller(journal, call).Make(ends, channel);
}

}  // namespace skein::calls_chaos
