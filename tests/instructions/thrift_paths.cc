// A message of Thrift's there and back: what TSkeinSocket does once it runs over a stream, whose link each end polls
// for itself. Without the background thread, whose thread would take a part of the work now and then.
#include <sys/eventfd.h>

#include <array>
#include <memory>
#include <utility>

#include "core/base/unique_fd.h"
#include "core/wait/reminders.h"
#include "core/wait/wait_set.h"
#include "tests/instructions/hot_path.h"
#include "tests/unit/stream/two_ends.h"
#include "thrift_transport/connection.h"

namespace skein::instructions {
namespace {

class OneSocketPair {
 public:
  OneSocketPair() {
    // A message each way, so that what a first one costs is not counted.
    Write(client_);
    Write(server_);
    ends_.Pump();
    Read(client_);
    Read(server_);
  }

  void RoundTrip() {
    Write(client_);
    Read(server_);
    Write(server_);
    Read(client_);
  }

 private:
  using Connection = thrift_transport::Connection;

  // As the binary protocol does: a field at a time.
  void Write(Connection& to) {
    for (size_t at = 0; at < bytes_.size(); at += kField) to.Write(bytes_.data() + at, kField, 0);
    to.Flush(0);
  }
  void Read(Connection& from) {
    for (size_t got = 0; got < bytes_.size();) got += from.Read(bytes_.data(), kField, 0);
  }

  std::unique_ptr<stream::BlockingStream> Block(std::shared_ptr<stream::Stream> stream) {
    auto space = std::make_shared<wait::WaitSet>(stream->link(), policy_);
    return std::make_unique<stream::BlockingStream>(std::move(stream), std::move(space), silent_.get());
  }

  static constexpr uint32_t kField = 8;
  std::array<uint8_t, 64> bytes_{};
  const wait::SpinPolicy policy_;
  const UniqueFd silent_{eventfd(0, EFD_CLOEXEC)};  // in place of the TCP connection
  stream::TwoEnds ends_{stream::FabricKindUnderTest::kShm};
  stream::TwoEnds::Pair pair_ = ends_.Connect();
  const std::shared_ptr<wait::Reminders> reminders_ = std::make_shared<wait::Reminders>();  // nobody reminds
  Connection client_{true, Block(pair_.client), reminders_};
  Connection server_{false, Block(pair_.server), reminders_};
};

Operation RoundTrip() {
  return [pair = std::make_shared<OneSocketPair>()] { pair->RoundTrip(); };
}

}  // namespace

std::vector<HotPath> ThriftPaths() { return {{"thrift.round_trip", 512, RoundTrip}}; }

}  // namespace skein::instructions
