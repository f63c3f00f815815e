#include "examples/greeter/greeter_calls.h"

#include <iostream>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "examples/client.h"
#include "examples/greeter/greeter.grpc.pb.h"

namespace skein::examples {
namespace {

void SetDeadline(grpc::ClientContext& context, absl::Duration from_now) {
  context.set_deadline(absl::ToChronoTime(absl::Now() + from_now));
}

grpc::Status Hello(Greeter::Stub& stub, const std::string& name, bool wait_for_server = false) {
  grpc::ClientContext context;
  context.set_wait_for_ready(wait_for_server);
  SetDeadline(context, wait_for_server ? kPatience : absl::Seconds(2));
  HelloRequest request;
  request.set_name(name);
  HelloReply reply;
  grpc::Status status = stub.SayHello(&context, request, &reply);
  if (status.ok() && reply.message() != "Hello, " + name) return {grpc::StatusCode::DATA_LOSS, reply.message()};
  return status;
}

grpc::Status Echo(Greeter::Stub& stub, const Blob& blob) {
  grpc::ClientContext context;
  SetDeadline(context, absl::Seconds(10));
  Blob reply;
  grpc::Status status = stub.Echo(&context, blob, &reply);
  if (status.ok() && reply.data() != blob.data()) return {grpc::StatusCode::DATA_LOSS, "the echo differs"};
  return status;
}

// Three names there, three greetings back, in order.
grpc::Status Chat(Greeter::Stub& stub) {
  grpc::ClientContext context;
  SetDeadline(context, absl::Seconds(2));
  auto stream = stub.Chat(&context);
  for (const char* name : {"goose", "gander", "gosling"}) {
    HelloRequest request;
    request.set_name(name);
    HelloReply reply;
    if (!stream->Write(request) || !stream->Read(&reply)) break;
    if (reply.message() != std::string("Hello, ") + name) return {grpc::StatusCode::DATA_LOSS, reply.message()};
  }
  stream->WritesDone();
  return stream->Finish();
}

int Fail(const grpc::Status& status) {
  std::cerr << absl::StreamFormat("status %d: %s", status.error_code(), status.error_message()) << std::endl;
  return 1;
}

int Measure(Greeter::Stub& stub) {
  grpc::Status status = Chat(stub);
  if (!status.ok()) return Fail(status);
  const std::string name(64, 'g');
  Blob blob;
  blob.set_data(std::string(kEchoBytes, 'x'));
  const auto call = [&] { return (status = Hello(stub, name)).ok(); };
  const auto echo = [&] { return (status = Echo(stub, blob)).ok(); };
  return PrintFigures(call, echo) ? 0 : Fail(status);
}

// Calls until one fails, which must be with UNAVAILABLE; then makes a call that waits for the server to be back.
int Watch(Greeter::Stub& stub) {
  grpc::Status status = Hello(stub, "watcher");
  if (!status.ok()) return Fail(status);
  std::cout << "OK" << std::endl;
  const absl::Time give_up = absl::Now() + kPatience;
  while (status.ok() && absl::Now() < give_up) status = Hello(stub, "watcher");
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return Fail(status);
  const absl::Time lost = absl::Now();
  std::cout << "UNAVAILABLE" << std::endl;

  status = Hello(stub, "watcher", /*wait_for_server=*/true);
  if (!status.ok()) return Fail(status);
  PrintBack(lost);
  return 0;
}

}  // namespace

int CallGreeter(const std::shared_ptr<grpc::Channel>& channel) {
  auto stub = Greeter::NewStub(channel);
  if (!channel->WaitForConnected(absl::ToChronoTime(absl::Now() + absl::Seconds(5)))) {
    // A call's status says why.
    if (const grpc::Status status = Hello(*stub, "nobody"); !status.ok()) return Fail(status);
  }
  return Watching() ? Watch(*stub) : Measure(*stub);
}

}  // namespace skein::examples
