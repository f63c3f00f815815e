#include "examples/transactions/coordinator.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace skein::transactions {
namespace {

class RpcChannel final : public Channel {
 public:
  RpcChannel(std::unique_ptr<rpc::Connection> connection, const rpc::RemoteRegion& region)
      : connection_(std::move(connection)), region_(region) {}

  void Start(absl::Span<const Call> calls) override {
    finished_ = 0;
    deadline_ = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(examples::kPatience);
    while (calls_.size() < calls.size()) calls_.emplace_back();
    std::vector<rpc::CallRequest> requests;
    for (size_t i = 0; i < calls.size(); ++i) requests.push_back({&calls_[i], calls[i].function, calls[i].bytes});
    connection_->Start(requests);
  }

  absl::StatusOr<std::string> Finish() override {
    rpc::PendingCall& call = calls_[finished_++];
    const absl::Duration left = absl::FromChrono(deadline_ - std::chrono::steady_clock::now());
    if (absl::Status status = connection_->Wait(call, std::max(left, absl::ZeroDuration())); !status.ok())
      return status;
    return call.TakeReply();
  }

  absl::StatusOr<uint64_t> ReadWord(uint64_t place) override {
    uint64_t word = 0;
    const absl::Span<std::byte> bytes(reinterpret_cast<std::byte*>(&word), sizeof(word));
    if (absl::Status status = connection_->Read(region_, place, bytes); !status.ok()) return status;
    return word;
  }

 private:
  const std::unique_ptr<rpc::Connection> connection_;
  const rpc::RemoteRegion region_;
  std::deque<rpc::PendingCall> calls_;
  size_t finished_ = 0;
  std::chrono::steady_clock::time_point deadline_;  // of all calls that were started together
};

absl::Status Changed(uint64_t key) { return absl::AbortedError(absl::StrCat("key ", key, " was changed meanwhile")); }

// The first error, if there is one.
absl::Status StatusOf(const std::vector<absl::StatusOr<Words>>& answers) {
  absl::Status status;
  for (const absl::StatusOr<Words>& answer : answers) status.Update(answer.status());
  return status;
}

std::vector<Request> ValuesOf(std::map<size_t, Request> by_server) {
  std::vector<Request> requests;
  for (auto& [server, request] : by_server) requests.push_back(std::move(request));
  return requests;
}

// As Store::Describe has it.
std::string LayoutText(const Words& layout) {
  if (layout.size() != 4) return "no layout";
  return absl::StrCat("keys ", layout[0], ", servers ", layout[1], ", copies ", layout[2], ", server number ",
                      layout[3]);
}

absl::Status CheckLayout(rpc::Connection& connection, const Layout& layout, size_t server) {
  const absl::StatusOr<std::string> answer = connection.Call(kLayout, {}, examples::kPatience);
  if (!answer.ok()) return answer.status();
  const absl::StatusOr<Words> theirs = WordsOf(*answer);
  const Words wanted = {layout.keys, layout.servers, layout.copies, server};
  if (theirs.ok() && *theirs == wanted) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("it has ", LayoutText(theirs.value_or(Words())), ", and wanted is ", LayoutText(wanted),
                   ": give all programs the same --workload, --size and --copies, and the addresses in the servers' "
                   "order"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Channel>> OpenChannel(rpc::Client& client, absl::string_view address,
                                                     const Layout& layout, size_t server) {
  absl::StatusOr<std::unique_ptr<rpc::Connection>> connection = client.Connect(address, examples::kPatience);
  if (!connection.ok()) return connection.status();
  if (absl::Status fits = CheckLayout(**connection, layout, server); !fits.ok()) return fits;
  const absl::StatusOr<rpc::RemoteRegion> region = (*connection)->Attach(RegionOf(server), examples::kPatience);
  if (!region.ok()) return region.status();
  return std::make_unique<RpcChannel>(*std::move(connection), *region);
}

Coordinator::Coordinator(const Layout& layout, std::vector<std::unique_ptr<Channel>> servers, bool one_sided)
    : layout_(layout),
      servers_(std::move(servers)),
      one_sided_(one_sided),
      next_transaction_(uint64_t{std::random_device()()} << 32) {}

absl::Status Coordinator::Run(std::vector<Task<absl::Status>>& tasks) {
  for (Task<absl::Status>& task : tasks) task.Begin();
  while (!waiting_.empty()) RunRound();
  absl::Status status;
  for (const Task<absl::Status>& task : tasks) status.Update(task.result());
  return status;
}

void Coordinator::RunRound() {
  const std::vector<Exchange*> round = std::exchange(waiting_, {});
  std::vector<std::vector<Channel::Call>> calls(servers_.size());
  for (const Exchange* const exchange : round) {
    for (const Request& request : exchange->requests)
      calls[request.server].push_back({request.function, BytesOf(request.words)});
  }
  bool any = false;
  for (size_t i = 0; i < servers_.size(); ++i) {
    if (calls[i].empty()) continue;
    any = true;
    servers_[i]->Start(calls[i]);
  }
  // All stand back: a round without a call takes as long as one with a call does.
  if (!any) std::this_thread::sleep_for(std::chrono::microseconds(50));
  for (Exchange* const exchange : round) {
    for (const Request& request : exchange->requests) exchange->answers.push_back(AnswerOf(request.server));
  }
  for (Exchange* const exchange : round) exchange->waiting.resume();
}

absl::StatusOr<Words> Coordinator::AnswerOf(size_t server) {
  const absl::StatusOr<std::string> answer = servers_[server]->Finish();
  return answer.ok() ? WordsOf(*answer) : ErrorOf(server, answer.status());
}

absl::Status Coordinator::ErrorOf(size_t server, const absl::Status& error) {
  if (!absl::IsUnavailable(error) && !absl::IsDeadlineExceeded(error)) return error;
  lost_ = absl::UnavailableError(absl::StrCat("lost server ", server, ": ", error.message()));
  return lost_;
}

Task<absl::Status> Coordinator::StandBack(size_t attempt) {
  constexpr size_t kMaxDoublings = 6;
  for (uint64_t rounds = random_() % (uint64_t{1} << std::min(attempt, kMaxDoublings)); rounds > 0; --rounds) {
    Exchange nothing = {*this, {}};
    nothing.stands_back = true;
    co_await nothing;
  }
  co_return absl::OkStatus();
}

std::vector<Request> Transaction::ExecuteRequests(const std::vector<uint64_t>& reads,
                                                  const std::vector<uint64_t>& writes) const {
  std::map<size_t, Request> by_server;
  const auto add = [&](uint64_t key, bool writes_it) {
    const size_t server = coordinator_.layout_.PartitionOf(key);
    const auto [request, first] = by_server.try_emplace(server, Request{server, kExecute, {number_}});
    request->second.words.insert(request->second.words.end(), {key, writes_it ? 1u : 0u});
  };
  for (const uint64_t key : reads) add(key, false);
  for (const uint64_t key : writes) add(key, true);
  return ValuesOf(std::move(by_server));
}

// What a server has given for its keys, which are locked now if they are to be.
absl::Status Transaction::Take(const Request& request, const absl::StatusOr<Words>& answer) {
  constexpr size_t kStride = 2 + kValueWords;
  if (!answer.ok()) return answer.status();
  const size_t keys = (request.words.size() - 1) / 2;
  if (answer->size() != keys * kStride) return absl::DataLossError("an answer of another size than its request's");
  for (size_t i = 0; i < keys; ++i) {
    const uint64_t* const words = answer->data() + i * kStride;
    Executed& item = items_[request.words[1 + 2 * i]];
    item = {request.words[2 + 2 * i] != 0, words[0], words[1]};
    std::memcpy(item.value.data(), words + 2, sizeof(Value));
  }
  return absl::OkStatus();
}

Task<absl::Status> Transaction::Execute(std::vector<uint64_t> reads, std::vector<uint64_t> writes) {
  if (items_.size() + reads.size() + writes.size() > kMostKeys)
    co_return absl::InvalidArgumentError(absl::StrCat("a transaction of more than ", kMostKeys, " keys"));
  const std::vector<Request> requests = ExecuteRequests(reads, writes);
  Coordinator::Exchange exchange = {coordinator_, requests};
  const std::vector<absl::StatusOr<Words>> answers = co_await exchange;
  absl::Status status;
  for (size_t i = 0; i < requests.size(); ++i) status.Update(Take(requests[i], answers[i]));
  co_return status;
}

template <typename Append>
std::vector<Request> Transaction::RequestsOf(Function function, size_t copy, const Words& header, Append append) const {
  std::map<size_t, Request> by_server;
  for (const auto& [key, item] : items_) {
    if (!item.writes) continue;
    const size_t server = coordinator_.layout_.HolderOf(coordinator_.layout_.PartitionOf(key), copy);
    append(key, item, by_server.try_emplace(server, Request{server, function, header}).first->second.words);
  }
  return ValuesOf(std::move(by_server));
}

Task<absl::Status> Transaction::Commit() {
  const absl::Status valid = co_await Validate();
  if (!valid.ok()) co_return valid;
  Coordinator::Exchange log = {coordinator_, {}};
  for (size_t copy = 1; copy < coordinator_.layout_.copies; ++copy) {
    for (Request& request : RequestsOf(kLog, copy, {}, [](uint64_t key, const Executed&item, Words&words) {
           words.insert(words.end(), {key, item.word / 2 + 1});
           words.insert(words.end(), item.value.begin(), item.value.end());
         }))
      log.requests.push_back(std::move(request));
  }
  Coordinator::Exchange commit = {
      coordinator_, RequestsOf(kCommit, 0, {number_}, [](uint64_t key, const Executed& item, Words& words) {
        words.push_back(key);
        words.insert(words.end(), item.value.begin(), item.value.end());
      })};
  for (auto& [key, item] : items_) item.writes = false;  // from here on there is no way back
  const std::vector<absl::StatusOr<Words>> logged = co_await log;
  if (absl::Status status = StatusOf(logged); !status.ok()) co_return status;
  const std::vector<absl::StatusOr<Words>> committed = co_await commit;
  co_return StatusOf(committed);
}

// A value that was read alone is as it was at one time anyway.
Task<absl::Status> Transaction::Validate() {
  if (items_.size() <= 1) co_return absl::OkStatus();
  if (!coordinator_.one_sided_) co_return co_await ValidateByCalls();
  for (const auto& [key, item] : items_) {
    if (item.writes) continue;
    const size_t server = coordinator_.layout_.PartitionOf(key);
    const absl::StatusOr<uint64_t> word = coordinator_.servers_[server]->ReadWord(item.place);
    // Threads of one process share a connection below, which takes so many reads at once.
    if (absl::IsResourceExhausted(word.status())) co_return absl::AbortedError(word.status().message());
    if (!word.ok()) co_return coordinator_.ErrorOf(server, word.status());
    if (*word != item.word) co_return Changed(key);
  }
  co_return absl::OkStatus();
}

Task<absl::Status> Transaction::ValidateByCalls() {
  std::map<size_t, Request> by_server;
  for (const auto& [key, item] : items_) {
    const size_t server = coordinator_.layout_.PartitionOf(key);
    if (!item.writes) by_server.try_emplace(server, Request{server, kWords}).first->second.words.push_back(key);
  }
  Coordinator::Exchange exchange = {coordinator_, ValuesOf(std::move(by_server))};
  const std::vector<Request> requests = exchange.requests;
  const std::vector<absl::StatusOr<Words>> answers = co_await exchange;
  if (absl::Status status = StatusOf(answers); !status.ok()) co_return status;
  for (size_t i = 0; i < requests.size(); ++i) {
    const Words& keys = requests[i].words;
    if (answers[i]->size() != keys.size())
      co_return absl::DataLossError("an answer of another size than its request's");
    for (size_t k = 0; k < keys.size(); ++k) {
      if ((*answers[i])[k] != items_.at(keys[k]).word) co_return Changed(keys[k]);
    }
  }
  co_return absl::OkStatus();
}

Task<absl::Status> Transaction::Abort() {
  Coordinator::Exchange unlock = {
      coordinator_,
      RequestsOf(kUnlock, 0, {number_}, [](uint64_t key, const Executed&, Words& words) { words.push_back(key); })};
  for (auto& [key, item] : items_) item.writes = false;
  const std::vector<absl::StatusOr<Words>> unlocked = co_await unlock;
  co_return StatusOf(unlocked);
}

}  // namespace skein::transactions
