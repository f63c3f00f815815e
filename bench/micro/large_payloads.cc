// What pulling large payloads costs and gives, against sending them through the ring. Lines of JSON, one for each
// fabric, size and way:
//   large_payloads --rounds=9
// On shm, two ends in one process on one thread, and the processor's time that they take: other work on the machine
// does not show, as it would if either end waited for the other. `us`: from Write of so many bytes until all are read;
// `small_us`: from Write of 64 bytes on another stream, right after those, until they are read.
// On sim, the time of the network alone, always the same. `us`: of one message; `small_us`: the 99th percentile of 64
// bytes while messages of that size follow each other.
#include <time.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_format.h"
#include "bench/micro/spinning_waiter.h"
#include "core/fabric/shm/shm_device.h"
#include "core/stream/connector.h"
#include "tests/unit/stream/beside_a_transfer.h"

ABSL_FLAG(int, rounds, 9, "of all sizes, by rendezvous and through the ring, one after the other");
ABSL_FLAG(int, count, 200, "messages of each size, of a round");

namespace skein::bench {
namespace {

constexpr size_t kSmall = 64;

double ThreadMicroseconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

// Two ends with two streams between them.
class BothEnds {
 public:
  explicit BothEnds(int64_t large_payload) {
    stream::StreamOptions options;
    options.window_bytes = 4 << 20;
    options.large_payload = large_payload;
    const auto fabrics = [] { return std::make_shared<connect::OneFabric>(fabric::OpenShmDevice().value()); };
    connector_ = stream::CreateConnector(fabrics(), options, &client_);
    listener_ = stream::CreateListener(fabrics(), options, &server_);
    bulk_ = Connect();
    small_ = Connect();
  }

  struct Took {
    double bulk = 0;   // us
    double small = 0;  // us
  };
  Took Send(size_t bytes) {
    const double start = ThreadMicroseconds();
    size_t to_write = bytes;
    size_t to_read = bytes;
    Write(bulk_, to_write);
    size_t small_to_write = kSmall;
    size_t small_to_read = kSmall;
    const double small_start = ThreadMicroseconds();
    Took took;
    while (to_read > 0 || small_to_read > 0) {
      Write(small_, small_to_write);
      server_.Poll();
      if (small_to_read > 0 && (small_to_read -= Read(small_)) == 0) took.small = ThreadMicroseconds() - small_start;
      to_read -= Read(bulk_);
      client_.Poll();
      Write(bulk_, to_write);
    }
    took.bulk = ThreadMicroseconds() - start;
    return took;
  }

 private:
  struct Ends {
    std::shared_ptr<stream::Stream> client;
    std::shared_ptr<stream::Stream> server;
  };
  Ends Connect() {
    const auto attempt = connector_->Begin({}).value();
    stream::Listener::Result result = listener_->Accept(attempt->offer(), {});
    Ends ends{attempt->Complete(result.answer).stream, std::move(result.outcome.stream)};
    for (int i = 0; i < 100; ++i) {
      client_.Poll();
      server_.Poll();
    }
    return ends;
  }
  void Write(const Ends& ends, size_t& left) {
    if (left == 0) return;
    const stream::ConstBytes bytes(text_.data(), left);
    left -= ends.client->Write({&bytes, 1}).value();
  }
  static size_t Read(const Ends& ends) {
    std::vector<stream::Buffer> buffers;
    if (!ends.server->Read(SIZE_MAX, buffers).ok()) std::cerr << "large_payloads: a stream has ended" << std::endl;
    size_t bytes = 0;
    for (const stream::Buffer& buffer : buffers) bytes += buffer.size;
    return bytes;
  }

  const std::vector<std::byte> text_ = std::vector<std::byte>(16 << 20);
  SpinningWaiter client_;
  SpinningWaiter server_;
  std::unique_ptr<stream::Connector> connector_;
  std::unique_ptr<stream::Listener> listener_;
  Ends bulk_;
  Ends small_;
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Print(absl::string_view fabric, int round, absl::string_view way, size_t bytes, double us, double small_us) {
  std::cout << absl::StrFormat(
                   R"({"fabric": "%s", "round": %d, "way": "%s", "bytes": %d, "us": %.2f, "small_us": %.2f})", fabric,
                   round, way, bytes, us, small_us)
            << std::endl;
}

void Measure(BothEnds& ends, int round, absl::string_view way, size_t bytes) {
  std::vector<double> bulk;
  std::vector<double> small;
  for (int i = 0; i < absl::GetFlag(FLAGS_count); ++i) {
    const BothEnds::Took took = ends.Send(bytes);
    bulk.push_back(took.bulk);
    small.push_back(took.small);
  }
  Print("shm", round, way, bytes, Median(bulk), Median(small));
}

void Simulate(absl::string_view way, int64_t large_payload, size_t bytes) {
  const auto run = [&](size_t messages, size_t transfer) {
    return stream::TransferOnSim(large_payload, bytes).Run(messages, transfer);
  };
  Print("sim", 0, way, bytes, absl::ToDoubleMicroseconds(run(1, bytes).transfer),
        absl::ToDoubleMicroseconds(run(250, 16 << 20).p99));
}

void Main() {
  BothEnds ring(/*large_payload=*/0);
  BothEnds pull(/*large_payload=*/kSmall + 1);
  const std::vector<size_t> sizes = {16, 32, 64, 128, 256, 512, 1024};
  for (int round = 0; round < absl::GetFlag(FLAGS_rounds); ++round) {
    for (const size_t kib : sizes) {
      if (round % 2 == 0) Measure(ring, round, "ring", kib << 10);
      Measure(pull, round, "pull", kib << 10);
      if (round % 2 != 0) Measure(ring, round, "ring", kib << 10);
    }
  }
  for (const size_t kib : sizes) {
    Simulate("ring", 0, kib << 10);
    Simulate("pull", kSmall + 1, kib << 10);
  }
}

}  // namespace
}  // namespace skein::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  skein::bench::Main();
}
