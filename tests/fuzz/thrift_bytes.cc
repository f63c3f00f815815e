// What a server of Thrift's durable calls reads, in any pieces: an opening or none, then frames; and whether a message
// wants a reply.
//
//   input = u8 pieces, less one | bytes
#include <thrift/transport/TBufferTransports.h>

#include <algorithm>

#include "core/wire/bytes.h"
#include "tests/fuzz/fuzz_target.h"
#include "thrift_transport/durable_line.h"
#include "thrift_transport/message_type.h"
#include "thrift_transport/protocol_sniffer.h"

namespace skein::fuzz {
namespace {

using apache::thrift::transport::TTransport;
using apache::thrift::transport::TTransportException;

constexpr uint64_t kMost = 1000;

// A connection that gives so many bytes at a time, then its end.
class Pieces final : public apache::thrift::transport::TVirtualTransport<Pieces> {
 public:
  Pieces(absl::string_view bytes, size_t pieces) : rest_(bytes), piece_(bytes.size() / pieces + 1) {}
  bool isOpen() const override { return true; }
  uint32_t read(uint8_t* buf, uint32_t len) {
    const size_t size = std::min({size_t{len}, piece_, rest_.size()});
    std::copy_n(rest_.begin(), size, buf);
    rest_.remove_prefix(size);
    return static_cast<uint32_t>(size);
  }

 private:
  absl::string_view rest_;
  const size_t piece_;
};

// Of each message: whatever it is.
void ReadFrames(TTransport& from) {
  thrift_transport::FrameReader frames(kMost);
  while (const std::optional<absl::string_view> message = frames.Next(from)) {
    Require(message->size() <= kMost, "no more than was to come");
    // With no byte to spare behind it.
    const std::vector<char> exact(message->begin(), message->end());
    thrift_transport::IsOneway({exact.data(), exact.size()});
  }
}

// Ordinary clients' bytes are all there, from the first on.
void ReadAll(TTransport& from, absl::string_view expected) {
  std::string all;
  uint8_t buffer[7];
  for (uint32_t got = 0; (got = from.read(buffer, sizeof(buffer))) > 0;) all.append(buffer, buffer + got);
  Require(all == expected, "what an ordinary client has sent");
}

void Serve(absl::string_view bytes, size_t pieces) {
  apache::thrift::transport::TTransportFactory ordinary;
  thrift_transport::ProtocolSniffer told(std::make_shared<Pieces>(bytes, pieces), ordinary);
  if (told.IsDurable()) {
    ReadFrames(*told.TakeDurable());
  } else {
    ReadAll(told, bytes);
  }
}

std::string FrameOf(absl::string_view message) {
  std::string frame;
  wire::Put(frame, static_cast<uint32_t>(message.size()));
  frame.append(message.data(), message.size());
  return frame;
}

}  // namespace

std::vector<std::string> Seeds() {
  const std::string opening(thrift_transport::kDurableOpening);
  const std::string binary("\x80\x01\x00\x04\x00\x00\x00\x04name", 12);
  const std::string old("\x00\x00\x00\x04name\x04", 9);
  return {"\5" + opening + FrameOf(binary) + FrameOf(old) + FrameOf("[1,\"name\",4,1]") + FrameOf("\x82\x81xy"),
          "\377" + opening + FrameOf(std::string(1000, 'm')) + FrameOf(""), "\1" + binary, "\3\xD5\r"};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  try {
    skein::fuzz::Serve(skein::fuzz::Text(data + 1, size - 1), data[0] % 32 + 1);
  } catch (const skein::fuzz::TTransportException& error) {
    using Error = skein::fuzz::TTransportException;
    const Error::TTransportExceptionType type = error.getType();
    skein::fuzz::Require(type == Error::CORRUPTED_DATA || type == Error::END_OF_FILE, "a reason");
  }
  return 0;
}
