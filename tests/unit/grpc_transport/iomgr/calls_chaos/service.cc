#include "tests/unit/grpc_transport/iomgr/calls_chaos/service.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/unit/grpc_transport/iomgr/calls_chaos/plan.h"
#include "tests/unit/grpc_transport/iomgr/calls_chaos/steps.h"

namespace skein::calls_chaos {
namespace {

uint64_t CallOf(const grpc::ServerContext& context) {
  const auto found = context.client_metadata().find(kCallKey);
  uint64_t call = 0;
  const bool has_one = found != context.client_metadata().end() &&
                       absl::SimpleAtoi(absl::string_view(found->second.data(), found->second.size()), &call);
  return has_one ? call : 0;
}

// One call, in its handler.
class Handling {
 public:
  Handling(Journal& journal, grpc::ServerContext& context)
      : journal_(journal), plan_(PlanOf(CallOf(context))), steps_(journal, plan_, Part::kHandler) {
    if (plan_.call == 0) journal_.Wrong(0, "a call reaches its handler without its number");
    journal_.HandlerBegins(plan_.call);
    context.AddTrailingMetadata(kCallKey, absl::StrCat(plan_.call));
    if (plan_.compresses) context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  }
  const Plan& plan() const { return plan_; }

  void Take(const Payload& request) {
    steps_.Next();
    if (read_ >= plan_.requests.size()) {
      journal_.Wrong(plan_.call, "the handler gets a request that nobody has sent");
    } else if (request.data() != Message(plan_.call, /*is_reply=*/false, read_, plan_.requests[read_])) {
      journal_.Wrong(plan_.call, absl::StrCat("request ", read_, " is another, of ", request.data().size(), " bytes"));
    }
    ++read_;
  }
  template <class Stream>
  bool Read(Stream& stream) {
    Payload request;
    if (!stream.Read(&request)) return false;
    Take(request);
    return true;
  }
  void Fill(Payload& reply) {
    steps_.Next();
    reply.set_data(Message(plan_.call, /*is_reply=*/true, written_, plan_.replies[written_]));
    ++written_;
  }
  template <class Stream>
  bool Write(Stream& stream) {
    Payload reply;
    Fill(reply);
    if (written_ < plan_.replies.size() || !plan_.joins_end) return stream.Write(reply, steps_.Options());
    stream.WriteLast(reply, steps_.Options());
    return true;
  }
  // The half-close, if the handler is to see it.
  template <class Stream>
  void ReadEnd(Stream& stream) {
    if (read_ == plan_.requests.size()) Read(stream);
  }

  grpc::Status End() {
    journal_.HandlerIsComplete(plan_.call);
    return plan_.fails ? grpc::Status(grpc::StatusCode::ABORTED, LastWords(plan_.call)) : grpc::Status::OK;
  }
  // A read or a write has failed, so the call has. Its caller is to have a status that says why, and not this one.
  static grpc::Status Stopped() { return {grpc::StatusCode::DATA_LOSS, "the handler could not do all of its plan"}; }

 private:
  Journal& journal_;
  const Plan plan_;
  Steps steps_;
  size_t read_ = 0;
  size_t written_ = 0;
};

}  // namespace

std::string LastWords(uint64_t call) { return absl::StrCat("as planned of ", call); }

grpc::Status Service::Unary(grpc::ServerContext* context, const Payload* request, Payload* reply) {
  Handling call(journal_, *context);
  call.Take(*request);
  if (!call.plan().replies.empty()) call.Fill(*reply);
  return call.End();
}

grpc::Status Service::Up(grpc::ServerContext* context, grpc::ServerReader<Payload>* reader, Payload* reply) {
  Handling call(journal_, *context);
  if (call.plan().initial_early) reader->SendInitialMetadata();
  for (size_t i = 0; i < call.plan().read; ++i) {
    if (!call.Read(*reader)) return Handling::Stopped();
  }
  call.ReadEnd(*reader);
  if (!call.plan().replies.empty()) call.Fill(*reply);
  return call.End();
}

grpc::Status Service::Down(grpc::ServerContext* context, const Payload* request, grpc::ServerWriter<Payload>* writer) {
  Handling call(journal_, *context);
  if (call.plan().initial_early) writer->SendInitialMetadata();
  call.Take(*request);
  for (size_t i = 0; i < call.plan().replies.size(); ++i) {
    if (!call.Write(*writer)) return Handling::Stopped();
  }
  return call.End();
}

grpc::Status Service::Both(grpc::ServerContext* context, grpc::ServerReaderWriter<Payload, Payload>* stream) {
  Handling call(journal_, *context);
  if (call.plan().initial_early) stream->SendInitialMetadata();
  for (const bool reads : call.plan().turns) {
    if (!(reads ? call.Read(*stream) : call.Write(*stream))) return Handling::Stopped();
  }
  call.ReadEnd(*stream);
  return call.End();
}

grpc::Status Service::Where(grpc::ServerContext* context, const Payload* /*request*/, Place* place) {
  place->set_server(number_);
  place->set_client(context->peer());
  return grpc::Status::OK;
}

}  // namespace skein::calls_chaos
