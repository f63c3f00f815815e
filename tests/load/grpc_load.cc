// Calls of every kind between two gRPC processes, each byte of which is checked.
//   grpc_load --serve=127.0.0.1:0 [--mode=require]     prints "listening on ADDRESS", serves until its input ends
//                                                    and answers lines of it (heap.h)
//   grpc_load --targets=ADDRESS,... [--threads=3] [...]     calls until its input ends; answers "report" lines
//   (callers.h)
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <future>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "grpc_transport/skein.h"
#include "tests/load/callers.h"
#include "tests/load/heap.h"
#include "tests/load/load.grpc.pb.h"
#include "tests/load/options.h"
#include "tests/load/pattern.h"
#include "tests/load/tally.h"

namespace skein::load {
namespace {

class Service final : public Load::Service {
 public:
  grpc::Status Echo(grpc::ServerContext*, const Payload* request, Payload* reply) override {
    *reply = *request;
    return grpc::Status::OK;
  }
  grpc::Status Chat(grpc::ServerContext*, grpc::ServerReaderWriter<Payload, Payload>* stream) override {
    Payload message;
    while (stream->Read(&message) && stream->Write(message)) {
    }
    return grpc::Status::OK;
  }
  grpc::Status Get(grpc::ServerContext*, const Order* order, grpc::ServerWriter<Payload>* writer) override {
    Payload message;
    for (uint32_t i = 0; i < order->messages(); ++i) {
      message.set_data(Pattern(order->bytes(), order->seed() + i));
      if (!writer->Write(message)) break;
    }
    return grpc::Status::OK;
  }
  grpc::Status Put(grpc::ServerContext*, grpc::ServerReader<Payload>* reader, Order* reply) override {
    Payload message;
    while (reader->Read(&message)) reply->set_bytes(reply->bytes() + message.data().size());
    return grpc::Status::OK;
  }
};

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
  std::set<std::string> paths;
  for (const Path& path : Paths()) {
    if (path.role != Path::Role::kClient || path.peer != peer) continue;
    paths.insert(absl::StrCat(path.path, path.why.empty() ? "" : ": ", path.why));
  }
  return paths.empty() ? "none" : absl::StrJoin(paths, " + ");
}

// As gRPC has deadlines. (Not by absl::Now, which for two seconds does not notice that the clock was set.)
std::chrono::system_clock::time_point Within(absl::Duration time) {
  return std::chrono::system_clock::now() + absl::ToChronoMicroseconds(time);
}

constexpr absl::Duration kHurry = absl::Milliseconds(5);

// One thread's calls, one after the other.
class Calls {
 public:
  Calls(const std::shared_ptr<grpc::Channel>& channel, bool looks_at_paths, Tally& tally)
      : stub_(Load::NewStub(channel)), looks_at_paths_(looks_at_paths), tally_(tally) {}

  // One of any kind. Whether it was answered.
  bool One() {
    grpc::ClientContext context;
    // Of twenty one is in a hurry.
    const absl::Duration deadline =
        absl::Bernoulli(random_, absl::GetFlag(FLAGS_hurried)) ? kHurry : absl::GetFlag(FLAGS_deadline);
    const absl::Duration start = Elapsed();
    context.set_deadline(Within(deadline));
    const Tally::Underway underway(tally_, start + deadline);
    bytes_ = 0;
    cancelled_ = false;
    const grpc::Status status = Any(context);
    const absl::Duration took = Elapsed() - start;
    // What a caller gives up by itself is not the server's doing.
    const bool hurried = status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED && deadline < kHurry * 2;
    const bool cancelled = status.error_code() == grpc::StatusCode::CANCELLED && cancelled_;
    tally_.Ended(hurried || cancelled ? "GIVEN_UP" : StatusName(status.error_code()), status.error_message(), took,
                 took - deadline, bytes_);
    if (status.ok() && looks_at_paths_) tally_.Over(PathTo(context.peer()));
    return status.ok() || hurried || cancelled;
  }

 private:
  grpc::Status Any(grpc::ClientContext& context) {
    switch (absl::Uniform(random_, 0, 6)) {
      case 0:
        return Chat(context);
      case 1:
        return Get(context);
      case 2:
        return Put(context);
      case 3:
        return Queued(context);
      case 4:
        return Callback(context);
      default:
        return Blocking(context);
    }
  }
  Payload Next() {
    Payload payload;
    payload.set_data(Pattern(AnySize(random_), ++message_));
    bytes_ += payload.data().size();
    return payload;
  }
  void Expect(const Payload& got, const std::string& wanted, const char* kind) {
    if (got.data() != wanted) tally_.Wrong(absl::StrCat(kind, " of ", wanted.size(), " bytes"));
  }

  grpc::Status Blocking(grpc::ClientContext& context) {
    const Payload request = Next();
    Payload reply;
    grpc::Status status = stub_->Echo(&context, request, &reply);
    if (status.ok()) Expect(reply, request.data(), "echo");
    return status;
  }
  grpc::Status Queued(grpc::ClientContext& context) {
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
  grpc::Status Callback(grpc::ClientContext& context) {
    const Payload request = Next();
    Payload reply;
    std::promise<grpc::Status> done;
    stub_->async()->Echo(&context, &request, &reply, [&done](const grpc::Status& status) { done.set_value(status); });
    grpc::Status status = done.get_future().get();
    if (status.ok()) Expect(reply, request.data(), "echo by callback");
    return status;
  }
  grpc::Status Chat(grpc::ClientContext& context) {
    const auto stream = stub_->Chat(&context);
    for (int left = absl::Uniform(random_, 1, 20); left > 0; --left) {
      const Payload said = Next();
      Payload heard;
      if (!stream->Write(said) || !stream->Read(&heard)) return stream->Finish();
      Expect(heard, said.data(), "chat");
      if (absl::Bernoulli(random_, 0.01)) {
        cancelled_ = true;
        context.TryCancel();
      }
    }
    stream->WritesDone();
    Payload more;
    if (stream->Read(&more)) tally_.Wrong("a chat that goes on");
    return stream->Finish();
  }
  grpc::Status Get(grpc::ClientContext& context) {
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
  grpc::Status Put(grpc::ClientContext& context) {
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

  const std::unique_ptr<Load::Stub> stub_;
  const bool looks_at_paths_;
  Tally& tally_;
  absl::BitGen random_;
  uint32_t message_ = absl::Uniform<uint32_t>(random_);
  uint64_t bytes_ = 0;
  bool cancelled_ = false;  // by this caller
};

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  // What an attempt may take, at least.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
                   static_cast<int>(absl::ToInt64Milliseconds(absl::GetFlag(FLAGS_connecting))));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetString("skein.mode", absl::GetFlag(FLAGS_mode));
  return arguments;
}

// A thread's: a channel, and now and then another.
void Run(const std::string& target, Tally& tally, const std::atomic<bool>& ended) {
  Kept<grpc::Channel> kept;
  while (!ended) {
    const auto channel = grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), Arguments());
    // A look sees the paths of all connections, which takes longer than a call where thousands are kept.
    const bool looks_at_paths = kept.size() < 100 || kept.size() % 100 == 0;
    Calls calls(channel, looks_at_paths, tally);
    for (int left = absl::GetFlag(FLAGS_calls_each); left > 0 && !ended; --left) {
      // Not one failure after the other while there is no connection.
      if (!calls.One()) channel->WaitForConnected(Within(absl::Milliseconds(100)));
    }
    kept.Add(channel);
  }
}

int Serve() {
  Service service;
  grpc::ServerBuilder builder;
  const Address address = AddressOf(absl::GetFlag(FLAGS_serve));
  int port = 0;
  builder.AddListeningPort(absl::GetFlag(FLAGS_serve), grpc::InsecureServerCredentials(), &port);
  builder.AddChannelArgument("skein.mode", absl::GetFlag(FLAGS_mode));
  builder.SetMaxReceiveMessageSize(-1);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) return 1;
  std::cout << "listening on " << address.host << ":" << port << std::endl;
  ReportHeapUntilEnd();
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  return 0;
}

}  // namespace
}  // namespace skein::load

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  if (const absl::Status status = skein::grpc_transport::Init(); !status.ok()) {
    std::cerr << status << std::endl;
    return 1;
  }
  return absl::GetFlag(FLAGS_serve).empty() ? skein::load::RunCallers(skein::load::Run) : skein::load::Serve();
}
