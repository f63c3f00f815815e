#include "core/service/trunk_greeting.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/random_value.h"

namespace skein::service {
namespace {

constexpr absl::string_view kConnects = "connects";
constexpr absl::string_view kAccepts = "accepts";

// How this side's queue pair is reached.
absl::Status Describe(const SharedQueuePair& own, TrunkMessage& in) {
  if (own.says.size() > in.text.size()) return absl::ResourceExhaustedError("the device's offers are too long");
  in.SetText(own.says);
  in.address = own.landing->remote().address;
  in.key = own.landing->remote().rkey;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TrunkMessage> TrunkGreeting::Hello(absl::string_view host, const SharedQueuePair& own) {
  TrunkMessage hello;
  hello.size = kTrunkVersion;
  hello.nonce = RandomValue<decltype(hello.nonce)>();
  hello.SetHost(host);
  if (absl::Status described = Describe(own, hello); !described.ok()) return described;
  said_ = std::string(hello.view());
  state_ = State::kGreeted;
  return hello;
}

absl::StatusOr<TrunkMessage> TrunkGreeting::Welcome(const SharedQueuePair& own) const {
  TrunkMessage welcome;
  welcome.kind = TrunkKind::kWelcome;
  if (absl::Status described = Describe(own, welcome); !described.ok()) return described;
  if (!secret_.empty()) welcome.proof = Prove(secret_, kAccepts, absl::StrCat(said_, welcome.view()));
  return welcome;
}

absl::StatusOr<TrunkGreeting::Step> TrunkGreeting::Heed(const TrunkMessage& message) {
  if (connects_ && state_ == State::kSilent) {
    return absl::InvalidArgumentError("the other skeind answers what nobody has said");
  }
  switch (message.kind) {
    case TrunkKind::kHello:
      return HeedHello(message);
    case TrunkKind::kChallenge:
      return HeedChallenge(message);
    case TrunkKind::kProof:
      return HeedProof(message);
    default:
      return HeedWelcome(message);
  }
}

absl::StatusOr<TrunkGreeting::Step> TrunkGreeting::HeedHello(const TrunkMessage& hello) {
  if (state_ != State::kSilent) return absl::InvalidArgumentError("the other skeind greets twice");
  if (hello.size != kTrunkVersion) {
    return absl::InvalidArgumentError(absl::StrCat("the other skeind speaks version ", hello.size));
  }
  said_ = std::string(hello.view());
  if (secret_.empty()) {
    state_ = State::kAccepted;
    return Step{Step::Kind::kAccept, hello};
  }
  state_ = State::kChallenged;
  TrunkMessage challenge;
  challenge.kind = TrunkKind::kChallenge;
  challenge.nonce = RandomValue<decltype(challenge.nonce)>();
  absl::StrAppend(&said_, challenge.view());
  return Step{Step::Kind::kSay, challenge};
}

absl::StatusOr<TrunkGreeting::Step> TrunkGreeting::HeedChallenge(const TrunkMessage& challenge) {
  if (!connects_ || state_ != State::kGreeted) {
    return absl::InvalidArgumentError("the other skeind asks what it should not");
  }
  if (secret_.empty()) {
    return absl::FailedPreconditionError("the other skeind has a secret, and this one none: skeind --secret-file");
  }
  state_ = State::kChallenged;
  absl::StrAppend(&said_, challenge.view());
  TrunkMessage proof;
  proof.kind = TrunkKind::kProof;
  proof.proof = Prove(secret_, kConnects, said_);
  return Step{Step::Kind::kSay, proof};
}

absl::StatusOr<TrunkGreeting::Step> TrunkGreeting::HeedProof(const TrunkMessage& proof) {
  if (connects_ || state_ != State::kChallenged) {
    return absl::InvalidArgumentError("the other skeind proves what nobody asked");
  }
  if (!IsProven(secret_, kConnects, said_, proof.proof)) {
    return absl::UnauthenticatedError("the other skeind has another secret");
  }
  state_ = State::kAccepted;
  TrunkMessage hello;
  TrunkMessage::Parse(said_.data(), hello);
  return Step{Step::Kind::kAccept, hello};
}

absl::StatusOr<TrunkGreeting::Step> TrunkGreeting::HeedWelcome(TrunkMessage welcome) const {
  if (!connects_) return absl::InvalidArgumentError("the other skeind answers what nobody asked");
  const Proof proof = std::exchange(welcome.proof, {});
  if (!secret_.empty() && !IsProven(secret_, kAccepts, absl::StrCat(said_, welcome.view()), proof)) {
    return absl::UnauthenticatedError("the other skeind has another secret, or none");
  }
  return Step{Step::Kind::kOpen, welcome};
}

}  // namespace skein::service
