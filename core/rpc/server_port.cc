#include "core/rpc/server_port.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace skein::rpc {
namespace {

constexpr size_t kMaxOutbox = 32;               // answers that go together
constexpr size_t kMaxOutboxBytes = 32 << 10;    // the same
constexpr size_t kKeptBytes = size_t{1} << 18;  // of a buffer, from one batch to the next

void Clear(std::string& bytes) {
  bytes.clear();
  if (bytes.capacity() > kKeptBytes) bytes.shrink_to_fit();
}

}  // namespace

Reply::~Reply() {
  if (port_ != nullptr) Fail(absl::InternalError("the handler has given no reply"));
}

void Reply::Send(absl::string_view bytes) {
  if (const auto port = std::exchange(port_, nullptr)) port->Answer(call_, bytes);
}

void Reply::Fail(const absl::Status& error) {
  if (const auto port = std::exchange(port_, nullptr)) port->AnswerError(call_, error);
}

ServerPort::ServerPort(connect::Place place, std::shared_ptr<const Handlers> handlers, const Options& options)
    : Port(place.stream),
      link_(std::move(place.link)),
      on_end_(std::move(place.on_end)),
      handlers_(std::move(handlers)),
      max_calls_(options.max_calls),
      max_batch_(options.coalesce ? kMaxOutbox : 1),
      backlog_(
          options.coalesce,
          [](const MessageHeader& of, const absl::Status& why) {
            const MessageHeader error = ErrorHeader(of.call, why);
            return absl::StrCat(absl::string_view(reinterpret_cast<const char*>(&error), sizeof(error)),
                                ErrorText(why));
          },
          &open_) {}

absl::Status ServerPort::OnOpen(uint64_t window) {
  if (std::exchange(opened_, true) || window != 0)
    return absl::DataLossError("a malformed open of a connection for calls");
  return absl::OkStatus();
}

absl::Status ServerPort::OnData(absl::Span<const std::byte> payload) {
  if (!opened_) return absl::DataLossError("a call on a connection that is not open");
  const absl::StatusOr<Message> message = Decode(payload);
  if (!message.ok()) return message.status();
  if (message->header.kind != MessageKind::kRequest) return absl::DataLossError("an answer from the calling end");
  if (open_.fetch_add(1, std::memory_order_relaxed) >= static_cast<int32_t>(max_calls_))
    return absl::DataLossError("more calls than allowed");
  inbox_.push_back({message->header, inbox_bytes_.size(), message->body.size()});
  inbox_bytes_.append(reinterpret_cast<const char*>(message->body.data()), message->body.size());
  return absl::OkStatus();
}

void ServerPort::Notify() {
  batch_thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  if (std::exchange(space_came_, false)) backlog_.Retry(*link_, *this);
  for (const Piece& request : inbox_) Handle(request);
  inbox_.clear();
  Clear(inbox_bytes_);
  FlushOutbox();
  batch_thread_.store(std::thread::id(), std::memory_order_relaxed);
  if (ended_) Leave();
}

void ServerPort::Handle(const Piece& request) {
  Reply reply(std::static_pointer_cast<ServerPort>(shared_from_this()), request.header.call);
  const auto handler = handlers_->find(request.header.subject);
  if (handler == handlers_->end()) {
    return reply.Fail(absl::UnimplementedError(absl::StrCat("no handler ", request.header.subject)));
  }
  handler->second(absl::string_view(inbox_bytes_).substr(request.offset, request.size), std::move(reply));
}

size_t ServerPort::LargestReply() {
  size_t largest = largest_reply_.load(std::memory_order_relaxed);
  if (largest != 0) return largest;
  largest = link_->channel().LargestItem() - sizeof(MessageHeader);
  largest_reply_.store(largest, std::memory_order_relaxed);
  return largest;
}

void ServerPort::Answer(uint32_t call, absl::string_view bytes) {
  if (bytes.size() > LargestReply()) {
    return AnswerError(
        call, absl::ResourceExhaustedError(absl::StrCat("a reply of ", bytes.size(), " bytes; the link carries ",
                                                        LargestReply(), " in one message")));
  }
  Put(ReplyHeader(call), bytes);
}

void ServerPort::AnswerError(uint32_t call, const absl::Status& error) {
  Put(ErrorHeader(call, error), ErrorText(error));
}

void ServerPort::Put(const MessageHeader& header, absl::string_view bytes) {
  if (!InBatch()) return SendNow(header, bytes);
  outbox_.push_back({header, outbox_bytes_.size(), sizeof(header) + bytes.size()});
  outbox_bytes_.append(reinterpret_cast<const char*>(&header), sizeof(header));
  outbox_bytes_.append(bytes.data(), bytes.size());
  if (outbox_.size() >= max_batch_ || outbox_bytes_.size() >= kMaxOutboxBytes) FlushOutbox();
}

void ServerPort::FlushOutbox() {
  if (outbox_.empty()) return;
  parts_.clear();
  items_.clear();
  for (const Piece& answer : outbox_) {
    parts_.push_back(BytesOf(absl::string_view(outbox_bytes_).substr(answer.offset, answer.size)));
  }
  for (const link::ConstBytes& part : parts_) items_.emplace_back(&part, 1);
  backlog_.Send(*link_, *this, items_).IgnoreError();  // the link is lost: so are the callers
  outbox_.clear();
  Clear(outbox_bytes_);
}

void ServerPort::SendNow(const MessageHeader& header, absl::string_view bytes) {
  const link::ConstBytes parts[] = {BytesOf(header), BytesOf(bytes)};
  const link::Gathered item(parts);
  backlog_.Send(*link_, *this, {&item, 1}).IgnoreError();  // the same
}

void ServerPort::Close(absl::string_view why) {
  if (left_.load(std::memory_order_relaxed)) return;
  link_->SendControl(shared_from_this(), wire::ItemKind::kAbort, std::string(why));
  Leave();
}

void ServerPort::Leave() {
  if (left_.exchange(true, std::memory_order_relaxed)) return;
  link_->ports().Remove(stream());
  if (on_end_) on_end_();
}

}  // namespace skein::rpc
