// One end of Skein's, the other Thrift's own, in each protocol: the server tells a hello from a call, the client is
// answered by a server that has never heard of hellos, and falls back.
#include <skein/thrift/server_socket.h>
#include <skein/thrift/socket.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/protocol/TCompactProtocol.h>
#include <thrift/protocol/THeaderProtocol.h>
#include <thrift/protocol/TJSONProtocol.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/THttpClient.h>
#include <thrift/transport/THttpServer.h>
#include <thrift/transport/TZlibTransport.h>

#include <functional>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/thrift_transport/two_sockets.h"
#include "thrift_transport/thrift_output.h"

namespace skein::thrift_transport {
namespace {

using apache::thrift::protocol::T_CALL;
using apache::thrift::protocol::T_REPLY;
using apache::thrift::protocol::TBinaryProtocol;
using apache::thrift::protocol::TCompactProtocol;
using apache::thrift::protocol::THeaderProtocol;
using apache::thrift::protocol::TJSONProtocol;
using apache::thrift::protocol::TMessageType;
using apache::thrift::protocol::TProtocol;
using apache::thrift::transport::TBufferedTransport;
using apache::thrift::transport::TFramedTransport;
using apache::thrift::transport::THttpClient;
using apache::thrift::transport::THttpServer;
using apache::thrift::transport::TMemoryBuffer;
using apache::thrift::transport::TZlibTransport;
using ::testing::HasSubstr;

using Transport = std::shared_ptr<TTransport>;

// What a client and a server put on a connection.
struct Layers {
  const char* name;
  std::function<std::shared_ptr<TProtocol>(const Transport&)> client;
  std::function<std::shared_ptr<TProtocol>(const Transport&)> server;
};

template <class Protocol, class... Layer>
std::shared_ptr<TProtocol> On(Transport transport) {
  ((transport = std::make_shared<Layer>(transport)), ...);
  return std::make_shared<Protocol>(transport);
}

Layers Same(const char* name, std::shared_ptr<TProtocol> (*make)(Transport)) { return {name, make, make}; }

// As old peers speak, which give no version.
std::shared_ptr<TProtocol> NonStrict(Transport transport) {
  auto buffered = std::make_shared<TBufferedTransport>(transport);
  return std::make_shared<TBinaryProtocol>(buffered, 0, 0, /*strict_read=*/false, /*strict_write=*/false);
}

std::vector<Layers> AllLayers() {
  return {
      Same("binary", On<TBinaryProtocol, TBufferedTransport>),
      Same("binary_unbuffered", On<TBinaryProtocol>),
      Same("binary_nonstrict", NonStrict),
      Same("binary_framed", On<TBinaryProtocol, TFramedTransport>),
      Same("binary_zlib", On<TBinaryProtocol, TZlibTransport>),
      Same("compact", On<TCompactProtocol, TBufferedTransport>),
      Same("compact_framed", On<TCompactProtocol, TFramedTransport>),
      Same("json", On<TJSONProtocol, TBufferedTransport>),
      Same("json_framed", On<TJSONProtocol, TFramedTransport>),
      Same("header", On<THeaderProtocol, TBufferedTransport>),
      {"http",
       [](const Transport& transport) {
         return std::make_shared<TBinaryProtocol>(std::make_shared<THttpClient>(transport, "localhost", "/"));
       },
       On<TBinaryProtocol, THttpServer>},
  };
}

// One call with one string, answered with another message of that string.
void Serve(TProtocol& protocol) {
  for (;;) {
    std::string name;
    TMessageType type = T_CALL;
    int32_t sequence = 0;
    std::string text;
    protocol.readMessageBegin(name, type, sequence);
    protocol.readString(text);
    protocol.readMessageEnd();
    protocol.getTransport()->readEnd();
    protocol.writeMessageBegin(name, T_REPLY, sequence);
    protocol.writeString(text);
    protocol.writeMessageEnd();
    protocol.getTransport()->writeEnd();
    protocol.getTransport()->flush();
  }
}

std::string Call(TProtocol& protocol, const std::string& text) {
  protocol.writeMessageBegin("echo", T_CALL, 7);
  protocol.writeString(text);
  protocol.writeMessageEnd();
  protocol.getTransport()->writeEnd();
  protocol.getTransport()->flush();
  std::string name;
  TMessageType type = T_CALL;
  int32_t sequence = 0;
  std::string answer;
  protocol.readMessageBegin(name, type, sequence);
  EXPECT_EQ(type, T_REPLY);
  EXPECT_EQ(sequence, 7);
  protocol.readString(answer);
  protocol.readMessageEnd();
  protocol.getTransport()->readEnd();
  return answer;
}

class StockPeersTest : public testing::TestWithParam<Layers> {
 protected:
  StockPeersTest() {
    ThriftOutput().setOutputFunction([](const char*) {});
  }
  // Thrift 0.19's THeaderProtocol can write nothing on any transport: its numeric_cast<int32_t>(size_t) always throws.
  void SetUp() override {
    if (GetParam().name != std::string("header")) return;
    try {
      THeaderProtocol protocol(std::make_shared<TMemoryBuffer>());
      protocol.writeMessageBegin("echo", T_CALL, 7);
      protocol.writeMessageEnd();
      protocol.getTransport()->flush();
    } catch (const std::exception& exception) {
      GTEST_SKIP() << "this Thrift's THeaderProtocol writes nothing: " << exception.what();
    }
  }

  Accepting::Serve Serving() {
    return [](const Transport& connection) { Serve(*GetParam().server(connection)); };
  }
  void ExpectEchoes(const Transport& client) {
    const std::shared_ptr<TProtocol> protocol = GetParam().client(client);
    for (const std::string& text : {std::string("hello"), std::string(), std::string(100'000, 'x')}) {
      EXPECT_TRUE(Call(*protocol, text) == text);
    }
  }
};

TEST_P(StockPeersTest, StockClient) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0), Serving());
  auto client = std::make_shared<TSocket>("localhost", server.port());
  client->open();
  ExpectEchoes(client);
}

TEST_P(StockPeersTest, StockServer) {
  // At an address that no test before has found plain.
  static int servers = 0;
  const std::string host = "127.0.1." + std::to_string(++servers % 250);
  Accepting server(std::make_shared<TServerSocket>(host, 0), Serving());
  // Were it not for an answer that comes at once, this would wait for a minute.
  auto client =
      std::make_shared<TSkeinSocket>(host, server.port(), TSkeinOptions().set("negotiation_timeout", "60000"));
  client->open();
  EXPECT_EQ(client->getSkeinPath(), "tcp");
  EXPECT_THAT(client->getSkeinReason(), HasSubstr("peer does not speak Skein"));
  ExpectEchoes(client);
  auto second = std::make_shared<TSkeinSocket>(host, server.port());
  second->open();
  EXPECT_THAT(second->getSkeinReason(), HasSubstr("peer lately did not speak Skein"));
  ExpectEchoes(second);
}

TEST_P(StockPeersTest, StockServerWhereSkeinIsRequired) {
  Accepting server(std::make_shared<TServerSocket>(0), Serving());
  TSkeinSocket client("localhost", server.port(), TSkeinOptions().set("mode", "require"));
  try {
    client.open();
    FAIL() << "it opened";
  } catch (const TTransportException& exception) {
    EXPECT_EQ(exception.getType(), TTransportException::NOT_OPEN);
    EXPECT_THAT(exception.what(), HasSubstr("skein.mode is require, and there is only tcp: "));
  }
  EXPECT_FALSE(client.isOpen());
}

TEST_P(StockPeersTest, StockClientWhereSkeinIsRequired) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0, TSkeinOptions().set("mode", "require")), Serving());
  auto client = std::make_shared<TSocket>("localhost", server.port());
  client->open();
  EXPECT_THROW(Call(*GetParam().client(client), "hello"), std::exception);
}

TEST_P(StockPeersTest, NeitherIsStock) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0), Serving());
  auto client = std::make_shared<TSkeinSocket>("localhost", server.port(), TSkeinOptions().set("mode", "require"));
  client->open();
  EXPECT_EQ(client->getSkeinPath(), "shm");
  ExpectEchoes(client);
}

INSTANTIATE_TEST_SUITE_P(Layers, StockPeersTest, testing::ValuesIn(AllLayers()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace skein::thrift_transport
