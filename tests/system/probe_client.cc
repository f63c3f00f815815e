// A client that makes the calls a test asks for through its standard input:
//   open N MS                  opens N channels, each with connections of its own, and waits up to MS for them
//   close                      closes all channels
//   call COUNT BYTES           echoes on the first channel, verified
//   parallel THREADS COUNT BYTES [MS]  the same from several threads, with deadlines
//   load THREADS BYTES         the same until told otherwise; returns when each thread has had an answer
//   unload STATUS              ends that: after a call has ended so, or 60 s
//   each BYTES                 one echo on every channel
//   wait_call MS               one echo that waits for the server
//   hold                       opens a Hold call and returns once the server has answered
//   join                       how that call ended; waits for it
//   cycle N                    N times: open one channel, echo, close
//   hurry N                    N times: open one channel, and close it a little later, connected or not
//   whoami                     both ends' view of each other
//   fork                       a child that only ends, as by return from main; whether it got that far
//   wait_state NAME MS         until the first channel's state is IDLE, READY, ...
// Ends with its input.
#include <grpcpp/grpcpp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/support/held.h"
#include "tests/system/load/pattern.h"
#include "tests/system/probe.grpc.pb.h"
#include "tests/system/probe_flags.h"

ABSL_FLAG(std::string, target, "", "server to call");
ABSL_FLAG(std::string, tls_ca, "", "PEM file of the server's certificate authority; makes it a TLS client");

namespace skein::probe {
namespace {

constexpr absl::Duration kCallDeadline = absl::Seconds(15);

std::shared_ptr<grpc::Channel> OpenChannel() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own, unlike channels that share one
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  for (const Argument& argument : Arguments()) {
    if (const int* number = std::get_if<int>(&argument.value)) arguments.SetInt(argument.name, *number);
    if (const auto* text = std::get_if<std::string>(&argument.value)) arguments.SetString(argument.name, *text);
  }
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (!absl::GetFlag(FLAGS_tls_ca).empty()) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = ReadFile(absl::GetFlag(FLAGS_tls_ca));
    credentials = grpc::SslCredentials(options);
  }
  return grpc::CreateCustomChannel(absl::GetFlag(FLAGS_target), credentials, arguments);
}

void SetDeadline(grpc::ClientContext& context, absl::Duration from_now = kCallDeadline) {
  context.set_deadline(absl::ToChronoTime(absl::Now() + from_now));
}

grpc::Status Echo(const std::shared_ptr<grpc::Channel>& channel, size_t size, uint32_t call,
                  grpc::ClientContext& context) {
  Payload request;
  request.set_data(load::Pattern(size, call));
  Payload reply;
  grpc::Status status = Probe::NewStub(channel)->Echo(&context, request, &reply);
  if (status.ok() && reply.data() != request.data()) return {grpc::StatusCode::DATA_LOSS, "the echo differs"};
  return status;
}

grpc::Status Echo(const std::shared_ptr<grpc::Channel>& channel, size_t size, uint32_t call,
                  absl::Duration deadline = kCallDeadline) {
  grpc::ClientContext context;
  SetDeadline(context, deadline);
  return Echo(channel, size, call, context);
}

void Count(const grpc::Status& status, Report& report) {
  ++(*report.mutable_statuses())[std::string(StatusCodeName(status.error_code()))];
  if (!status.ok()) report.set_message(status.error_message());
}

absl::string_view StateName(grpc_connectivity_state state) {
  static constexpr absl::string_view kNames[] = {"IDLE", "CONNECTING", "READY", "TRANSIENT_FAILURE", "SHUTDOWN"};
  return kNames[state];
}

// One Hold call, read on a thread of its own.
class HeldCall {
 public:
  explicit HeldCall(const std::shared_ptr<grpc::Channel>& channel) : stub_(Probe::NewStub(channel)) {
    SetDeadline(context_, absl::Seconds(60));
    reader_ = stub_->Hold(&context_, Payload());
    Payload first;
    answered_ = reader_->Read(&first);
    thread_ = std::thread([this] {
      Payload more;
      while (reader_->Read(&more)) {
      }
      status_ = reader_->Finish();
    });
  }
  ~HeldCall() {
    context_.TryCancel();
    Join();
  }
  bool answered() const { return answered_; }
  grpc::Status Join() {
    if (thread_.joinable()) thread_.join();
    return status_;
  }

 private:
  std::unique_ptr<Probe::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<Payload>> reader_;
  bool answered_ = false;
  std::thread thread_;
  grpc::Status status_;
};

// Calls one after the other by several threads, until it is ended.
class Load {
 public:
  Load(const std::shared_ptr<grpc::Channel>& channel, int threads, int bytes) : channel_(channel) {
    for (int t = 0; t < threads; ++t) threads_.emplace_back([=, this] { Call(t, bytes); });
    Held lock(mu_);
    const auto answered = [&] { return answered_ == threads; };
    mu_.Await(absl::Condition(&answered));
  }
  ~Load() { End({}); }

  // How the calls ended.
  Report End(const std::string& awaited) {
    {
      Held lock(mu_);
      const auto has_come = [&] { return awaited.empty() || report_.statuses().contains(awaited); };
      mu_.AwaitWithTimeout(absl::Condition(&has_come), absl::Seconds(60));
      ended_ = true;
    }
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    Held lock(mu_);
    return report_;
  }

 private:
  void Call(int thread, int bytes) {
    bool first = true;
    for (uint32_t call = thread;; call += 64) {
      const grpc::Status status = Echo(channel_, bytes, call);
      {
        Held lock(mu_);
        Count(status, report_);
        if (std::exchange(first, false)) ++answered_;
        if (ended_) return;
      }
      // Not one failure after the other while there is no connection.
      if (!status.ok()) channel_->WaitForConnected(absl::ToChronoTime(absl::Now() + absl::Milliseconds(100)));
    }
  }

  const std::shared_ptr<grpc::Channel> channel_;
  absl::Mutex mu_;
  Report report_ ABSL_GUARDED_BY(mu_);
  int answered_ ABSL_GUARDED_BY(mu_) = 0;  // threads
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_;
};

class ProbeClient {
 public:
  Report Run(const std::vector<std::string>& words) {
    Report report;
    auto number = [&](size_t i) {
      int value = 0;
      if (i >= words.size() || !absl::SimpleAtoi(words[i], &value)) report.set_message("missing number");
      return value;
    };
    const std::string& command = words[0];
    if (command == "open") {
      Open(number(1), absl::Milliseconds(number(2)), report);
    } else if (command == "close") {
      channels_.clear();
    } else if (command == "cycle") {
      Cycle(number(1), report);
    } else if (command == "hurry") {
      Hurry(number(1));
    } else if (channels_.empty()) {
      report.set_message("open first");
    } else if (command == "call") {
      for (int i = 0; i < number(1); ++i) Count(Echo(channels_[0], number(2), i), report);
    } else if (command == "parallel") {
      const absl::Duration deadline = words.size() > 4 ? absl::Milliseconds(number(4)) : kCallDeadline;
      Parallel(number(1), number(2), number(3), deadline, report);
    } else if (command == "load") {
      load_ = std::make_unique<Load>(channels_[0], number(1), number(2));
    } else if (command == "unload" && words.size() == 2) {
      report = load_->End(words[1]);
      load_ = nullptr;
    } else if (command == "each") {
      for (size_t i = 0; i < channels_.size(); ++i) Count(Echo(channels_[i], number(1), i), report);
    } else if (command == "wait_call") {
      grpc::ClientContext context;
      context.set_wait_for_ready(true);
      SetDeadline(context, absl::Milliseconds(number(1)));
      Count(Echo(channels_[0], 64, 0, context), report);
    } else if (command == "hold") {
      held_ = std::make_unique<HeldCall>(channels_[0]);
      report.set_timed_out(!held_->answered());
    } else if (command == "join") {
      Count(held_->Join(), report);
      held_ = nullptr;
    } else if (command == "whoami") {
      WhoAmI(report);
    } else if (command == "fork") {
      Fork(report);
    } else if (command == "wait_state" && words.size() == 3) {
      WaitForState(words[1], absl::Milliseconds(number(2)), report);
    } else {
      report.set_message("unknown command " + command);
    }
    if (!channels_.empty()) report.set_state(std::string(StateName(channels_[0]->GetState(false))));
    return report;
  }

 private:
  void Open(int count, absl::Duration patience, Report& report) {
    const auto deadline = absl::ToChronoTime(absl::Now() + patience);
    const size_t first = channels_.size();
    for (int i = 0; i < count; ++i) {
      channels_.push_back(OpenChannel());
      channels_.back()->GetState(/*try_to_connect=*/true);
    }
    for (size_t i = first; i < channels_.size(); ++i) {
      if (!channels_[i]->WaitForConnected(deadline)) report.set_timed_out(true);
    }
  }

  static void Cycle(int count, Report& report) {
    for (int i = 0; i < count; ++i) Count(Echo(OpenChannel(), 256, i), report);
  }

  // Each gives its connection a little longer than the one before, by turns.
  static void Hurry(int count) {
    for (int i = 0; i < count; ++i) {
      const std::shared_ptr<grpc::Channel> channel = OpenChannel();
      channel->GetState(/*try_to_connect=*/true);
      channel->WaitForConnected(absl::ToChronoTime(absl::Now() + i % 50 * absl::Microseconds(100)));
    }
  }

  void Parallel(int threads, int count, int bytes, absl::Duration deadline, Report& report) {
    std::vector<Report> parts(threads);
    std::vector<std::thread> running;
    running.reserve(threads);
    for (int t = 0; t < threads; ++t) {
      running.emplace_back([&, t] {
        for (int i = 0; i < count; ++i) Count(Echo(channels_[0], bytes, t * count + i, deadline), parts[t]);
      });
    }
    for (std::thread& thread : running) thread.join();
    for (const Report& part : parts) {
      for (const auto& [name, times] : part.statuses()) (*report.mutable_statuses())[name] += times;
      if (!part.message().empty()) report.set_message(part.message());
    }
  }

  void WhoAmI(Report& report) {
    grpc::ClientContext context;
    SetDeadline(context);
    Count(Probe::NewStub(channels_[0])->WhoAmI(&context, Payload(), report.mutable_identity()), report);
    report.set_peer(context.peer());
    for (const std::string& property : AuthProperties(context.auth_context().get())) report.add_auth(property);
  }

  void Fork(Report& report) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);  // a child that hangs ends by a signal
      std::exit(0);
    }
    int status = 0;
    report.set_timed_out(child < 0 || waitpid(child, &status, 0) != child || status != 0);
  }

  void WaitForState(const std::string& name, absl::Duration patience, Report& report) {
    const auto deadline = absl::ToChronoTime(absl::Now() + patience);
    for (;;) {
      const grpc_connectivity_state state = channels_[0]->GetState(false);
      if (StateName(state) == name) return;
      if (channels_[0]->WaitForStateChange(state, deadline)) continue;
      report.set_timed_out(true);
      return;
    }
  }

  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  std::unique_ptr<HeldCall> held_;  // after channels_: ends first
  std::unique_ptr<Load> load_;
};

}  // namespace
}  // namespace skein::probe

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  skein::probe::InitTransport();
  skein::probe::ForkIfAsked();
  skein::probe::ProbeClient client;
  skein::probe::ServeCommands([&](const std::vector<std::string>& words) { return client.Run(words); });
  return 0;
}
