// A connection for calls whose other end is hostile: a server serves no more calls than agreed, a client's callers get
// one answer each.
//
//   input = u8 client | steps: those of the peer, or of the victim
#include <deque>
#include <memory>
#include <vector>

#include "core/rpc/client_service.h"
#include "core/rpc/server_service.h"
#include "tests/fuzz/one_link.h"
#include "tests/fuzz/peer_seeds.h"

namespace skein::fuzz {
namespace {

using wire::ItemKind;

enum class VictimStep : uint8_t {
  kPoll = kPeerSteps,
  kCall,     // the client: piece
  kAbandon,  // the client: its oldest call
  kReply,    // the server, to a call that it kept: piece
  kClose,
};
constexpr size_t kSteps = kPeerSteps + 5;
constexpr int kMostSteps = 200;
constexpr uint32_t kMostCalls = 3;

class Victim {
 public:
  virtual ~Victim() = default;
  virtual void Do(VictimStep step, Script& script) = 0;

  void Run(Script& script) {
    for (int steps = 0; steps < kMostSteps && !script.done(); ++steps) {
      const size_t step = script.Choice(kSteps);
      step < kPeerSteps ? peer_.Do(static_cast<PeerStep>(step), script) : Do(static_cast<VictimStep>(step), script);
    }
    link_.Poll();
  }

 protected:
  std::shared_ptr<connect::Fabrics> Fabrics() {
    return std::make_shared<connect::OneFabric>(simulation_.CreateDevice("victim"));
  }
  static rpc::Options Options() {
    rpc::Options options;
    options.max_calls = kMostCalls;
    return options;
  }
  static connect::Options LinkOptions() { return {.ring_bytes = wire::kRingGranule}; }

  fabric::Simulation simulation_{20261121};
  RingPeer peer_{simulation_};
  OneLink link_{simulation_};
};

class Server final : public Victim {
 public:
  Server() {
    rpc::Handlers& handlers = service_->handlers();
    handlers[1] = [](absl::string_view request, rpc::Reply reply) { reply.Send(request); };
    handlers[2] = [this](absl::string_view, rpc::Reply reply) {
      kept_.push_back(std::move(reply));
      Require(kept_.size() <= kMostCalls, "no more calls than agreed");
    };
    handlers[3] = [](absl::string_view, rpc::Reply) {};
    listener_ = connect::CreateListener(Fabrics(), LinkOptions(), &link_, service_);
    port_ =
        std::static_pointer_cast<rpc::ServerPort>(AcceptPeer(*listener_, wire::Service::kRpc, peer_).placement.port);
    Require(port_ != nullptr, "a port");
  }

  void Do(VictimStep step, Script& script) override {
    if (step == VictimStep::kClose) port_->Close("enough");
    if (step == VictimStep::kPoll) link_.Poll();
    if (step != VictimStep::kReply || kept_.empty()) return;
    rpc::Reply reply = std::move(kept_.front());
    kept_.pop_front();
    reply.Send(script.Piece());
  }

 private:
  std::shared_ptr<rpc::ServerService> service_ = std::make_shared<rpc::ServerService>(Options());
  std::unique_ptr<connect::Listener> listener_;
  std::shared_ptr<rpc::ServerPort> port_;
  std::deque<rpc::Reply> kept_;
};

class Client final : public Victim {
 public:
  Client() {
    connector_ =
        connect::CreateConnector(Fabrics(), LinkOptions(), &link_, std::make_shared<rpc::ClientService>(Options()));
    const auto attempt = connector_->Begin({}).value();
    port_ = std::static_pointer_cast<rpc::ClientPort>(CompleteWithPeer(*attempt, kMostCalls, peer_).port);
    Require(port_ != nullptr, "a port");
    link_.Poll();
    peer_.Attach(wire::DecodeRingDescriptor(peer_.LastReceived(ItemKind::kHello)).value());
  }
  ~Client() override {
    port_->Close(absl::CancelledError("over"));
    for (const Call& call : calls_) Require(call.slot->waiter.done(), "every call is answered in the end");
  }

  void Do(VictimStep step, Script& script) override {
    if (step == VictimStep::kClose) port_->Close(absl::CancelledError("enough"));
    if (step == VictimStep::kPoll) link_.Poll();
    if (step == VictimStep::kCall) Start(script.Piece());
    if (step == VictimStep::kAbandon && !calls_.empty()) Forget();
  }

 private:
  struct Call {
    rpc::Slot* slot = nullptr;
    std::unique_ptr<rpc::Answer> answer;
  };

  void Start(absl::string_view bytes) {
    const absl::StatusOr<rpc::Slot*> slot = port_->Take();
    if (!slot.ok()) return;
    calls_.push_back({*slot, std::make_unique<rpc::Answer>()});
    (*slot)->answer = calls_.back().answer.get();
    const rpc::Request request{*slot, 1, bytes};
    port_->Start({&request, 1});
  }
  // As a caller does whose deadline has passed.
  void Forget() {
    const Call call = std::move(calls_.front());
    calls_.pop_front();
    if (!call.slot->waiter.Abandon()) port_->Release(call.slot);
  }

  std::unique_ptr<connect::Connector> connector_;
  std::shared_ptr<rpc::ClientPort> port_;
  std::deque<Call> calls_;
};

std::string Message(const rpc::MessageHeader& header, absl::string_view body = {}) {
  std::string text;
  wire::Put(text, header);
  text.append(body.data(), body.size());
  return ItemStep(ItemKind::kData, 1, text);
}

}  // namespace

std::vector<std::string> Seeds() {
  const std::string server(1, '\0');
  const std::string client(1, '\1');
  const std::string poll = Say(VictimStep::kPoll);
  const std::string call = Say(VictimStep::kCall, Piece("a question"));
  std::string ask = server + OpenSteps(0);
  for (const uint32_t handler : {1, 2, 3, 4}) ask += Message(rpc::RequestHeader(handler, handler), "a request");
  return {
      ask + poll + Say(VictimStep::kReply, Piece("a reply")) + poll + Say(VictimStep::kClose) + poll,
      server + OpenSteps(0) + ItemStep(ItemKind::kAbort, 1, "gone") + poll,
      client + call + Message(rpc::ReplyHeader(0), "an answer") + poll + call + call + Say(VictimStep::kAbandon) +
          Message(rpc::ErrorHeader(1, absl::NotFoundError("")), "none") + poll + Say(VictimStep::kClose) + poll,
      client + call + ItemStep(ItemKind::kAbort, 1, "gone") + poll + call,
  };
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skein::fuzz;  // NOLINT(google-build-using-namespace): this is of it, but for its C name
  Script script(Text(data, size));
  if (script.Choice(2) == 0) {
    Server().Run(script);
  } else {
    Client().Run(script);
  }
  return 0;
}
