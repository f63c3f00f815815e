// Streams of one link that talk, in both directions, and are heard: every byte, in its order.
#ifndef SKEIN_TESTS_UNIT_LINK_CONVERSATION_H_
#define SKEIN_TESTS_UNIT_LINK_CONVERSATION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/link/link.h"
#include "gtest/gtest.h"
#include "tests/support/ring_link.h"
#include "tests/unit/link/recording_port.h"

namespace skein::link {

class Conversation {
 public:
  Conversation(std::shared_ptr<fabric::Device> client_device, LinkOptions clients,
               std::shared_ptr<fabric::Device> server_device, LinkOptions servers)
      : client(LinkOn(std::move(client_device), std::move(clients))),
        server(LinkOn(std::move(server_device), std::move(servers))) {
    const Link::Answer accepted = server->Accept(client->Offer().value()).value();
    EXPECT_TRUE(client->Complete(accepted).ok());
  }

  size_t streams() const { return streams_.size(); }
  void AddStream() {
    Stream& stream = streams_.emplace_back();
    const uint32_t number = server->ports().NewNumber();
    for (End* end : {&stream.server, &stream.client}) {
      end->port = std::make_shared<RecordingPort>(number);
      EXPECT_TRUE((end == &stream.client ? client : server)->ports().Add(end->port).ok());
    }
  }
  // The client says goodbye, and takes its port away at once. What the server had said may be lost.
  void EndStream(size_t i) {
    const std::shared_ptr<RecordingPort>& port = streams_[i].client.port;
    client->SendControl(port, wire::ItemKind::kAbort, "goodbye");
    client->ports().Remove(port->stream());
    ended_.push_back(streams_[i]);
    streams_.erase(streams_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  // Up to so many bytes, as many as there is space for. False: none.
  bool Say(size_t i, bool by_client, size_t bytes) {
    End& end = by_client ? streams_[i].client : streams_[i].server;
    Link& link = by_client ? *client : *server;
    std::string words(bytes, '\0');
    for (char& c : words) c = static_cast<char>('a' + next_++ % 23);
    const ConstBytes all(reinterpret_cast<const std::byte*>(words.data()), words.size());
    const size_t sent = link.Send(*end.port, {&all, 1}, bytes).value_or(0);
    end.said.append(words, 0, sent);
    return sent > 0;
  }

  // A word that is not of the stream's data.
  void ReturnWindow(size_t i, bool by_client, uint64_t bytes) {
    End& end = by_client ? streams_[i].client : streams_[i].server;
    (by_client ? client : server)->ReturnWindow(end.port, bytes);
    end.returned += bytes;
  }

  // Once nothing is under way any more.
  void ExpectAllHeard() const {
    for (const Stream& stream : streams_) {
      EXPECT_TRUE(stream.server.port->data == stream.client.said) << "stream " << stream.client.port->stream();
      EXPECT_TRUE(stream.client.port->data == stream.server.said) << "stream " << stream.client.port->stream();
      EXPECT_EQ(stream.server.port->window, stream.client.returned) << "stream " << stream.client.port->stream();
      EXPECT_EQ(stream.client.port->window, stream.server.returned) << "stream " << stream.client.port->stream();
    }
    for (const Stream& stream : ended_) {
      EXPECT_TRUE(stream.server.port->data == stream.client.said) << "stream " << stream.client.port->stream();
      EXPECT_EQ(stream.server.port->abort_text, "goodbye") << "stream " << stream.client.port->stream();
    }
    EXPECT_FALSE(client->finished());
    EXPECT_FALSE(server->finished());
  }
  // Each that has not ended, exactly once; by either end.
  void ExpectAllLost() const {
    for (const Stream& stream : streams_) {
      EXPECT_EQ(stream.client.port->losses, 1);
      EXPECT_EQ(stream.server.port->losses, 1);
    }
  }

  const std::shared_ptr<Link> client;
  const std::shared_ptr<Link> server;

 private:
  struct End {
    std::shared_ptr<RecordingPort> port;
    std::string said;
    uint64_t returned = 0;
  };
  struct Stream {
    End client, server;
  };

  std::vector<Stream> streams_;
  std::vector<Stream> ended_;
  uint32_t next_ = 0;
};

}  // namespace skein::link

#endif  // SKEIN_TESTS_UNIT_LINK_CONVERSATION_H_
