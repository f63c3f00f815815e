#include "tests/system/load/grpc_calls.h"

#include <skein/grpc.h>

#include <chrono>
#include <future>
#include <map>
#include <set>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/system/load/grpc_options.h"
#include "tests/system/load/options.h"
#include "tests/system/load/pattern.h"

namespace skein::load {
namespace {

std::string StatusName(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK:
      return "OK";
    case grpc::StatusCode::UNAVAILABLE:
      return "UNAVAILABLE";
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return "DEADLINE_EXCEEDED";
    case grpc::StatusCode::CANCELLED:
      return "CANCELLED";
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return "RESOURCE_EXHAUSTED";
    default:
      return absl::StrCat("STATUS_", code);
  }
}

// Of the connections to a peer; "none" if they have gone meanwhile, or Skein has no say in them.
std::string PathTo(const std::string& peer) {
  // A stock process has what gRPC has: if Skein had a say in anything, it would be none.
  if (Stock()) return Paths().empty() ? "tcp: stock" : "not stock";
  std::set<std::string> paths;
  for (const Path& path : Paths()) {
    if (path.role != Path::Role::kClient || path.peer != peer) continue;
    paths.insert(absl::StrCat(path.path, path.why.empty() ? "" : ": ", path.why));
  }
  return paths.empty() ? "none" : absl::StrJoin(paths, " + ");
}

constexpr absl::Duration kHurry = absl::Milliseconds(5);

}  // namespace

std::chrono::system_clock::time_point Within(absl::Duration time) {
  return std::chrono::system_clock::now() + absl::ToChronoMicroseconds(time);
}

Calls::Calls(const std::shared_ptr<grpc::Channel>& channel, bool looks_at_paths, Tally& tally)
    : stub_(Load::NewStub(channel)), looks_at_paths_(looks_at_paths), tally_(tally) {
  for (const std::string& name : absl::GetFlag(FLAGS_kinds)) kinds_.push_back(KindCalled(name));
}

Calls::Kind Calls::KindCalled(const std::string& name) {
  static const auto* const kinds = new std::map<std::string, Kind>{
      {"blocking", &Calls::Blocking}, {"queued", &Calls::Queued}, {"callback", &Calls::Callback},
      {"chat", &Calls::Chat},         {"get", &Calls::Get},       {"put", &Calls::Put},
  };
  const auto found = kinds->find(name);
  return found == kinds->end() ? nullptr : found->second;
}

std::string Calls::UnknownKind() {
  for (const std::string& name : absl::GetFlag(FLAGS_kinds)) {
    if (KindCalled(name) == nullptr) return name;
  }
  return "";
}

bool Calls::One() {
  grpc::ClientContext context;
  const absl::Duration deadline =
      absl::Bernoulli(random_, absl::GetFlag(FLAGS_hurried)) ? kHurry : absl::GetFlag(FLAGS_deadline);
  const absl::Duration start = Elapsed();
  context.set_deadline(Within(deadline));
  const Tally::Underway underway(tally_, start + deadline);
  bytes_ = 0;
  cancelled_ = false;
  const Kind kind = kinds_[absl::Uniform<size_t>(random_, 0, kinds_.size())];
  const grpc::Status status = (this->*kind)(context);
  const absl::Duration took = Elapsed() - start;
  // What a caller gives up by itself is not the server's doing.
  const bool hurried = status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED && deadline < kHurry * 2;
  const bool cancelled = status.error_code() == grpc::StatusCode::CANCELLED && cancelled_;
  tally_.Ended(hurried || cancelled ? "GIVEN_UP" : StatusName(status.error_code()), status.error_message(), took,
               took - deadline, bytes_);
  if (status.ok() && looks_at_paths_) tally_.Over(PathTo(context.peer()));
  return status.ok() || hurried || cancelled;
}

Payload Calls::Next() {
  Payload payload;
  payload.set_data(Pattern(AnySize(random_), ++message_));
  bytes_ += payload.data().size();
  return payload;
}

void Calls::Expect(const Payload& got, const std::string& wanted, const char* kind) {
  if (got.data() != wanted) tally_.Wrong(absl::StrCat(kind, " of ", wanted.size(), " bytes"));
}

grpc::Status Calls::Blocking(grpc::ClientContext& context) {
  const Payload request = Next();
  Payload reply;
  grpc::Status status = stub_->Echo(&context, request, &reply);
  if (status.ok()) Expect(reply, request.data(), "echo");
  return status;
}

grpc::Status Calls::Queued(grpc::ClientContext& context) {
  const Payload request = Next();
  Payload reply;
  grpc::Status status;
  grpc::CompletionQueue queue;
  const auto call = stub_->AsyncEcho(&context, request, &queue);
  call->Finish(&reply, &status, this);
  void* tag = nullptr;
  bool ok = false;
  if (!queue.Next(&tag, &ok) || tag != this || !ok) tally_.Wrong("a completion queue");
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  if (status.ok()) Expect(reply, request.data(), "queued echo");
  return status;
}

grpc::Status Calls::Callback(grpc::ClientContext& context) {
  const Payload request = Next();
  Payload reply;
  std::promise<grpc::Status> done;
  stub_->async()->Echo(&context, &request, &reply, [&done](const grpc::Status& status) { done.set_value(status); });
  grpc::Status status = done.get_future().get();
  if (status.ok()) Expect(reply, request.data(), "echo by callback");
  return status;
}

grpc::Status Calls::Chat(grpc::ClientContext& context) {
  const auto stream = stub_->Chat(&context);
  for (int left = absl::Uniform(random_, 1, 20); left > 0; --left) {
    const Payload said = Next();
    Payload heard;
    if (!stream->Write(said) || !stream->Read(&heard)) return stream->Finish();
    Expect(heard, said.data(), "chat");
    if (absl::Bernoulli(random_, absl::GetFlag(FLAGS_cancelled))) {
      cancelled_ = true;
      context.TryCancel();
    }
  }
  stream->WritesDone();
  Payload more;
  if (stream->Read(&more)) tally_.Wrong("a chat that goes on");
  return stream->Finish();
}

grpc::Status Calls::Get(grpc::ClientContext& context) {
  Order order;
  order.set_seed(absl::Uniform<uint32_t>(random_));
  order.set_messages(absl::Uniform(random_, 0, 10));
  order.set_bytes(AnySize(random_));
  const auto reader = stub_->Get(&context, order);
  Payload message;
  uint32_t came = 0;
  for (; reader->Read(&message); ++came) {
    Expect(message, Pattern(order.bytes(), order.seed() + came), "get");
    bytes_ += message.data().size();
  }
  grpc::Status status = reader->Finish();
  if (status.ok() && came != order.messages()) tally_.Wrong("messages of a get");
  return status;
}

grpc::Status Calls::Put(grpc::ClientContext& context) {
  Order reply;
  const auto writer = stub_->Put(&context, &reply);
  uint64_t put = 0;
  for (int left = absl::Uniform(random_, 0, 10); left > 0; --left) {
    const Payload message = Next();
    if (!writer->Write(message)) break;
    put += message.data().size();
  }
  writer->WritesDone();
  grpc::Status status = writer->Finish();
  if (status.ok() && reply.bytes() != put) tally_.Wrong("bytes of a put");
  return status;
}

}  // namespace skein::load
