#include "examples/greeter/greeter_calls.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "examples/greeter/greeter.grpc.pb.h"

ABSL_FLAG(int, calls, 5000, "unary calls to measure");
ABSL_FLAG(int, echoes, 200, "1 MiB echoes to measure");
ABSL_FLAG(bool, watch, false, "call until the server was lost and is back, then exit");

namespace skein::examples {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);

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
  if (grpc::Status status = Chat(stub); !status.ok()) return Fail(status);

  const std::string name(64, 'g');
  const int calls = std::max(1, absl::GetFlag(FLAGS_calls));
  std::vector<absl::Duration> times;
  times.reserve(calls);
  for (int i = -calls / 10; i < calls; ++i) {  // the first tenth warms up
    const absl::Time start = absl::Now();
    if (grpc::Status status = Hello(stub, name); !status.ok()) return Fail(status);
    if (i >= 0) times.push_back(absl::Now() - start);
  }
  std::sort(times.begin(), times.end());

  Blob blob;
  blob.set_data(std::string(1 << 20, 'x'));
  const int echoes = std::max(1, absl::GetFlag(FLAGS_echoes));
  absl::Time start = absl::Now();
  for (int i = -echoes / 10; i < echoes; ++i) {
    if (i == 0) start = absl::Now();
    if (grpc::Status status = Echo(stub, blob); !status.ok()) return Fail(status);
  }
  // Each echo moves the megabyte there and back.
  const double megabytes = 2.0 * echoes * (1 << 20) / 1e6;
  std::cout << absl::StreamFormat("unary p50 %.1f us  p99 %.1f us  echo 1 MiB %.0f MB/s",
                                  absl::ToDoubleMicroseconds(times[times.size() / 2]),
                                  absl::ToDoubleMicroseconds(times[times.size() * 99 / 100]),
                                  megabytes / absl::ToDoubleSeconds(absl::Now() - start))
            << std::endl;
  return 0;
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
  std::cout << "OK again, " << absl::FormatDuration(absl::Trunc(absl::Now() - lost, absl::Milliseconds(1)))
            << " after the loss" << std::endl;
  return 0;
}

}  // namespace

std::string ParseTarget(int argc, char** argv) {
  const std::vector<char*> words = absl::ParseCommandLine(argc, argv);
  if (words.size() == 2) return words[1];
  std::cerr << "usage: " << words[0] << " TARGET [--calls N] [--echoes N] [--watch]" << std::endl;
  std::exit(2);
}

int CallGreeter(const std::shared_ptr<grpc::Channel>& channel) {
  if (!channel->WaitForConnected(absl::ToChronoTime(absl::Now() + absl::Seconds(5)))) {
    std::cerr << "no connection within 5 s" << std::endl;
    return 1;
  }
  auto stub = Greeter::NewStub(channel);
  return absl::GetFlag(FLAGS_watch) ? Watch(*stub) : Measure(*stub);
}

}  // namespace skein::examples
