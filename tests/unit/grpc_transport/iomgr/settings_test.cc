// Channel arguments change the environment's options; what is wrong is named.
#include "grpc_transport/iomgr/settings.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein::grpc_transport {
namespace {

using grpc_core::ChannelArgs;
using testing::HasSubstr;
using testing::StartsWith;

EnvironmentOptions Environment(Mode mode = Mode::kOff) {
  EnvironmentOptions environment;
  environment.options.mode = mode;
  environment.options.ring_bytes = 2 << 20;
  environment.options.window_bytes = 3 << 20;
  environment.options.negotiation_timeout = absl::Milliseconds(77);
  environment.options.negative_cache = absl::Seconds(5);
  return environment;
}

// An environment that asks for Skein.
EnvironmentOptions On() { return Environment(Mode::kPrefer); }

std::string ErrorOf(const absl::StatusOr<Options>& options) {
  EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(options.status().message());
}

TEST(Settings, WithoutArgumentsTheEnvironmentCounts) {
  const absl::StatusOr<Options> options = OptionsOf(Environment(), ChannelArgs().Set("grpc.keepalive_time_ms", 1));
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->mode, Mode::kOff);
  EXPECT_EQ(options->ring_bytes, 2 << 20);
  EXPECT_EQ(options->window_bytes, 3 << 20);
  EXPECT_EQ(options->negotiation_timeout, absl::Milliseconds(77));
  EXPECT_EQ(options->negative_cache, absl::Seconds(5));
}

TEST(Settings, ArgumentsWinAndLeaveTheRestAlone) {
  const absl::StatusOr<Options> options =
      OptionsOf(Environment(), ChannelArgs().Set("skein.mode", "require").Set("skein.negotiation_timeout", 250));
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->mode, Mode::kRequire);
  EXPECT_EQ(options->negotiation_timeout, absl::Milliseconds(250));
  EXPECT_EQ(options->ring_bytes, 2 << 20);
  EXPECT_EQ(options->negative_cache, absl::Seconds(5));
}

TEST(Settings, NumbersMayBeTextOrIntegers) {
  for (const ChannelArgs& args :
       {ChannelArgs().Set("skein.ring_bytes", 65536), ChannelArgs().Set("skein.ring_bytes", "65536")}) {
    const absl::StatusOr<Options> options = OptionsOf(Environment(), args);
    ASSERT_TRUE(options.ok()) << options.status();
    EXPECT_EQ(options->ring_bytes, 65536);
  }
}

TEST(Settings, EveryOptionIsAnArgument) {
  for (const OptionSpec& spec : OptionTable()) {
    const std::string name = "skein." + std::string(spec.name);
    const absl::StatusOr<Options> options =
        OptionsOf(Environment(), ChannelArgs().Set(name, std::string(spec.default_value)));
    EXPECT_TRUE(options.ok()) << options.status();
  }
}

TEST(Settings, OtherArgumentsAreNotOurs) {
  EXPECT_TRUE(OptionsOf(Environment(), ChannelArgs().Set("skein_mode", "x").Set("myskein.mode", "y")).ok());
}

TEST(Settings, WrongValueIsNamedWithWhatIsAllowed) {
  const std::string text = ErrorOf(OptionsOf(Environment(), ChannelArgs().Set("skein.mode", "sometimes")));
  EXPECT_THAT(text, StartsWith("channel argument skein.mode"));
  EXPECT_THAT(text, HasSubstr("\"sometimes\""));
  EXPECT_THAT(text, HasSubstr("allowed: off | prefer | require"));
  const std::string number = ErrorOf(OptionsOf(On(), ChannelArgs().Set("skein.ring_bytes", 7)));
  EXPECT_THAT(number, StartsWith("channel argument skein.ring_bytes"));
  EXPECT_THAT(number, HasSubstr("65536 .. 1073741824"));
}

// It was "channel argument skein.no option ...".
TEST(Settings, UnknownNameIsNamedAndCorrected) {
  const std::string text = ErrorOf(OptionsOf(On(), ChannelArgs().Set("skein.ring_byte", 65536)));
  EXPECT_THAT(text, StartsWith("channel argument skein.ring_byte"));
  EXPECT_THAT(text, HasSubstr("did you mean ring_bytes?"));
}

TEST(Settings, PointersAreRefused) {
  static const grpc_arg_pointer_vtable vtable = {[](void* p) { return p; }, [](void*) {},
                                                 [](void* a, void* b) { return grpc_core::QsortCompare(a, b); }};
  int pointee = 0;
  std::string name = "skein.mode";
  grpc_arg arg = grpc_channel_arg_pointer_create(name.data(), &pointee, &vtable);
  const grpc_channel_args list = {1, &arg};
  const std::string text = ErrorOf(OptionsOf(Environment(), ChannelArgs::FromC(&list)));
  EXPECT_THAT(text, HasSubstr("skein.mode is a pointer"));
}

// Else a channel would quietly do what nobody asked for.
TEST(Settings, WrongEnvironmentIsNotCuredByArguments) {
  EnvironmentOptions environment = Environment();
  environment.error = absl::InvalidArgumentError("SKEIN_RING_BYTES is \"7\"");
  const absl::StatusOr<Options> options = OptionsOf(environment, ChannelArgs().Set("skein.mode", "prefer"));
  EXPECT_EQ(ErrorOf(options), "SKEIN_RING_BYTES is \"7\"");
}

// Of a channel that does not ask for Skein, nothing of Skein's makes anything fail.
TEST(Settings, WithModeOffNothingIsWrong) {
  EnvironmentOptions environment = Environment();
  environment.error = absl::InvalidArgumentError("SKEIN_RING_BYTES is \"7\"");
  EXPECT_TRUE(OptionsOf(environment, ChannelArgs()).ok());
  EXPECT_TRUE(OptionsOf(Environment(), ChannelArgs().Set("skein.ring_bytes", 7)).ok());
  environment = On();
  environment.error = absl::InvalidArgumentError("SKEIN_GRPC is \"yes\"");
  const absl::StatusOr<Options> options = OptionsOf(environment, ChannelArgs().Set("skein.mode", "off"));
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->mode, Mode::kOff);
}

}  // namespace
}  // namespace skein::grpc_transport
