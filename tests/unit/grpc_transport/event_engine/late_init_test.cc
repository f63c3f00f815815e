// Init() behind the first channel and server: those stay gRPC's own, and go on; later ones use Skein.
#include <skein/grpc.h>

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "tests/unit/grpc_transport/common/two_ends.h"

namespace skein::grpc_transport {
namespace {

// Of the process, so there is one case.
TEST(LateInitTest, ConnectionsFromBeforeStayTcpAndLaterOnesUseSkein) {
  Echo echo;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.AddChannelArgument("skein.mode", "prefer");
  builder.RegisterCallbackGenericService(&echo);
  const auto early_server = builder.BuildAndStart();
  grpc::ChannelArguments arguments;
  arguments.SetString("skein.mode", "prefer");
  const std::string address = "127.0.0.1:" + std::to_string(port);
  const auto early = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  EXPECT_TRUE(CallOver(early, "/test.Echo/Call").ok());

  ASSERT_TRUE(Init().ok());
  EXPECT_TRUE(CallOver(early, "/test.Echo/Call").ok());
  EXPECT_TRUE(Paths().empty()) << "nobody asks on a connection of before";

  class Later final : public TwoEnds {
   public:
    using TwoEnds::Call;
    void TestBody() override {}
  } later;
  EXPECT_TRUE(later.Call("/test.Echo/Call").ok()) << "its mode is require";
  ASSERT_EQ(Paths().size(), 2u);
  EXPECT_EQ(Paths().front().path, "shm");

  // A later channel to the early server, which answers no offer.
  const auto mixed = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), [&] {
    arguments.SetInt("test.another", 1);
    return arguments;
  }());
  EXPECT_TRUE(CallOver(mixed, "/test.Echo/Call").ok());
  ASSERT_EQ(Paths().size(), 3u);
  EXPECT_EQ(Paths().back().path, "tcp");
  EXPECT_TRUE(CallOver(early, "/test.Echo/Call").ok());
}

}  // namespace
}  // namespace skein::grpc_transport
