// Who comes to the port of a server of durable calls, and whom its clients come to.
#include <sys/socket.h>
#include <thrift/protocol/TCompactProtocol.h>
#include <thrift/protocol/TJSONProtocol.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TSSLServerSocket.h>
#include <thrift/transport/TSSLSocket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <future>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/unique_fd.h"
#include "core/durable/calls/message.h"
#include "gmock/gmock.h"
#include "tests/unit/thrift_transport/durable_fixture.h"
#include "thrift_transport/durable_line.h"
#include "thrift_transport/message_type.h"
#include "thrift_transport/thrift_output.h"

namespace skein::thrift_transport {
namespace {

using apache::thrift::protocol::TCompactProtocol;
using apache::thrift::protocol::TJSONProtocol;
using apache::thrift::transport::TBufferedTransport;
using apache::thrift::transport::TBufferedTransportFactory;
using apache::thrift::transport::TFramedTransport;
using apache::thrift::transport::TFramedTransportFactory;
using apache::thrift::transport::TMemoryBuffer;
using apache::thrift::transport::TSSLServerSocket;
using apache::thrift::transport::TSSLSocketFactory;
using ::testing::HasSubstr;

class DurablePeersTest : public DurableTest {
 protected:
  // Bytes of somebody's, and whether the server ends the connection upon them.
  bool EndsUpon(const std::string& bytes) {
    const std::shared_ptr<TSocket> socket = Below();
    socket->write(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<uint32_t>(bytes.size()));
    socket->flush();
    try {
      uint8_t byte = 0;
      return socket->read(&byte, 1) == 0;
    } catch (const TTransportException& error) {
      return error.getType() != TTransportException::TIMED_OUT;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Carriers, DurablePeersTest, testing::Values(Carrier::kTcp, Carrier::kSharedMemory),
                         [](const auto& info) { return info.param == Carrier::kTcp ? "Tcp" : "SharedMemory"; });

TEST_P(DurablePeersTest, OrdinaryClientsAreServedAsBefore) {
  Serve();
  NotebookClient ordinary(std::make_shared<TBinaryProtocol>(std::make_shared<TBufferedTransport>(Below())));
  Connect();
  EXPECT_EQ(client_->append("durable"), 1);
  EXPECT_EQ(ordinary.append("ordinary"), 2);
  ordinary.note("aside");
  EXPECT_EQ(ordinary.append("ordinary"), 4);
  EXPECT_EQ(client_->append("durable"), 5);
  EXPECT_EQ(notebook_->calls()[0].sequence, 1);
  EXPECT_EQ(notebook_->calls()[1].sequence, 0);
  EXPECT_EQ(notebook_->calls()[1].client, "");
}

TEST_P(DurablePeersTest, OrdinaryClientsHaveTheTransportThatTheyHad) {
  Serve();
  const Serving framed(processor_, std::make_shared<TServerSocket>("localhost", 0),
                       std::make_shared<TSkeinDurableTransportFactory>(std::make_shared<TFramedTransportFactory>()));
  const auto socket = std::make_shared<TSocket>("localhost", framed.port());
  socket->open();
  NotebookClient ordinary(std::make_shared<TBinaryProtocol>(std::make_shared<TFramedTransport>(socket)));
  EXPECT_EQ(ordinary.append("one"), 1);
  EXPECT_EQ(ordinary.append("two"), 2);
  socket->close();
}

TEST_P(DurablePeersTest, AnOrdinaryServerIsNoServerOfDurableCalls) {
  const Serving ordinary(std::make_shared<NotebookProcessor>(notebook_),
                         std::make_shared<TSkeinServerSocket>("localhost", 0, Mode("prefer")),
                         std::make_shared<TBufferedTransportFactory>());
  port_ = ordinary.port();
  const TTransportException error = Thrown([&] { Connect(); });
  EXPECT_EQ(error.getType(), TTransportException::NOT_OPEN) << error.what();
  EXPECT_THAT(error.what(), HasSubstr("no connection to a server of durable calls"));
  transport_.reset();
  last_.reset();
}

TEST_P(DurablePeersTest, HostileBytesEndTheirConnectionOnly) {
  Serve();
  Connect();
  const std::string opening(kDurableOpening);
  EXPECT_TRUE(EndsUpon("\xD5 what is this"));
  EXPECT_TRUE(EndsUpon(opening + "\xFF\xFF\xFF\xFF"));
  EXPECT_TRUE(EndsUpon(opening + std::string("\1\0\0\0\2", 5)));  // a Call before the Hello
  EXPECT_TRUE(EndsUpon(opening + std::string("\0\0\0\0", 4)));
  EXPECT_TRUE(EndsUpon("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"));
  EXPECT_EQ(client_->append("one"), 1);
}

TEST_P(DurablePeersTest, AClientThatDoesNotReadHoldsNobodyUp) {
  server_options_.bytes = 1 << 20;
  Serve(1 << 20);
  Connect();
  const auto deaf = Transport();
  deaf->open();
  NotebookClient silent(std::make_shared<TBinaryProtocol>(deaf));
  for (int i = 0; i < 1000; ++i) silent.send_append(std::string(100, 'x'));
  EXPECT_GE(client_->append("one"), 1);
  deaf->close();
}

// It asks for the same reply again and again, and reads none.
TEST_P(DurablePeersTest, AClientThatDoesNotReadHoldsLittleMemory) {
  inner_ = std::make_shared<Verbose>(notebook_);
  Serve(uint64_t{64} << 20);
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  const int least = 1;  // so that what has been written has nearly all been read
  ASSERT_EQ(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &least, sizeof(least)), 0);
  std::thread serving([this, fd = ends[1]] {
    const auto protocol =
        std::make_shared<TBinaryProtocol>(TSkeinDurableTransportFactory().getTransport(std::make_shared<TSocket>(fd)));
    EXPECT_FALSE(processor_->process(protocol, protocol, nullptr));
  });
  DurableLine line(std::make_shared<TSocket>(ends[0]), 1 << 20);
  line.PutRaw(kDurableOpening);
  line.Put(durable::HelloMessage({1}, std::nullopt));
  line.Put(durable::CallMessage(1, 0, durable::MakeRequest("one")));
  line.Send();
  while (line.Next()->size() < Verbose::kBytes) {
  }
  for (int i = 0; i < 7500; ++i) line.Put(durable::AskMessage(1));
  line.Send();
  constexpr uint64_t kMost = uint64_t{17} << 20;
  uint64_t held = 0;
  for (std::optional<absl::string_view> message; held < kMost && (message = line.Next()).has_value();) {
    held += message->size();
  }
  EXPECT_LT(held, kMost);
  line.Close();
  serving.join();
}

// As programs have them that count bytes, or know their peers.
class OwnSocket final : public TSocket {
 public:
  using TSocket::TSocket;
};
class OwnSkeinSocket final : public TSkeinSocket {
 public:
  using TSkeinSocket::TSkeinSocket;
};
class OwnServerSocket final : public TServerSocket {
 public:
  using TServerSocket::TServerSocket;
  std::shared_ptr<TSocket> createSocket(THRIFT_SOCKET client) override { return std::make_shared<OwnSocket>(client); }
};
class OwnSkeinServerSocket final : public TSkeinServerSocket {
 public:
  using TSkeinServerSocket::TSkeinServerSocket;
  std::shared_ptr<TSocket> createSocket(THRIFT_SOCKET client) override {
    return std::make_shared<OwnSkeinSocket>(client, nullptr, Mode("prefer"));
  }
};

TEST_P(DurablePeersTest, AProgramsOwnKindsOfSocketsAreServed) {
  Serve();
  std::shared_ptr<TServerSocket> socket;
  if (GetParam() == Carrier::kTcp) {
    socket = std::make_shared<OwnServerSocket>("localhost", 0);
  } else {
    socket = std::make_shared<OwnSkeinServerSocket>("localhost", 0, Mode("prefer"));
  }
  server_ = std::make_unique<Serving>(processor_, socket, std::make_shared<TSkeinDurableTransportFactory>());
  port_ = server_->port();
  Connect();
  EXPECT_EQ(client_->append("line"), 1);
  transport_->close();  // nobody interrupts these sockets when the server stops
}

TEST_P(DurablePeersTest, TlsIsRefusedWithTheReason) {
  static std::promise<std::string> said;
  said = {};
  ThriftOutput().setOutputFunction([](const char* text) {
    if (std::string(text).find("skein:") != std::string::npos) said.set_value(text);  // once a connection
  });
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL's writes raise it
  const auto tls = std::make_shared<TSSLSocketFactory>();
  tls->ciphers("AECDH:@SECLEVEL=0");  // no certificates: it is of no interest who speaks
  const auto server_tls = std::make_shared<TSSLSocketFactory>();
  server_tls->ciphers("AECDH:@SECLEVEL=0");
  Serve();
  server_ = std::make_unique<Serving>(processor_, std::make_shared<TSSLServerSocket>("localhost", 0, server_tls),
                                      std::make_shared<TSkeinDurableTransportFactory>());
  const std::shared_ptr<TSocket> client = tls->createSocket("localhost", server_->port());
  client->open();
  client->write(reinterpret_cast<const uint8_t*>("\xD5\r\n"), 3);
  client->flush();
  EXPECT_THAT(said.get_future().get(), testing::HasSubstr("not over TLS"));
  client->close();
}

TEST_P(DurablePeersTest, AClosedTransportSaysSo) {
  Serve();
  Connect();
  transport_->close();
  EXPECT_EQ(Thrown([&] { client_->append("one"); }).getType(), TTransportException::NOT_OPEN);
  transport_->open();
  EXPECT_EQ(client_->append("one"), 1);
}

TEST(FrameReaderTest, TakesMessagesAsTheyCome) {
  FrameReader reader(8);
  TMemoryBuffer from;
  const std::string bytes("\3\0\0\0abc\0\0\0\0\5\0\0\0de", 17);
  for (size_t i = 0; i < 7; ++i) {
    from.write(reinterpret_cast<const uint8_t*>(bytes.data()) + i, 1);
    EXPECT_EQ(reader.Next(from), i == 6 ? std::optional<absl::string_view>("abc") : std::nullopt);
  }
  from.write(reinterpret_cast<const uint8_t*>(bytes.data()) + 7, 10);
  EXPECT_EQ(reader.Next(from), "");
  EXPECT_EQ(reader.Next(from), std::nullopt);
  EXPECT_FALSE(reader.decided());
  from.write(reinterpret_cast<const uint8_t*>("fgh\x09\0\0\0"), 7);
  EXPECT_EQ(reader.Next(from), "defgh");
  EXPECT_THROW(reader.Next(from), TTransportException);
}

// A oneway call hears what has come, and must not wait for the rest of a message.
TEST(DurableLineTest, PartOfAMessageIsNotWaitedFor) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  const UniqueFd peer(ends[1]);
  DurableLine line(std::make_shared<TSocket>(ends[0]), 8);
  EXPECT_FALSE(line.NextWouldNotWait());
  const absl::string_view bytes("\3\0\0\0abc", 7);
  for (size_t i = 0; i < bytes.size(); ++i) {
    ASSERT_EQ(write(peer.get(), &bytes[i], 1), 1);
    EXPECT_EQ(line.NextWouldNotWait(), i == bytes.size() - 1) << i;
  }
  EXPECT_EQ(line.Next(), "abc");
  ASSERT_EQ(write(peer.get(), "\x09\0\0\0", 4), 4);
  EXPECT_TRUE(line.NextWouldNotWait());
  EXPECT_THROW(line.Next(), TTransportException);
  line.Close();
}

template <class Protocol>
std::string Message(apache::thrift::protocol::TMessageType type, const std::string& name) {
  const auto buffer = std::make_shared<TMemoryBuffer>();
  Protocol protocol(buffer);
  protocol.writeMessageBegin(name, type, 7);
  return buffer->getBufferAsString();
}

TEST(MessageTypeTest, OnewayIsSeenInEachProtocol) {
  for (const std::string name : {"note", "", "four,4,"}) {
    EXPECT_TRUE(IsOneway(Message<TBinaryProtocol>(apache::thrift::protocol::T_ONEWAY, name))) << name;
    EXPECT_FALSE(IsOneway(Message<TBinaryProtocol>(apache::thrift::protocol::T_CALL, name))) << name;
    EXPECT_TRUE(IsOneway(Message<TCompactProtocol>(apache::thrift::protocol::T_ONEWAY, name))) << name;
    EXPECT_FALSE(IsOneway(Message<TCompactProtocol>(apache::thrift::protocol::T_CALL, name))) << name;
    EXPECT_TRUE(IsOneway(Message<TJSONProtocol>(apache::thrift::protocol::T_ONEWAY, name))) << name;
    EXPECT_FALSE(IsOneway(Message<TJSONProtocol>(apache::thrift::protocol::T_CALL, name))) << name;
  }
  EXPECT_TRUE(IsOneway(std::string("\0\0\0\4note\4\0\0\0\7", 13)));
  EXPECT_FALSE(IsOneway(std::string("\0\0\0\4note\1\0\0\0\7", 13)));
  for (const std::string odd : {"", "\x80", "[1", "\x7F\xFF\xFF\xFF", "\xD5\xD5\xD5\xD5"}) EXPECT_FALSE(IsOneway(odd));
}

}  // namespace
}  // namespace skein::thrift_transport
