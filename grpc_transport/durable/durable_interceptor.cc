#include "grpc_transport/durable/durable_interceptor.h"

#include <grpcpp/alarm.h>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "grpc_transport/durable/durable_call.h"
#include "grpc_transport/durable/marks.h"
#include "grpc_transport/durable/undecoded_reply.h"

namespace skein::grpc_transport {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;

// By a thread of gRPC's, and under no lock of the caller's.
void CompleteAsync(std::function<void()> what) {
  auto* const alarm = new grpc::Alarm;
  alarm->Set(std::chrono::system_clock::now(), [alarm, what = std::move(what)](bool) {
    what();
    delete alarm;  // gRPC holds what runs
  });
}

// One call: who hears that it is persisted, how it ends, and the batch of operations that waits for that. Shared by the
// interceptor, which goes with the call, the outbox and the deadline's alarm.
class Ending : public std::enable_shared_from_this<Ending> {
 public:
  // False: it has been cancelled before.
  bool Begin(OnPersisted on_persisted) ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(&mu_);
    begun_ = true;
    on_persisted_ = std::move(on_persisted);
    return !cancelled_;
  }
  // Any thread, also one that holds the call's own lock in gRPC, which who hears of it may want.
  void Cancel() ABSL_LOCKS_EXCLUDED(mu_) {
    {
      const MutexLock lock(&mu_);
      cancelled_ = true;
      if (!begun_) return;
    }
    IsSoon({.status = {grpc::StatusCode::CANCELLED, "CANCELLED"}});
  }
  void IsSoon(LoggedEnd end) {
    CompleteAsync([self = shared_from_this(), end = std::move(end)] { self->Is(end); });
  }

  void Persisted(const absl::StatusOr<std::string>& level) ABSL_LOCKS_EXCLUDED(mu_) {
    OnPersisted tell;
    {
      const MutexLock lock(&mu_);
      tell = BeginTelling();
    }
    Tell(tell, level);
  }
  // The first counts. Who has not heard yet whether the call is persisted hears this, and nothing later.
  void Is(LoggedEnd end) ABSL_LOCKS_EXCLUDED(mu_) {
    const absl::Status why(static_cast<absl::StatusCode>(end.status.error_code()), end.status.error_message());
    OnPersisted tell;
    {
      const MutexLock lock(&mu_);
      if (over_) return;
      over_ = true;
      end_ = std::move(end);
      tell = BeginTelling();
    }
    tell ? Tell(tell, why.ok() ? absl::UnknownError("answered") : why) : GiveToWhoWaits();
  }
  // The batch wants message and status.
  void GiveTo(InterceptorBatchMethods& batch) ABSL_LOCKS_EXCLUDED(mu_) {
    {
      const MutexLock lock(&mu_);
      if (!over_ || telling_) {
        waiting_ = &batch;
        return;
      }
      Fill(batch);
    }
    batch.Proceed();  // nothing after it: the call may be over
  }

 private:
  // Once; with it, the end waits.
  OnPersisted BeginTelling() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    telling_ |= on_persisted_ != nullptr;
    return std::exchange(on_persisted_, nullptr);
  }
  // It may end the call, by TryCancel.
  void Tell(const OnPersisted& tell, const absl::StatusOr<std::string>& level) ABSL_LOCKS_EXCLUDED(mu_) {
    if (!tell) return;
    tell(level);
    {
      const MutexLock lock(&mu_);
      telling_ = false;
    }
    GiveToWhoWaits();
  }
  void GiveToWhoWaits() ABSL_LOCKS_EXCLUDED(mu_) {
    InterceptorBatchMethods* batch = nullptr;
    {
      const MutexLock lock(&mu_);
      if (over_ && !telling_) std::swap(batch, waiting_);
      if (batch != nullptr) Fill(*batch);
    }
    if (batch != nullptr) batch->Proceed();
  }
  void Fill(InterceptorBatchMethods& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (batch.QueryInterceptionHookPoint(InterceptionHookPoints::PRE_RECV_MESSAGE)) {
      end_.status.ok() ? GiveUndecoded(batch, BufferOf(end_.message)) : batch.FailHijackedRecvMessage();
    }
    if (batch.QueryInterceptionHookPoint(InterceptionHookPoints::PRE_RECV_STATUS)) {
      if (auto* const trailing = batch.GetRecvTrailingMetadata()) {
        for (const auto& [name, value] : end_.trailing) trailing->emplace(name, value);
      }
      *batch.GetRecvStatus() = end_.status;
    }
  }

  Mutex mu_;
  bool begun_ ABSL_GUARDED_BY(mu_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  OnPersisted on_persisted_ ABSL_GUARDED_BY(mu_);  // null: nobody, or it is told
  bool telling_ ABSL_GUARDED_BY(mu_) = false;
  bool over_ ABSL_GUARDED_BY(mu_) = false;
  LoggedEnd end_ ABSL_GUARDED_BY(mu_);
  InterceptorBatchMethods* waiting_ ABSL_GUARDED_BY(mu_) = nullptr;
};

// In gRPC's words. The channel's limits are for its messages: the stream that carries them has none.
grpc::Status CheckSize(absl::string_view what, uint64_t size, int64_t most) {
  if (most < 0 || size <= static_cast<uint64_t>(most)) return grpc::Status::OK;
  return {grpc::StatusCode::RESOURCE_EXHAUSTED,
          absl::StrCat(what, " message larger than max (", size, " vs. ", most, ")")};
}

LoggedEnd EndOf(const absl::StatusOr<std::string>& reply, int64_t most_received) {
  if (!reply.ok()) return {.status = GrpcStatusOf(reply.status())};
  absl::StatusOr<LoggedEnd> end = DecodeEnd(*reply);
  if (!end.ok()) return {.status = GrpcStatusOf(end.status())};
  if (const grpc::Status fits = CheckSize("Received", end->message.size(), most_received); !fits.ok()) {
    return {.status = fits};
  }
  return *std::move(end);
}

class DurableInterceptor final : public grpc::experimental::Interceptor {
 public:
  DurableInterceptor(std::shared_ptr<DurableClient> client, bool every_call, const std::vector<std::string>& metadata,
                     const MessageLimits& limits, grpc::experimental::ClientRpcInfo& info)
      : client_(std::move(client)),
        every_call_(every_call),
        metadata_(metadata),
        limits_(limits),
        info_(info),
        method_(info.method()) {}

  void Intercept(InterceptorBatchMethods* batch) override {
    const auto at = [batch](InterceptionHookPoints point) { return batch->QueryInterceptionHookPoint(point); };
    if (at(InterceptionHookPoints::PRE_SEND_CANCEL)) return ending_->Cancel();
    if (at(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA) && IsDurable(*batch->GetSendInitialMetadata())) {
      Begin(*batch);
      return batch->Hijack();
    }
    const bool ends = at(InterceptionHookPoints::PRE_RECV_MESSAGE) || at(InterceptionHookPoints::PRE_RECV_STATUS);
    if (durable_ && at(InterceptionHookPoints::POST_RECV_STATUS)) CheckDecoded(*batch);
    if (!durable_ || !ends) return batch->Proceed();
    const std::shared_ptr<Ending> ending = ending_;  // which else may go as the call ends
    ending->GiveTo(*batch);
  }

 private:
  bool IsDurable(std::multimap<std::string, std::string>& metadata) {
    const auto mark = metadata.find(kMarkMetadata);
    if (mark == metadata.end()) return every_call_;
    on_persisted_ = TakeMark(mark->second);
    metadata.erase(mark);
    return true;
  }

  // Of a stub's unary call, message and metadata come in one batch.
  void Begin(InterceptorBatchMethods& batch) {
    durable_ = true;
    const bool marked = on_persisted_ != nullptr;
    if (!ending_->Begin(std::move(on_persisted_))) return Refuse(absl::CancelledError("CANCELLED"));
    // A GenericStub's ByteBuffer may be none.
    const bool sends = batch.QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_MESSAGE);
    grpc::ByteBuffer* const message = sends ? batch.GetSerializedSendMessage() : nullptr;
    if (message == nullptr || !message->Valid()) return Refuse(absl::InvalidArgumentError("a call without a message"));
    LoggedCall call{.method = method_, .metadata = {}, .message = BytesOf(*message)};
    for (const auto& [name, value] : *batch.GetSendInitialMetadata()) {
      if (absl::c_linear_search(metadata_, name)) call.metadata.emplace_back(name, value);
    }
    if (const absl::Status legal = CheckMetadata(call.metadata); !legal.ok()) return Refuse(legal);
    if (const grpc::Status fits = CheckSize("Sent", call.message.size(), limits_.sent); !fits.ok()) {
      return Refuse(absl::ResourceExhaustedError(fits.error_message()));
    }
    SetDeadline();
    durable::Outbox::Persisted persisted = nullptr;
    if (marked) {
      persisted = [ending = ending_](const absl::StatusOr<durable::Persistence>& level) {
        ending->Persisted(level.ok() ? absl::StatusOr<std::string>(durable::PersistenceName(*level)) : level.status());
      };
    }
    const absl::Status status = client_->outbox().Start(
        Encode(call), std::move(persisted),
        [ending = ending_, alarm = alarm_, most = limits_.received](const absl::StatusOr<std::string>& reply) {
          ending->Is(EndOf(reply, most));
          if (alarm != nullptr) alarm->Cancel();
        });
    if (!status.ok()) Refuse(status);
  }

  // gRPC ends the process where a stub's call has the status OK and no message.
  static void CheckDecoded(InterceptorBatchMethods& batch) {
    const bool decoded = !batch.QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE) ||
                         batch.GetRecvMessage() != nullptr;
    grpc::Status& status = *batch.GetRecvStatus();
    if (status.ok() && !decoded) status = {grpc::StatusCode::INTERNAL, "the reply is no message of the call's type"};
  }

  void Refuse(const absl::Status& why) { ending_->IsSoon({.status = GrpcStatusOf(why)}); }

  void SetDeadline() {
    const std::chrono::system_clock::time_point deadline = info_.client_context()->deadline();
    if (deadline == std::chrono::system_clock::time_point::max()) return;
    alarm_ = std::make_shared<grpc::Alarm>();
    alarm_->Set(deadline, [ending = ending_](bool over) {
      if (!over) return;
      ending->Is(
          {.status = {grpc::StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded; what is durable may be executed yet"}});
    });
  }

  const std::shared_ptr<DurableClient> client_;
  const bool every_call_;
  const std::vector<std::string>& metadata_;  // the factory's, which outlives the channel's calls
  const MessageLimits limits_;
  grpc::experimental::ClientRpcInfo& info_;
  const std::string method_;  // a GenericStub's may be gone when its call is started
  OnPersisted on_persisted_;  // the mark's, until the call begins
  bool durable_ = false;
  const std::shared_ptr<Ending> ending_ = std::make_shared<Ending>();  // of an ordinary call: whether it is cancelled
  std::shared_ptr<grpc::Alarm> alarm_;
};

// Of a call that cannot be durable: its mark is for this end alone.
class StreamInterceptor final : public grpc::experimental::Interceptor {
 public:
  void Intercept(InterceptorBatchMethods* batch) override {
    if (batch->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      TakeOffMark(*batch->GetSendInitialMetadata());
    }
    batch->Proceed();
  }

 private:
  static void TakeOffMark(std::multimap<std::string, std::string>& metadata) {
    const auto mark = metadata.find(kMarkMetadata);
    if (mark == metadata.end()) return;
    if (OnPersisted tell = TakeMark(mark->second)) {
      CompleteAsync([tell = std::move(tell)] { tell(absl::UnimplementedError("durable calls are unary")); });
    }
    metadata.erase(mark);
  }
};

}  // namespace

grpc::experimental::Interceptor* DurableInterceptorFactory::CreateClientInterceptor(
    grpc::experimental::ClientRpcInfo* info) {
  if (info->type() != grpc::experimental::ClientRpcInfo::Type::UNARY) return new StreamInterceptor;
  return new DurableInterceptor(client_, every_call_, metadata_, limits_, *info);
}

}  // namespace skein::grpc_transport
