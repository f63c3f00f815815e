// TLS is never Skein's: one end speaks TLS, the other is Skein's. That one is served nothing and told so at once, and
// the server goes on serving others.
#include <openssl/opensslv.h>
#include <skein/thrift/nonblocking_server_socket.h>
#include <skein/thrift/server_socket.h>
#include <skein/thrift/socket.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/server/TNonblockingServer.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TNonblockingSSLServerSocket.h>
#include <thrift/transport/TSSLServerSocket.h>
#include <thrift/transport/TSSLSocket.h>

#include <csignal>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "thrift_transport/thrift_output.h"

namespace skein::thrift_transport {
namespace {

using apache::thrift::TProcessor;
using apache::thrift::protocol::TBinaryProtocol;
using apache::thrift::protocol::TBinaryProtocolFactory;
using apache::thrift::protocol::TProtocol;
using apache::thrift::server::TNonblockingServer;
using apache::thrift::server::TServer;
using apache::thrift::server::TServerEventHandler;
using apache::thrift::server::TThreadedServer;
using apache::thrift::transport::TFramedTransport;
using apache::thrift::transport::TFramedTransportFactory;
using apache::thrift::transport::TNonblockingServerSocket;
using apache::thrift::transport::TNonblockingSSLServerSocket;
using apache::thrift::transport::TServerSocket;
using apache::thrift::transport::TSocket;
using apache::thrift::transport::TSSLServerSocket;
using apache::thrift::transport::TSSLSocketFactory;
using apache::thrift::transport::TTransportException;
using ::testing::HasSubstr;

constexpr int kSoonMs = 20'000;

// Each message is a string, which comes back.
class EchoProcessor : public TProcessor {
 public:
  bool process(std::shared_ptr<TProtocol> in, std::shared_ptr<TProtocol> out, void*) override {
    std::string text;
    in->readString(text);
    in->getTransport()->readEnd();
    out->writeString(text);
    out->getTransport()->writeEnd();
    out->getTransport()->flush();
    return true;
  }
};

std::string Echoed(const std::shared_ptr<TSocket>& client, const std::string& text) {
  TBinaryProtocol protocol(std::make_shared<TFramedTransport>(client));
  protocol.writeString(text);
  protocol.getTransport()->flush();
  std::string answer;
  protocol.readString(answer);
  return answer;
}

// One of Thrift's servers, on a thread.
class Running {
 public:
  explicit Running(std::shared_ptr<TServer> server) : server_(std::move(server)) {
    const auto listening = std::make_shared<Listening>();
    server_->setServerEventHandler(listening);
    thread_ = std::thread([this] { server_->serve(); });
    listening->now.get_future().wait();
  }
  ~Running() {
    server_->stop();
    thread_.join();
  }

 private:
  struct Listening : TServerEventHandler {
    std::promise<void> now;
    void preServe() override { now.set_value(); }
  };

  const std::shared_ptr<TServer> server_;
  std::thread thread_;
};

class TlsPeersTest : public testing::TestWithParam<std::tuple<bool, const char*>> {
 protected:
  TlsPeersTest() {
    ThriftOutput().setOutputFunction([](const char*) {});
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL's writes raise it
    // No certificates: it is of no interest here who speaks.
    for (const auto& factory : {client_tls_, server_tls_}) factory->ciphers("AECDH:@SECLEVEL=0");
  }

  static bool nonblocking() { return std::get<0>(GetParam()); }
  static std::string mode() { return std::get<1>(GetParam()); }

  void Serve(const std::shared_ptr<TServerSocket>& socket) {
    server_ = std::make_unique<Running>(std::make_shared<TThreadedServer>(std::make_shared<EchoProcessor>(), socket,
                                                                          std::make_shared<TFramedTransportFactory>(),
                                                                          std::make_shared<TBinaryProtocolFactory>()));
    port_ = socket->getPort();
  }
  void Serve(const std::shared_ptr<TNonblockingServerSocket>& socket) {
    server_ = std::make_unique<Running>(std::make_shared<TNonblockingServer>(
        std::make_shared<EchoProcessor>(), std::make_shared<TBinaryProtocolFactory>(), socket));
    port_ = socket->getListenPort();
  }

  std::shared_ptr<TSocket> TlsClient() {
    std::shared_ptr<TSocket> client = client_tls_->createSocket("localhost", port_);
    client->setRecvTimeout(kSoonMs);
    client->open();
    return client;
  }
  std::shared_ptr<TSkeinSocket> SkeinClient(const std::string& mode) {
    // Were it not for an answer that comes at once, open() would wait for a minute. What was at this port before is
    // forgotten.
    auto client = std::make_shared<TSkeinSocket>(
        "localhost", port_,
        TSkeinOptions().set("mode", mode).set("negotiation_timeout", "60000").set("negative_cache", "0"));
    client->setRecvTimeout(kSoonMs);
    client->open();
    return client;
  }
  // Neither an answer nor silence.
  static void ExpectEnd(const std::shared_ptr<TSocket>& client) {
    try {
      EXPECT_EQ(Echoed(client, "hello"), "no answer");
    } catch (const TTransportException& exception) {
      EXPECT_NE(exception.getType(), TTransportException::TIMED_OUT) << exception.what();
    }
  }

  // They outlive the sockets that they make, or those break.
  const std::shared_ptr<TSSLSocketFactory> client_tls_ = std::make_shared<TSSLSocketFactory>();
  const std::shared_ptr<TSSLSocketFactory> server_tls_ = std::make_shared<TSSLSocketFactory>();
  std::unique_ptr<Running> server_;
  int port_ = 0;
};

TEST_P(TlsPeersTest, AClientWithTlsIsNotServedAndOthersAre) {
  const TSkeinOptions options = TSkeinOptions().set("mode", mode());
  nonblocking() ? Serve(std::make_shared<TSkeinNonblockingServerSocket>(0, options))
                : Serve(std::make_shared<TSkeinServerSocket>(0, options));
  const std::shared_ptr<TSkeinSocket> other = SkeinClient("require");
  EXPECT_EQ(Echoed(other, "before"), "before");
  ExpectEnd(TlsClient());
  EXPECT_EQ(Echoed(other, "after"), "after");
  EXPECT_EQ(Echoed(SkeinClient("require"), "anew"), "anew");
}

TEST_P(TlsPeersTest, AServerWithTlsServesNoClientOfSkeinButOthers) {
  nonblocking() ? Serve(std::make_shared<TNonblockingSSLServerSocket>(0, server_tls_))
                : Serve(std::make_shared<TSSLServerSocket>(0, server_tls_));
  const std::shared_ptr<TSocket> other = TlsClient();
  EXPECT_EQ(Echoed(other, "before"), "before");
  try {
    const std::shared_ptr<TSkeinSocket> client = SkeinClient(mode());
    EXPECT_EQ(mode(), "prefer");
    EXPECT_EQ(client->getSkeinPath(), "tcp");
    EXPECT_THAT(client->getSkeinReason(), HasSubstr("peer does not speak Skein"));
    // With OpenSSL 3.5 Thrift's threaded server waits for more of a handshake that has failed, whoever the client is.
    if (nonblocking() || OPENSSL_VERSION_NUMBER < 0x30200000L) ExpectEnd(client);
  } catch (const TTransportException& exception) {
    EXPECT_EQ(mode(), "require") << exception.what();
    EXPECT_EQ(exception.getType(), TTransportException::NOT_OPEN);
    EXPECT_THAT(exception.what(), HasSubstr("peer does not speak Skein"));
  }
  EXPECT_EQ(Echoed(other, "after"), "after");
  EXPECT_EQ(Echoed(TlsClient(), "anew"), "anew");
}

INSTANTIATE_TEST_SUITE_P(Servers, TlsPeersTest, testing::Combine(testing::Bool(), testing::Values("prefer", "require")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param) ? "nonblocking_" : "threaded_") +
                                  std::get<1>(info.param);
                         });

}  // namespace
}  // namespace skein::thrift_transport
