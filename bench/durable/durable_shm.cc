// One case of the micro-benchmark over shared memory, in real time. One thread is both ends by turns, so that what is
// measured is what they do, on however few cores, and not when a scheduler lets them. Prints JSON. The log is plain
// memory: this is what the protocols cost, not what persistent memory does.
#include <algorithm>
#include <deque>
#include <iostream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "bench/durable/ends.h"
#include "bench/micro/patience.h"
#include "core/fabric/shm/shm_device.h"
#include "core/fabric/sim/random.h"

ABSL_FLAG(std::string, exchange, "wflush", "how requests are exchanged: a name of docs/durable-performance.md");
ABSL_FLAG(uint64_t, object_bytes, 1024, "of each object");
ABSL_FLAG(bool, heavy, false, "a request is finished 100 us after it was taken, as if another core executed it");
ABSL_FLAG(absl::Duration, duration, absl::Milliseconds(300), "measured, after a tenth of it");
ABSL_FLAG(uint64_t, seed, 1, "of the operations");

namespace skein::bench::durable {
namespace {

constexpr uint64_t kObjects = 50000;
// Of so much are the objects that are really written.
constexpr size_t kTableBytes = size_t{64} << 20;

// Takes, "executes" and finishes.
class Receiver {
 public:
  Receiver(ReceiverEnd& end, size_t object_bytes, bool heavy)
      : end_(end), object_(object_bytes, 'o'), table_(kTableBytes), heavy_(heavy) {}

  absl::Status Turn() {
    taken_.clear();
    status_.Update(end_.Take(taken_));
    const absl::Time now = heavy_ && !(taken_.empty() && executing_.empty()) ? absl::Now() : absl::UnixEpoch();
    for (const ReceiverEnd::Request& request : taken_) {
      const Operation& operation = request.operation;
      if (operation.is_write != 0) {
        const size_t places = table_.size() / object_.size();
        std::copy(object_.begin(), object_.end(),
                  table_.begin() + static_cast<std::ptrdiff_t>(operation.object % places * object_.size()));
      }
      executing_.push_back({request, now + (heavy_ ? absl::Microseconds(100) : absl::ZeroDuration())});
    }
    finished_.clear();
    while (!executing_.empty() && executing_.front().end <= now) {
      finished_.push_back(executing_.front().request);
      executing_.pop_front();
    }
    if (!finished_.empty()) status_.Update(end_.Finish(finished_));
    return status_;
  }

 private:
  struct Executing {
    ReceiverEnd::Request request;
    absl::Time end;
  };

  ReceiverEnd& end_;
  const std::string object_;
  std::vector<char> table_;
  const bool heavy_;
  std::vector<ReceiverEnd::Request> taken_;
  std::deque<Executing> executing_;
  std::vector<ReceiverEnd::Request> finished_;
  absl::Status status_;
};

struct Figures {
  std::vector<double> writes_us;
  std::vector<double> reads_us;
  double seconds = 0;
};

// One operation after the other, each until it is over for the sender.
class Sender {
 public:
  Sender(SenderEnd& end, Receiver& receiver, size_t object_bytes, uint64_t seed)
      : end_(end), receiver_(receiver), object_bytes_(object_bytes), random_(seed), zipfian_(kObjects, 0.99) {}

  absl::StatusOr<Figures> Run(absl::Duration duration) {
    Figures figures;
    if (absl::Status warm = RunFor(duration / 10, figures); !warm.ok()) return warm;
    figures = {};
    const absl::Time begun = absl::Now();
    if (absl::Status ran = RunFor(duration, figures); !ran.ok()) return ran;
    figures.seconds = absl::ToDoubleSeconds(absl::Now() - begun);
    return figures;
  }

 private:
  absl::Status RunFor(absl::Duration duration, Figures& figures) {
    const absl::Time end = absl::Now() + duration;
    for (absl::Time now = absl::Now(); now < end;) {
      Operation operation;
      operation.object = zipfian_.Draw(random_);
      operation.is_write = random_.Next() % 2 == 0 ? 1 : 0;
      operation.object_bytes = object_bytes_;
      Patience patience;
      while (!end_.HasRoom(1)) {
        if (absl::Status polled = Poll(patience); !polled.ok()) return polled;
      }
      if (absl::Status sent = end_.Send({&operation, 1}); !sent.ok()) return sent;
      ++sent_;
      const bool until_safe = operation.is_write != 0 && end_.early();
      while (until_safe ? safe_ < sent_ : last_reply_ < sent_) {
        if (absl::Status polled = Poll(patience); !polled.ok()) return polled;
      }
      const absl::Time over = absl::Now();
      (operation.is_write != 0 ? figures.writes_us : figures.reads_us)
          .push_back(absl::ToDoubleMicroseconds(over - now));
      now = over;
    }
    return absl::OkStatus();
  }
  absl::Status Poll(Patience& patience) {
    if (absl::Status turned = receiver_.Turn(); !turned.ok()) return turned;
    const absl::StatusOr<SenderEnd::News> news = end_.Poll();
    if (!news.ok()) return news.status();
    safe_ = news->safe_up_to;
    for (const uint64_t number : news->replies) last_reply_ = std::max(last_reply_, number);
    return patience.Spin();
  }

  SenderEnd& end_;
  Receiver& receiver_;
  const size_t object_bytes_;
  fabric::sim::Random random_;
  const Zipfian zipfian_;
  uint64_t sent_ = 0;
  uint64_t safe_ = 0;
  uint64_t last_reply_ = 0;
};

double At(std::vector<double>& values, double part) {
  if (values.empty()) return 0;
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

absl::StatusOr<Figures> Measure() {
  const auto sending = fabric::OpenShmDevice();
  const auto receiving = fabric::OpenShmDevice();
  if (!sending.ok()) return sending.status();
  if (!receiving.ok()) return receiving.status();
  const size_t object_bytes = absl::GetFlag(FLAGS_object_bytes);
  const Costs costs;
  auto connection =
      Connect(absl::GetFlag(FLAGS_exchange), **sending, **receiving, {.object_bytes = object_bytes, .batch = 1}, costs);
  if (!connection.ok()) return connection.status();
  Receiver receiver(*connection->receiver, object_bytes, absl::GetFlag(FLAGS_heavy));
  return Sender(*connection->sender, receiver, object_bytes, absl::GetFlag(FLAGS_seed))
      .Run(absl::GetFlag(FLAGS_duration));
}

int Main() {
  absl::StatusOr<Figures> figures = Measure();
  if (!figures.ok()) {
    std::cerr << figures.status() << '\n';
    return 1;
  }
  const auto operations = static_cast<double>(figures->writes_us.size() + figures->reads_us.size());
  std::cout
      << absl::StrFormat(
             R"({"kops": %.3f, "write_p50_us": %.3f, "write_p99_us": %.3f, "read_p50_us": %.3f, "read_p99_us": %.3f})",
             operations / figures->seconds / 1e3, At(figures->writes_us, 0.5), At(figures->writes_us, 0.99),
             At(figures->reads_us, 0.5), At(figures->reads_us, 0.99))
      << '\n';
  return 0;
}

}  // namespace
}  // namespace skein::bench::durable

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return skein::bench::durable::Main();
}
