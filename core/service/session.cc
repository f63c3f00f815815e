#include "core/service/session.h"

#include <skein/options.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/deadline.h"
#include "core/base/random_value.h"
#include "core/base/sealed_memory.h"
#include "core/fabric/service/query.h"
#include "core/inspect/control.h"
#include "core/service/queue_pairs.h"
#include "core/service/trunks.h"

namespace skein::service {
namespace {

using fabric::service::CompletionBytes;
using fabric::service::kMostEntries;
using fabric::service::kMostPlaces;
using fabric::service::kQuestionPlace;
using fabric::service::Operation;
using fabric::service::SubmissionBytes;

// The worker registers nobody else's meanwhile, and no process waits for longer than a second.
constexpr uint64_t kMostRegionBytes = uint64_t{1} << 30;
// Less than a process waits (fabric/service/session.cc).
constexpr absl::Duration kAnswerWaits = absl::Milliseconds(800);

// The process's memory, all of whose pages are there: otherwise they would be made when skeind touches them, and count
// as skeind's.
absl::StatusOr<Mapping> MapOf(const SocketMessage& message, uint64_t size) {
  struct stat status = {};
  constexpr uint64_t kBlockBytes = 512;
  if (fstat(message.fd.get(), &status) == 0 && static_cast<uint64_t>(status.st_blocks) * kBlockBytes < size) {
    return absl::InvalidArgumentError("memory whose pages are not there");
  }
  return MapSealed(message.fd.get(), size);
}

// What SendMessage cannot be held up by.
bool IsUnixSocket(int fd) {
  int domain = 0;
  int type = 0;
  socklen_t size = sizeof(domain);
  return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
         getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

bool IsInThisPidNamespace(pid_t process) {
  std::error_code error;
  const auto its = std::filesystem::read_symlink(absl::StrCat("/proc/", process, "/ns/pid"), error);
  return !error && its == std::filesystem::read_symlink("/proc/self/ns/pid", error);
}

absl::Status Nonsense(absl::string_view what) { return absl::InvalidArgumentError(what); }

}  // namespace

// One message: those behind it, or the end, the next look finds.
bool Session::OnSocket() {
  SocketMessage message;
  const ReceiveResult received = ReceiveMessage(socket_.get(), message);
  if (ended_ || received == ReceiveResult::kEmpty) return false;
  if (received == ReceiveResult::kMessage && message.lost_descriptor) {
    TakeOut(socket_.get());
    Answer(Reply::Of(absl::ResourceExhaustedError("skeind could not take the descriptor")));
    return true;
  }
  Request request;
  // One that is truncated is in the socket still.
  if (received != ReceiveResult::kMessage || message.truncated || !Request::Parse(message.view(), request)) {
    End();
    return true;
  }
  if (request.operation == Operation::kWork) return true;  // the thread is awake, and looks at the page
  const absl::StatusOr<Reply> reply = Serve(request, message);
  if (!reply.ok()) CountRefusal();
  if (request.wants_no_answer()) return true;
  const bool others_answer = request.operation == Operation::kAccept || request.operation == Operation::kForget ||
                             request.operation == Operation::kPassListener || registering_ != 0;
  if (!reply.ok() || !others_answer) Answer(reply.ok() ? *reply : Reply::Of(reply.status()));
  return true;
}

void Session::Answer(const Reply& reply, int descriptor) {
  // The process asks one at a time: a socket without space for the answer is of a process that does not.
  if (SendMessage(socket_.get(), reply.view(), descriptor) != SendResult::kSent) End();
}

absl::StatusOr<Session::Reply> Session::Serve(const Request& request, SocketMessage& message) {
  if (owes_answer() && !request.wants_no_answer()) return Nonsense("one request at a time");
  if (request.operation == Operation::kHello) return Hello(request);
  if (request.operation >= Operation::kAbout && request.operation <= Operation::kStop) return AnswerQuery(request);
  if (device() == nullptr) return Nonsense("the greeting comes first");
  switch (request.operation) {
    case Operation::kPassPage:
      return PassPage(request, message);
    case Operation::kRegister:
      return Register(request, message);
    case Operation::kForget: {
      const auto region = regions_.find(request.number);
      if (region == regions_.end()) return Nonsense("no such memory");
      if (!request.wants_no_answer()) {
        forgetting_ = true;
        forgotten_ = region->second->watch();
        answers_until_ = SteadyNow() + kAnswerWaits;
      }
      lkeys_.erase(region->second->rkey());
      for (const auto& [number, queue_pair] : queue_pairs_) queue_pair->locals.erase(request.number);
      owner_.trunks().Revoke(*std::exchange(region->second, nullptr));
      regions_.erase(region);
      return Reply();  // GiveAnswersDue answers
    }
    case Operation::kCreateCompletionQueue:
      return CreateCompletionQueue(request, message);
    case Operation::kWakeBy: {
      const auto queue = completion_queues_.find(request.number);
      if (queue == completion_queues_.end() || queue->second->has_waker()) return Nonsense("no such completion queue");
      if (!IsUnixSocket(message.fd.get())) return Nonsense("no socket to be woken by");
      queue->second->WakeBy(std::move(message.fd));
      return Reply();
    }
    case Operation::kDropCompletionQueue:
      completion_queues_.erase(request.number);
      return Reply();
    case Operation::kCreateQueuePair:
      return CreateQueuePair(request, message);
    default:
      return OfQueuePair(request);
  }
}

absl::StatusOr<Session::Reply> Session::Hello(const Request& request) {
  if (device() != nullptr) return Nonsense("a second greeting");
  if (request.size != fabric::service::kVersion) {
    return absl::UnavailableError(
        absl::StrCat("this skeind speaks version ", fabric::service::kVersion, ", and the process ", request.size));
  }
  absl::StatusOr<Port> port = owner_.PortFor(request.text_view());
  if (!port.ok()) return port.status();
  port_ = *std::move(port);
  Reply reply;
  const fabric::DeviceCapabilities capabilities = device()->capabilities();
  reply.size = Trunk::MostMessageBytes(*device());
  reply.other_size = capabilities.good_message_bytes;
  reply.SetText(device()->name());
  return reply;
}

absl::StatusOr<Session::Reply> Session::AnswerQuery(const Request& request) {
  Reply reply;
  if (request.operation == Operation::kAbout) {
    using Kind = UserBudget::Kind;
    const auto share = [this](Kind kind) {
      return fabric::service::UserShare{budget_->used(kind), budget_->most(kind)};
    };
    const fabric::service::About about = {std::string(inspect::Version()), owner_.trunks().port(),
                                          share(Kind::kSession), share(Kind::kQueuePair), share(Kind::kBytes)};
    reply.SetText(EncodeAbout(about));
    return reply;
  }
  // Root of a container is root to the kernel, too.
  if (!PeerUsers({0}).Check(user()).ok() || !IsInThisPidNamespace(process())) {
    return absl::PermissionDeniedError("only skeind's own user, and root, may, and from no container");
  }
  using fabric::service::Listener;
  if (request.number > static_cast<uint32_t>(Listener::kSkeinds)) return Nonsense("no such listener");
  const int listener = owner_.ListenerFor(static_cast<Listener>(request.number));
  if (listener < 0) return absl::FailedPreconditionError("another skeind takes its place already");
  if (request.operation == Operation::kStop) {
    owner_.GiveWay();
    return reply;
  }
  Answer(reply, listener);
  return reply;
}

absl::StatusOr<Session::Reply> Session::PassPage(const Request& request, SocketMessage& message) {
  if (page() != nullptr || request.size != sizeof(fabric::service::SessionPage)) return Nonsense("no such page");
  absl::StatusOr<Mapping> mapping = MapOf(message, request.size);
  if (!mapping.ok()) return mapping.status();
  page_ = *std::move(mapping);
  return Reply();
}

absl::StatusOr<Session::Reply> Session::Register(const Request& request, SocketMessage& message) {
  if (request.size > kMostRegionBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("skeind registers up to ", kMostRegionBytes, " bytes at once"));
  }
  if ((request.access & (fabric::kRemoteFlush | fabric::kRemoteFlushPersistent)) != 0) {
    return absl::FailedPreconditionError("no FLUSH goes by way of skeind");
  }
  absl::StatusOr<UserBudget::Share> share = budget_->Take(UserBudget::Kind::kBytes, request.size);
  if (!share.ok()) return share.status();
  absl::StatusOr<UserBudget::Share> mapped = budget_->Take(UserBudget::Kind::kMapping, 1);
  if (!mapped.ok()) return mapped.status();
  absl::StatusOr<Mapping> mapping = MapOf(message, request.size);
  if (!mapping.ok()) return mapping.status();
  Registration of = {*std::move(share), *std::move(mapped), *std::move(mapping), request.address, request.access};
  if (request.size <= service::Region::kMostAtOnce) {
    auto registered = device()->Register(of.mapping.bytes(), of.access);
    return Registered(std::move(of), std::move(registered));
  }
  registering_ = ++last_number_;
  answers_until_ = SteadyNow() + kAnswerWaits;
  owner_.worker().Do(
      [self = shared_from_this(), number = registering_, device = device(), of = std::move(of)]() mutable {
        auto registered = device->Register(of.mapping.bytes(), of.access);
        return [self = std::move(self), number, of = std::move(of), registered = std::move(registered)]() mutable {
          self->RegisteredLate(number, std::move(of), std::move(registered));
        };
      });
  return Reply();  // RegisteredLate answers
}

void Session::RegisteredLate(uint32_t number, Registration of,
                             absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> registered) {
  if (number != registering_) {  // nobody waits for it; the worker lets go of it
    if (registered.ok()) (void)ToRegion(std::move(of), *std::move(registered), 0);
    return;
  }
  registering_ = 0;
  const absl::StatusOr<Reply> reply = Registered(std::move(of), std::move(registered));
  if (!reply.ok()) CountRefusal();
  Answer(reply.ok() ? *reply : Reply::Of(reply.status()));
}

std::shared_ptr<service::Region> Session::ToRegion(Registration of, std::unique_ptr<fabric::MemoryRegion> registered,
                                                   uint32_t rkey) {
  return service::Region::Create(owner_.worker(), std::move(of.share), std::move(of.mapped), std::move(of.mapping),
                                 std::move(registered), of.address, of.access, rkey);
}

absl::StatusOr<Session::Reply> Session::Registered(Registration of,
                                                   absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> registered) {
  if (!registered.ok()) return registered.status();
  Reply reply;
  do {
    reply.key = RandomValue<uint32_t>();
  } while (reply.key == 0 || lkeys_.contains(reply.key));
  reply.number = ++last_number_;
  lkeys_[reply.key] = reply.number;
  regions_[reply.number] = ToRegion(std::move(of), *std::move(registered), reply.key);
  return reply;
}

absl::StatusOr<Session::Reply> Session::CreateCompletionQueue(const Request& request, SocketMessage& message) {
  if (request.size == 0 || request.size > kMostEntries) return Nonsense("a completion queue of so many entries");
  absl::StatusOr<UserBudget::Share> mapped = budget_->Take(UserBudget::Kind::kMapping, 1);
  if (!mapped.ok()) return mapped.status();
  absl::StatusOr<Mapping> mapping = MapOf(message, CompletionBytes(request.size));
  if (!mapping.ok()) return mapping.status();
  Reply reply;
  reply.number = ++last_number_;
  completion_queues_[reply.number] =
      std::make_shared<Completions>(*std::move(mapped), *std::move(mapping), request.size, owner_.unwoken());
  return reply;
}

absl::StatusOr<Session::Reply> Session::CreateQueuePair(const Request& request, SocketMessage& message) {
  const auto send = completion_queues_.find(request.number);
  const auto receive = completion_queues_.find(request.other);
  if (send == completion_queues_.end() || receive == completion_queues_.end())
    return Nonsense("no such completion queue");
  if (request.size == 0 || request.size > kMostEntries) return Nonsense("a queue pair for so many requests");
  if (page() == nullptr) return Nonsense("the page comes first");
  const auto free = std::find(places_.begin() + kQuestionPlace + 1, places_.end(), nullptr);
  const size_t place = static_cast<size_t>(free - places_.begin());
  if (place == kMostPlaces) {
    return absl::ResourceExhaustedError(absl::StrCat("skeind lets a process have ", kMostPlaces - 1, " queue pairs"));
  }
  absl::StatusOr<UserBudget::Share> share = budget_->Take(UserBudget::Kind::kQueuePair, 1);
  if (!share.ok()) return share.status();
  absl::StatusOr<Mapping> mapping = MapOf(message, SubmissionBytes(request.size));
  if (!mapping.ok()) return mapping.status();
  auto made = std::make_shared<VirtualQueuePair>(*std::move(share));
  made->session = shared_from_this();
  made->place = static_cast<uint32_t>(place);
  made->memory = *std::move(mapping);
  made->submissions = {made->memory.data(), request.size};
  made->depth = request.size;
  made->send_queue = send->second;
  made->receive_queue = receive->second;
  if (absl::Status added = owner_.queue_pairs().Add(made); !added.ok()) return added;
  if (place == places_.size()) places_.emplace_back();
  places_[place] = made;
  queue_pairs_[made->number] = made;
  Reply reply;
  reply.number = made->number;
  reply.other = made->place;
  return reply;
}

absl::StatusOr<Session::Reply> Session::OfQueuePair(const Request& request) {
  const auto found = queue_pairs_.find(request.number);
  if (found == queue_pairs_.end()) return Nonsense("no such queue pair");
  const std::shared_ptr<VirtualQueuePair> queue_pair = found->second;
  Reply reply;
  switch (request.operation) {
    case Operation::kOffer: {
      const absl::StatusOr<std::string> offer = owner_.queue_pairs().Offer(*queue_pair, port_);
      if (!offer.ok()) return offer.status();
      reply.SetText(*offer);
      return reply;
    }
    case Operation::kAccept:
      accepting_ = queue_pair;
      answers_until_ = SteadyNow() + kAnswerWaits;
      if (absl::Status begun = owner_.queue_pairs().Accept(queue_pair, request.text_view()); !begun.ok()) {
        AcceptEnded(*queue_pair, begun);
      }
      return reply;  // AcceptEnded has answered, or will
    case Operation::kComplete:
      if (absl::Status status = owner_.queue_pairs().Complete(*queue_pair, request.text_view()); !status.ok())
        return status;
      return reply;
    case Operation::kClose:
      owner_.queue_pairs().End(queue_pair, fabric::service::End::kClosed);
      return reply;
    case Operation::kDestroyQueuePair:
      places_[queue_pair->place] = nullptr;
      queue_pairs_.erase(found);
      destroyed_ += TrafficOf(*queue_pair);
      owner_.queue_pairs().Destroyed(queue_pair, fabric::service::End::kClosed);
      return reply;
    default:
      End();
      return Nonsense("no such request");
  }
}

void Session::AcceptEnded(const VirtualQueuePair& queue_pair, const absl::StatusOr<std::string>& answer) {
  if (accepting_.get() != &queue_pair) return;
  accepting_ = nullptr;
  Reply reply;
  if (answer.ok()) {
    reply.SetText(*answer);
  } else {
    CountRefusal();
    reply = Reply::Of(answer.status());
  }
  Answer(reply);
}

void Session::GiveAnswersDue(absl::Time now) {
  const bool late = now >= answers_until_;
  if (accepting_ != nullptr && late) {
    const std::shared_ptr<VirtualQueuePair> given_up = accepting_;
    owner_.queue_pairs().End(given_up, fabric::service::End::kConnection);
    AcceptEnded(*given_up, absl::UnavailableError("the other host's skeind does not answer"));
  }
  if (registering_ != 0 && late) {
    registering_ = 0;
    CountRefusal();
    Answer(Reply::Of(absl::UnavailableError("skeind registers memory of others before this")));
  }
  // Late, somebody may write there still: into skeind's mapping, which is no memory of the process's any more.
  if (forgetting_ && (late || forgotten_.expired())) {
    forgetting_ = false;
    Answer(Reply());
  }
}

bool Session::LookForRequests() {
  if (page() == nullptr) return false;
  bool any = false;
  for (size_t word = 0; word * 64 < places_.size(); ++word) {
    if (page()->pending[word].load(std::memory_order_relaxed) == 0) continue;
    uint64_t bits = page()->pending[word].exchange(0, std::memory_order_acquire);
    for (; bits != 0; bits &= bits - 1) {
      const size_t place = word * 64 + static_cast<size_t>(std::countr_zero(bits));
      any = true;
      if (place == kQuestionPlace) {
        page()->answered.store(page()->asked.load(std::memory_order_relaxed), std::memory_order_relaxed);
      } else if (place < places_.size() && places_[place] != nullptr) {  // the process's word
        owner_.queue_pairs().MayGoOn(places_[place]);
      }
    }
  }
  return any;
}

void Session::GoToSleep() {
  if (page() != nullptr) fabric::service::PutUp(page()->skeind_sleeps);
}

void Session::Wake() {
  if (page() != nullptr) page()->skeind_sleeps.store(0, std::memory_order_relaxed);
}

std::shared_ptr<service::Region> Session::Region(uint32_t lkey) const {
  const auto found = regions_.find(lkey);
  return found == regions_.end() ? nullptr : found->second;
}

std::shared_ptr<service::Region> Session::RegionByKey(uint32_t rkey) const {
  const auto found = lkeys_.find(rkey);
  return found == lkeys_.end() ? nullptr : Region(found->second);
}

void Session::End() {
  if (std::exchange(ended_, true)) return;
  const std::shared_ptr<Session> self = shared_from_this();
  shutdown(socket_.get(), SHUT_RDWR);
  accepting_ = nullptr;
  registering_ = 0;
  forgetting_ = false;
  places_.clear();
  page_ = Mapping();
  for (const auto& [number, queue_pair] : std::exchange(queue_pairs_, {})) {
    destroyed_ += TrafficOf(*queue_pair);
    owner_.queue_pairs().Destroyed(queue_pair, fabric::service::End::kGone);
  }
  completion_queues_.clear();
  lkeys_.clear();
  for (const auto& [lkey, region] : std::exchange(regions_, {})) owner_.trunks().Revoke(*region);
}

}  // namespace skein::service
