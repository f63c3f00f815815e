// The first messages of two skeinds. Each step of the greeting is heeded once, and at the side that expects it.
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/random_value.h"
#include "core/service/trunk.h"

namespace skein::service {
namespace {

constexpr absl::string_view kConnects = "connects";
constexpr absl::string_view kAccepts = "accepts";

}  // namespace

void Trunk::Greet(const TrunkMessage& message) {
  const bool connects = queue_pair_ != nullptr;
  switch (message.kind) {
    case TrunkKind::kHello:
      if (connects || !said_.empty()) return Fail("the other skeind greets twice");
      if (message.size != kTrunkVersion) return Fail(absl::StrCat("the other skeind speaks version ", message.size));
      said_ = std::string(message.view());
      return secret_.empty() ? Welcome(message) : Challenge();
    case TrunkKind::kChallenge: {
      if (!connects || std::exchange(challenged_, true)) return Fail("the other skeind asks what it should not");
      if (secret_.empty()) return Fail("the other skeind has a secret, and this one none: skeind --secret-file");
      absl::StrAppend(&said_, message.view());
      TrunkMessage answer;
      answer.kind = TrunkKind::kProof;
      answer.proof = Prove(secret_, kConnects, said_);
      return Send(answer);
    }
    case TrunkKind::kProof: {
      if (connects || !challenged_) return Fail("the other skeind proves what nobody asked");
      if (!IsProven(secret_, kConnects, said_, message.proof)) return Fail("the other skeind has another secret");
      TrunkMessage hello;
      TrunkMessage::Parse(said_.data(), hello);
      return Welcome(hello);
    }
    default:  // kWelcome
      if (!connects) return Fail("the other skeind answers what nobody asked");
      return Welcomed(message);
  }
}

void Trunk::Challenge() {
  challenged_ = true;
  TrunkMessage challenge;
  challenge.kind = TrunkKind::kChallenge;
  challenge.nonce = RandomValue<decltype(challenge.nonce)>();
  absl::StrAppend(&said_, challenge.view());
  Send(challenge);
}

void Trunk::Welcome(const TrunkMessage& hello) {
  absl::StatusOr<Port> port = owner_.PortFor(hello.host_view());
  if (!port.ok()) return Fail(port.status().message());
  device_ = std::move(port->device);
  if (absl::Status made = MakeQueuePair(); !made.ok()) return Fail(made.message());
  const absl::StatusOr<std::string> answer = queue_pair_->Accept(hello.text_view());
  if (!answer.ok()) return Fail(answer.status().message());
  TrunkMessage welcome;
  welcome.kind = TrunkKind::kWelcome;
  welcome.address = landing_->remote().address;
  welcome.key = landing_->remote().rkey;
  if (answer->size() > welcome.text.size()) return Fail("the device's answers are too long");
  welcome.SetText(*answer);
  if (!secret_.empty()) welcome.proof = Prove(secret_, kAccepts, absl::StrCat(said_, welcome.view()));
  Send(welcome);
  if (!ended_) BecomeReady({hello.address, hello.key});  // else the other skeind has gone meanwhile
}

void Trunk::Welcomed(TrunkMessage welcome) {
  const Proof proof = std::exchange(welcome.proof, {});
  if (!secret_.empty() && !IsProven(secret_, kAccepts, absl::StrCat(said_, welcome.view()), proof)) {
    return Fail("the other skeind has another secret, or none");
  }
  const absl::Status completed = queue_pair_->Complete(welcome.text_view());
  if (!completed.ok()) return Fail(completed.message());
  BecomeReady({welcome.address, welcome.key});
}

void Trunk::BecomeReady(fabric::RemoteAddress peers_landing) {
  peers_landing_ = peers_landing;
  said_.clear();
  ready_ = true;
  look_at_ = absl::InfiniteFuture();
  PostReceives();
  for (const TrunkMessage& waited : std::exchange(unsent_, {})) Send(waited);
}

}  // namespace skein::service
