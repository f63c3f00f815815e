#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/options.h"
#include "core/base/signals_blocked.h"
#include "core/durable/replicas/connection.h"
#include "core/durable/replicas/log_place.h"
#include "core/durable/replicas/promotion.h"
#include "core/durable/replicas/replica_server.h"
#include "tools/skein/host_port.h"
#include "tools/skein/verbs.h"

namespace skein {
namespace {

struct CommandLine {
  std::vector<std::string> words;  // what is to be done, and with which file
  std::string listen;
  std::vector<std::string> ask;
  bool accept_loss = false;
};

const std::string& WhatOf(const CommandLine& line) { return line.words[0]; }
const std::string& FileOf(const CommandLine& line) { return line.words[1]; }

Setter Address(std::string& variable) {
  return [&variable](const std::string& word) {
    variable = word;
    return ParseHostPort(word, /*lowest_port=*/0).status();
  };
}
Setter Addresses(std::vector<std::string>& variable) {
  return [&variable](const std::string& word) {
    variable.push_back(word);
    return ParseHostPort(word).status();
  };
}

absl::Status Check(const CommandLine& line) {
  if (line.words.size() != 2) return absl::InvalidArgumentError("replica, show or promote, and one file");
  const std::string& what = WhatOf(line);
  if (what != "replica" && what != "show" && what != "promote") {
    return absl::InvalidArgumentError(absl::StrCat("replica, show or promote, not ", what));
  }
  if (what == "replica" && line.listen.empty()) return absl::InvalidArgumentError("where? --listen HOST:PORT");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<durable::Storage>> OpenFile(const std::string& path) {
  absl::StatusOr<std::unique_ptr<durable::Storage>> file = durable::FilePlace(path).OpenLog();
  if (!file.ok() || *file != nullptr) return file;
  if (access(path.c_str(), F_OK) == 0) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is empty: there is no log in it yet"));
  }
  return absl::NotFoundError(absl::StrCat("there is no file ", path));
}

// Until a signal ends it.
absl::StatusOr<int> ServeReplica(const CommandLine& line) {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  const auto server = durable::ReplicaServer::Open(FileOf(line), line.listen);
  if (!server.ok()) return server.status();
  const std::string ignored = OptionsFromEnvironment(Options(), "", environ).warning;
  if (!ignored.empty()) std::fprintf(stderr, "skein durable: %s\n", ignored.c_str());
  std::printf("replica %s listens on %s\n", FileOf(line).c_str(), (*server)->address().c_str());
  std::fflush(stdout);
  std::thread serving([&server] { (*server)->Serve(); });
  int signal = 0;
  sigwait(&stop, &signal);
  (*server)->Stop();
  serving.join();
  return 0;
}

absl::StatusOr<int> Show(const CommandLine& line) {
  const auto file = OpenFile(FileOf(line));
  if (!file.ok()) return file.status();
  const absl::StatusOr<durable::ReplicaState> state = durable::ReadReplica(**file);
  if (!state.ok()) return state.status();
  const durable::Standing& standing = state->standing;
  std::printf("term %llu, opening %u, up to byte %llu; %u of %u logs have what is acknowledged",
              static_cast<unsigned long long>(standing.content.number), state->progress.epoch,
              static_cast<unsigned long long>(state->progress.tail), standing.acknowledge, standing.logs);
  if (standing.promised != standing.content) {
    std::printf("; follows no term before %llu", static_cast<unsigned long long>(standing.promised.number));
  }
  std::printf("\n");
  return 0;
}

absl::StatusOr<int> PromoteFile(const CommandLine& line) {
  const auto file = OpenFile(FileOf(line));
  if (!file.ok()) return file.status();
  std::vector<durable::OtherReplica> others;
  for (const std::string& address : line.ask) {
    others.push_back(
        {address, [address](const durable::ReplicaRequest& request) { return durable::AskReplica(address, request); }});
  }
  const absl::StatusOr<durable::Promotion> promotion = durable::Promote(**file, others, line.accept_loss);
  if (!promotion.ok()) return promotion.status();
  std::printf("%s is a log of term %llu now; start its server\n", FileOf(line).c_str(),
              static_cast<unsigned long long>(promotion->term.number));
  if (others.empty() && promotion->needed == 1) {
    std::printf("no other log was looked at: by this one's numbers, each had all that was acknowledged\n");
  }
  if (promotion->seen < promotion->needed) {
    std::printf(
        "only %u logs promised to follow no earlier one, of %u that it takes: the former primary must not run\n",
        promotion->seen, promotion->needed);
  }
  return 0;
}

absl::StatusOr<int> Run(const CommandLine& line) {
  if (WhatOf(line) == "replica") return ServeReplica(line);
  return WhatOf(line) == "show" ? Show(line) : PromoteFile(line);
}

}  // namespace

Verb DurableVerb() {
  const auto line = std::make_shared<CommandLine>();
  return {
      .name = "durable",
      .summary = "replicas of a durable service's redo log: run one, look at its log, promote it",
      .about =
          "durable replica FILE keeps a copy of a redo log in FILE, for a server of durable calls that names this "
          "replica's address in its option replicas.\ndurable show FILE says how far a replica's log goes.\ndurable "
          "promote FILE makes a replica's log the one that is served, when its server is gone for good: stop the "
          "replica that has FILE, name the other replicas with --ask, promote, and start a server with FILE. If "
          "another replica's log goes further, it says so, and changes nothing.",
      .options = {{"--listen", "HOST:PORT", "replica: where its server connects to", Address(line->listen)},
                  {"--ask", "HOST:PORT", "promote: another replica, which runs; may be given again",
                   Addresses(line->ask)},
                  {"--accept-loss", "", "promote: though others have more, or too few can be asked",
                   Yes(line->accept_loss)}},
      .operand = {Operand::Count::kMany, "WHAT", "replica, show or promote? and which file?", Texts(line->words)},
      .examples = {{"skein durable replica --listen 10.0.0.2:7100 /var/lib/counter/replica.log", "a replica"},
                   {"skein durable promote --ask 10.0.0.3:7100 /var/lib/counter/replica.log",
                    "after its server's machine has died"}},
      .check = [line] { return Check(*line); },
      .run = [line] { return Run(*line); }};
}

}  // namespace skein
