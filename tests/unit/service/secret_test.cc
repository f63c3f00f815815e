// skeinds that share a secret, and those that would join them without.
#include "core/service/secret.h"

#include <sys/stat.h>

#include <fstream>
#include <string>

#include "core/service/offer.h"
#include "tests/support/raw_trunk.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/service/two_hosts.h"

namespace skein::service {
namespace {

using ::testing::HasSubstr;

class SecretOfTrunks : public ::testing::Test {
 protected:
  std::unique_ptr<SkeindHost> NewHost(const std::string& name, const std::string& secret) {
    return std::make_unique<SkeindHost>(simulation_, simulation_.CreateDevice(name), UserLimits{}, TrunkPatience{},
                                        secret);
  }
  void ExpectNotLetIn(const std::string& one, const std::string& other) {
    const auto connects = NewHost("connects", one);
    const auto accepts = NewHost("accepts", other);
    Process a(*connects);
    Process b(*accepts);
    EXPECT_EQ(NewPair(a)->Accept(NewPair(b)->Offer().value()).status().code(), absl::StatusCode::kUnavailable);
  }

  fabric::Simulation simulation_{20261129, {}};
};

constexpr char kSecret[] = "0123456789abcdef";

TEST_F(SecretOfTrunks, LetsThoseInThatKnowIt) {
  const auto one = NewHost("one", kSecret);
  const auto other = NewHost("other", kSecret);
  Couple(*one, *other).ExpectWorks();
  Couple(*other, *one).ExpectWorks();
}

TEST_F(SecretOfTrunks, KeepsOthersOut) {
  ExpectNotLetIn("another one, as long", kSecret);
  ExpectNotLetIn("", kSecret);
  ExpectNotLetIn(kSecret, "");
}

// Messages of an honest greeting, said again, or by the other side.
TEST_F(SecretOfTrunks, IsNotShownByWhatWasHeard) {
  const auto one = NewHost("one", kSecret);
  TrunkMessage hello;
  hello.size = kTrunkVersion;
  const auto expect_ended = [](const RawTrunk& trunk) {
    EXPECT_EQ(trunk.Receive().status().message(), "skeind has closed the connection");
  };
  TrunkMessage proof;
  proof.kind = TrunkKind::kProof;
  {
    const RawTrunk heard(one->trunk_port());
    heard.Send(hello);
    const TrunkMessage challenge = heard.Receive().value();
    ASSERT_EQ(challenge.kind, TrunkKind::kChallenge);
    proof.proof = Prove(kSecret, "connects", std::string(hello.view()) + std::string(challenge.view()));
    const RawTrunk again(one->trunk_port());
    again.Send(hello);
    EXPECT_NE(again.Receive().value().nonce, challenge.nonce);
    again.Send(proof);
    expect_ended(again);
    // As the other side's.
    const RawTrunk reflects(one->trunk_port());
    reflects.Send(hello);
    const TrunkMessage other = reflects.Receive().value();
    proof.proof = Prove(kSecret, "accepts", std::string(hello.view()) + std::string(other.view()));
    reflects.Send(proof);
    expect_ended(reflects);
  }
  for (const TrunkKind kind : {TrunkKind::kProof, TrunkKind::kChallenge, TrunkKind::kWelcome}) {
    const RawTrunk unasked(one->trunk_port());
    proof.kind = kind;
    unasked.Send(proof);
    expect_ended(unasked);
  }
}

TEST(SecretFile, IsReadWithoutTheLinesEnd) {
  const TemporaryFolder folder("/tmp");
  const std::string path = folder.File("secret");
  const auto write = [&](const std::string& text, mode_t mode) {
    std::ofstream(path) << text;
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
  };
  EXPECT_FALSE(ReadSecret(path).ok());
  write("0123456789abcdef\n", 0600);
  EXPECT_EQ(ReadSecret(path).value(), "0123456789abcdef");
  write("0123456789abcdef\n", 0644);
  EXPECT_THAT(ReadSecret(path).status().message(), HasSubstr("everybody may read"));
  write("short\n", 0600);
  EXPECT_THAT(ReadSecret(path).status().message(), HasSubstr("16 at least"));
}

}  // namespace
}  // namespace skein::service
