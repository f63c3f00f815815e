// Opening and ending a lane, and what the poller does there.
#include "core/link/lane.h"

#include <utility>

namespace skein::link {

absl::Status Lane::Open() {
  Forget();
  channel::ChannelOptions options = options_.channel;
  options.operations = &memory_;
  absl::StatusOr<std::unique_ptr<channel::Channel>> channel = group_.Open(options);
  if (!channel.ok()) return channel.status();
  Visit visit(this);
  channel_ = *std::move(channel);
  return absl::OkStatus();
}

void Lane::Release() {
  Visit visit(this);
  if (channel_ == nullptr) return;
  before_.messages_sent += channel_->messages_written();
  before_.bytes_sent += channel_->written();
  before_.messages_received += channel_->messages_read();
  before_.bytes_received += channel_->bytes_read();
  channel_.reset();
}

// What others may have left here since the last channel ended: control, a port that waits.
void Lane::Forget() {
  contended_ = -1;
  upkeep_left_ = false;
  last_head_.reset();
  greeted_ = false;
  Visit visit(this);
  events_.exchange(0, std::memory_order_acquire);
  due_ = 0;
  breach_ = absl::OkStatus();
  control_.clear();
  room_waiters_.clear();
  stage_ = Stage::kOpen;
  flush_awaited_ = false;
  last_word_.reset();
  messages_ = 0;
  combined_ = 0;
}

absl::Status Lane::OnGreeting(absl::string_view greeting) {
  Visit visit(this);
  Tell(kWaits);  // control that could not go before
  return channel_->OnGreeting(greeting);
}

bool Lane::met() {
  Visit visit(this);
  return channel_ != nullptr && channel_->met();
}

size_t Lane::LargestItem() {
  Visit visit(this);
  return channel_ == nullptr ? 0 : channel_->LargestItem();
}

absl::Status Lane::error() {
  Visit visit(this);
  return error_;
}

void Lane::Close() {
  Visit visit(this);
  if (channel_ != nullptr) channel_->Close();
}

bool Lane::StillConnected() {
  Visit visit(this);
  if (channel_ == nullptr || NothingIsLostWithIt()) return true;
  return channel_->StillConnected();
}

void Lane::Fail(const absl::Status& why) {
  Close();
  {
    Visit visit(this);
    error_ = why;
    control_.clear();
    room_waiters_.clear();
    leaving_.clear();
    moved_.clear();
  }
  memory_.FlushAll();
}

absl::Status Lane::why_disconnected() {
  if (!channel_->breached()) {
    if (absl::Status failed = error(); !failed.ok()) return failed;
  }
  return channel_->why_ended();
}

Traffic Lane::traffic() {
  Visit visit(this);
  Traffic traffic = before_;
  if (channel_ == nullptr) return traffic;
  traffic.messages_sent += channel_->messages_written();
  traffic.bytes_sent += channel_->written();
  traffic.messages_received += channel_->messages_read();
  traffic.bytes_received += channel_->bytes_read();
  return traffic;
}

bool Lane::Ends() {
  if (!channel_->Ended()) return false;
  if (!last_head_.has_value()) last_head_ = channel_->bytes_read() + channel_->capacity();
  if (channel_->breached()) return true;
  Visit visit(this);
  return !NothingIsLostWithIt();
}

}  // namespace skein::link
