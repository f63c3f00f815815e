// What gRPC's channelz tells of connections that Skein carries: what it tells of others.
#include "tests/unit/grpc_transport/iomgr/channelz.h"

#include <grpc/grpc.h>
#include <skein/grpc.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "gtest/gtest.h"
#include "tests/unit/grpc_transport/common/two_ends.h"

namespace skein::grpc_transport {
namespace {

using ChannelzTest = TwoEnds;
using nlohmann::json;

json ClientSocket() {
  const json channel = Told(grpc_channelz_get_top_channels(0)).at("channel").at(0);
  const json subchannel =
      Told(grpc_channelz_get_subchannel(Number(channel.at("subchannelRef").at(0), "subchannelId"))).at("subchannel");
  return Told(grpc_channelz_get_socket(Number(subchannel.at("socketRef").at(0), "socketId"))).at("socket");
}

json ServerSocket() {
  const json server = Told(grpc_channelz_get_servers(0)).at("server").at(0);
  const json sockets = Told(grpc_channelz_get_server_sockets(Number(server.at("ref"), "serverId"), 0, 0));
  return Told(grpc_channelz_get_socket(Number(sockets.at("socketRef").at(0), "socketId"))).at("socket");
}

TEST_F(ChannelzTest, BothEndsHaveASocketWithAddressesAndCounts) {
  ASSERT_EQ(Paths().size(), 0);
  ASSERT_TRUE(Call("/test.Echo/Call").ok());
  ASSERT_TRUE(Call("/test.Echo/Call").ok());
  ASSERT_EQ(Paths().at(0).path, "shm");

  const json client = ClientSocket();
  EXPECT_EQ(client.at("remote").at("tcpip_address").at("port"), port_);
  EXPECT_TRUE(client.at("local").contains("tcpip_address"));
  EXPECT_EQ(client.at("data").at("streamsStarted"), "2");
  EXPECT_EQ(client.at("data").at("messagesSent"), "2");
  EXPECT_EQ(client.at("data").at("messagesReceived"), "2");
  const json server = ServerSocket();
  EXPECT_EQ(server.at("remote"), client.at("local")) << "one connection, seen from its two ends";
  EXPECT_EQ(server.at("data").at("streamsStarted"), "2");
  EXPECT_EQ(server.at("data").at("messagesReceived"), "2");
}

class OneCallChannelzTest : public TwoEnds {
 protected:
  OneCallChannelzTest() : TwoEnds(/*most_calls=*/1) {}
};

TEST_F(OneCallChannelzTest, ACallWhoseTurnDoesNotComeHasFailed) {
  ASSERT_TRUE(Call("/test.Echo/Call").ok());
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  void* tag = nullptr;
  bool ok = false;
  const auto held = stub_->PrepareCall(&context, "/test.Echo/Call", &queue);
  held->StartCall(&context);
  ASSERT_TRUE(queue.Next(&tag, &ok) && ok);
  grpc::ClientContext waiting_context;
  const auto waiting = stub_->PrepareCall(&waiting_context, "/test.Echo/Call", &queue);
  waiting->StartCall(&waiting_context);
  while (ClientSocket().at("data").at("streamsStarted") != "3") std::this_thread::yield();
  waiting_context.TryCancel();
  ASSERT_TRUE(queue.Next(&tag, &ok));
  grpc::Status waited;
  waiting->Finish(&waited, &waiting_context);
  ASSERT_TRUE(queue.Next(&tag, &ok));
  EXPECT_EQ(waited.error_code(), grpc::StatusCode::CANCELLED);
  const json data = ClientSocket().at("data");
  EXPECT_EQ(data.at("streamsSucceeded"), "1");
  EXPECT_EQ(data.value("streamsFailed", "0"), "1") << "else it would seem to be under way for ever";
  context.TryCancel();
  grpc::Status status;
  held->Finish(&status, &context);
  ASSERT_TRUE(queue.Next(&tag, &ok));
  queue.Shutdown();
  EXPECT_FALSE(queue.Next(&tag, &ok));
}

}  // namespace
}  // namespace skein::grpc_transport

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!skein::grpc_transport::Init().ok()) return 1;
  return RUN_ALL_TESTS();
}
