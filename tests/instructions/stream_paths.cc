// Bytes from one end of a stream to the other over shared memory, both ends in this process and on this thread. What
// gRPC's endpoint and Thrift's sockets do for each message.
#include <memory>
#include <string>
#include <vector>

#include "tests/instructions/hot_path.h"
#include "tests/unit/stream/two_ends.h"

namespace skein::instructions {
namespace {

using stream::FabricKindUnderTest;

class OneStream {
 public:
  explicit OneStream(stream::StreamOptions options, FabricKindUnderTest kind = FabricKindUnderTest::kShm)
      : ends_(kind, options) {}

  void Pass(absl::string_view text) {
    size_t read = 0;
    for (size_t written = 0; read < text.size();) {
      if (written < text.size()) written += stream::WriteText(*pair_.client, text.substr(written)).value();
      server_->Poll();
      buffers_.clear();
      Require(pair_.server->Read(size_t{256} << 10, buffers_).ok(), "a read");
      for (const stream::Buffer& buffer : buffers_) read += buffer.size;
      client_->Poll();
    }
    Require(read == text.size(), "as much as was written");
  }

  void PollNothing() { Require(!server_->Poll(), "nothing"); }
  void GlanceAtNothing() { Require(!server_->Glance(), "nothing"); }

 private:
  stream::TwoEnds ends_;
  stream::TwoEnds::Pair pair_ = ends_.Connect();
  const std::shared_ptr<link::Link> client_ = pair_.client->link();
  const std::shared_ptr<link::Link> server_ = pair_.server->link();
  std::vector<stream::Buffer> buffers_;
};

std::function<Operation()> Bytes(size_t bytes, stream::StreamOptions options = {}) {
  return [=]() -> Operation {
    return [one = std::make_shared<OneStream>(options), text = std::string(bytes, 'x')] { one->Pass(text); };
  };
}

std::function<Operation()> With(void (OneStream::*operation)()) {
  return [=]() -> Operation {
    return [one = std::make_shared<OneStream>(stream::StreamOptions()), operation] { (*one.*operation)(); };
  };
}

}  // namespace

std::vector<HotPath> StreamPaths() {
  return {{"link.poll_nothing", 256, With(&OneStream::PollNothing)},
          {"link.glance_at_nothing", 256, With(&OneStream::GlanceAtNothing)},
          {"stream.64_bytes", 512, Bytes(64)},
          {"stream.16_kib", 128, Bytes(size_t{16} << 10)},
          {"stream.1_mib", 8, Bytes(size_t{1} << 20)},
          {"stream.1_mib_by_blocks", 8, Bytes(size_t{1} << 20, {.large_payload = 64 << 10})}};
}

}  // namespace skein::instructions
