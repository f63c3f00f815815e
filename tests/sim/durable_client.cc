#include "tests/sim/durable_client.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace skein::chaos {

void DurableClient::Start() {
  const uint64_t call = records_.empty() ? 1 : records_.rbegin()->first + 1;
  records_[call].client = number_;
  const std::string request =
      absl::StrCat(call, " ", std::string(world_.dice().Below(100), static_cast<char>('a' + call % 23)));
  const absl::Status started = outbox_.Start(
      request,
      [this, call](const absl::StatusOr<durable::Persistence>& level) {
        DurableRecord& record = records_[call];
        world_.journal().Check(!record.persisted && !record.replied, "durable call ", call, " is safe once more");
        record.persisted = level.ok();
        world_.journal().See(call);
      },
      [this, call](const absl::StatusOr<std::string>& reply) { OnReplied(call, reply); });
  world_.journal().Check(started.ok(), "durable call ", call, ": ", started.ToString());
  world_.journal().Operation();
}

void DurableClient::OnReplied(uint64_t call, const absl::StatusOr<std::string>& reply) {
  Journal& journal = world_.journal();
  DurableRecord& record = records_[call];
  journal.Check(!record.replied, "durable call ", call, " was answered twice");
  record.replied = true;
  record.answered = reply.ok();
  journal.See(call);
  journal.See(static_cast<uint64_t>(reply.status().code()));
  if (reply.ok()) {
    const std::string begins = ReplyTo(absl::StrCat(call, " "));
    journal.Check(reply->rfind(begins, 0) == 0, "durable call ", call, ": ", *reply);
    journal.Check(record.executed > 0, "durable call ", call, " was answered and not executed");
    return;
  }
  // Its reply need not be kept for ever; that it was executed is what counts.
  const bool let_go = absl::IsNotFound(reply.status()) && may_be_let_go_(record);
  journal.Check(let_go && record.executed > 0, "durable call ", call, ", executed ", record.executed,
                " times: ", reply.status().ToString());
}

void DurableClient::Connect(std::shared_ptr<stream::Stream> stream, EndsMissing missing) {
  connection_ = std::make_shared<FramedStream>(std::move(stream), std::move(missing), world_.journal());
  outbox_.Connected([connection = connection_](const std::string& message) { connection->Put(message); });
}

bool DurableClient::Pump() {
  const std::shared_ptr<FramedStream> connection = connection_;
  if (connection == nullptr) return false;
  const bool on = connection->Pump([this](const std::string& message) {
    const absl::Status status = outbox_.OnMessage(message);
    world_.journal().Check(status.ok(), "a durable client: ", status.ToString());
    return status.ok();
  });
  if (!on) Disconnect();
  return on;
}

void DurableClient::Disconnect() {
  outbox_.Disconnected();
  connection_.reset();
}

void DurableClient::DrainAndDisconnect() {
  if (connection_ == nullptr || !connection_->Drain()) return;
  if (Pump()) Disconnect();
}

}  // namespace skein::chaos
