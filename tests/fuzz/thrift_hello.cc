// A hello, and the answer to one, in any pieces: either end gets a stream, or knows why there is none.
//
//   input = u8 client | u8 where it is cut, in eighths | bytes
#include "core/connect/frame.h"
#include "core/wire/negotiation.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/pieces.h"
#include "tests/support/wire_samples.h"
#include "thrift_transport/hello.h"

namespace skein::fuzz {

std::vector<std::string> Seeds() {
  const std::string opening = "\xA5\r\n";
  std::vector<std::string> seeds = {
      std::string("\0\4", 2) + opening + connect::Frame(wire::EncodeOffer(wire::SampleOffer())),
      std::string("\0\1", 2) + opening + connect::Frame("no offer") + "more"};
  for (const wire::Answer& answer : wire::SampleAnswers()) {
    seeds.push_back("\1\3" + connect::Frame(wire::EncodeAnswer(answer)));
  }
  return seeds;
}

namespace {

Options Prefer() {
  Options options;
  options.mode = Mode::kPrefer;
  options.rdma.enabled = false;
  options.negotiation_timeout = absl::Milliseconds(100);
  return options;
}

void CheckGreeted(const thrift_transport::Greeted& greeted) {
  Require(greeted.stream != nullptr || greeted.why.code != FallbackCode::kNone, "a stream, or why not");
}

void BeServer(absl::string_view bytes, size_t cut) {
  const SocketPair pair = MakeSocketPair();
  thrift_transport::HelloReader reader;
  for (const absl::string_view piece : {bytes.substr(0, cut), bytes.substr(cut)}) {
    SendPiece(pair.peers.get(), piece);
    if (thrift_transport::LookAtFirst(pair.own.get()) == thrift_transport::First::kOther) return;
    const absl::StatusOr<bool> whole = reader.Read(pair.own.get());
    if (!whole.ok()) return;
    if (*whole) return CheckGreeted(reader.Answer(pair.own.get(), Prefer()));
  }
}

void BeClient(absl::string_view bytes) {
  const SocketPair pair = MakeSocketPair();
  SendPiece(pair.peers.get(), bytes);
  shutdown(pair.peers.get(), SHUT_WR);
  CheckGreeted(thrift_transport::SayHello(pair.own.get(), Prefer(), After(Prefer().negotiation_timeout)));
}

}  // namespace
}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const absl::string_view bytes = skein::fuzz::Text(data + 2, size - 2);
  if (data[0] == 0) {
    skein::fuzz::BeServer(bytes, bytes.size() * (data[1] % 8) / 8);
  } else {
    skein::fuzz::BeClient(bytes);
  }
  return 0;
}
