#include "tests/support/interleavings.h"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace skein::interleavings {
namespace {

constexpr size_t kStackBytes = size_t{256} << 10;
constexpr int kMaxSteps = 5000;  // more than any run that ends takes

bool Acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}
bool Releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}
void Join(Clock& clock, const Clock& other) {
  for (int i = 0; i < kMaxThreads; ++i) clock[i] = std::max(clock[i], other[i]);
}

struct StoredValue {
  uint64_t value = 0;
  Clock released{};  // what a load that acquires learns
  Clock seen_at{};   // by each thread, first; 0: not yet
};

// An atomic, from its construction to its end.
struct Location {
  const void* address;
  bool alive;
  int made_by;
  uint32_t made_at;
  std::vector<StoredValue> stores;  // in modification order
  size_t last_sequential = 0;       // the last store that was seq_cst
  Clock touched{};
};

// What a thread will do next.
struct Step {
  const void* address = nullptr;
  bool writes = false;
  std::optional<uint64_t> blocked_while;  // the value is this

  bool DependsOn(const Step& other) const {
    return address != nullptr && address == other.address && (writes || other.writes);
  }
};

struct Fiber {
  ucontext_t context;
  jmp_buf resume;
  bool entered = false;
  std::unique_ptr<char[]> stack;

  bool finished = false;
  const void* parked_at = nullptr;
  Step next;
  Clock clock{};
};

class Explorer {
 public:
  Explorer(const std::function<Program()>& make, const Options& options) : make_(make), options_(options) {}
  Result Run();

  bool running() const { return running_; }
  int self() const { return self_; }
  Fiber& me() { return fibers_[self_]; }
  Fiber& fiber(int thread) { return fibers_[thread]; }
  void Fail(absl::string_view what);

  void Begin(const void* atom, uint64_t value);
  void End(const void* atom);
  // Lets others go first. Then: the atomic, alive.
  Location& Reach(const Step& step);
  void Pass(const Step& step);
  // Which of the values from `oldest` on a load returns, for which `may` holds; it always holds for the last.
  template <class May>
  uint64_t Read(Location& at, std::memory_order order, May may);
  void Write(Location& at, uint64_t value, std::memory_order order, bool modifies);
  uint64_t Last(const Location& at) const { return at.stores.back().value; }
  void See(Location& at, int thread, size_t store);
  bool ParkedHere(const void* address, int& thread) const;
  // Once per run at most.
  bool WakesForNothing() { return !woken_for_nothing_ && (woken_for_nothing_ = Choose(2) == 1); }
  Location* Find(const void* address);
  void Trace(absl::string_view operation, const void* address, uint64_t value, const Where& where);
  std::memory_order Order(std::memory_order written, bool loads, bool stores, const Where& where);

 private:
  static void Main();
  void RunOnce();
  bool NextPath();
  size_t Choose(size_t count);
  void Schedule();
  bool CanRun(const Fiber& fiber);
  std::vector<int> Candidates();
  void Switch(int to);
  size_t OldestReadable(const Location& at, std::memory_order order) const;

  const std::function<Program()>& make_;
  const Options options_;
  Result result_;

  struct Choice {
    size_t index, count;
  };
  std::vector<Choice> path_;
  size_t at_choice_ = 0;

  // Of one run.
  bool running_ = false;
  bool starting_ = false;
  bool cut_short_ = false;
  bool tracing_ = false;
  bool woken_for_nothing_ = false;
  int self_ = 0;
  int steps_ = 0;
  int preemptions_ = 0;
  uint32_t asleep_ = 0;  // bit set of threads: going on with one of them now leads nowhere new
  std::string failure_;
  std::vector<std::string> trace_;
  std::vector<Location> locations_;
  Program program_;
  std::array<Fiber, kMaxThreads> fibers_;
  int thread_count_ = 0;  // with the first
};

Explorer* explorer = nullptr;

void Explorer::Main() {
  explorer->program_.threads[explorer->self_ - 1]();
  explorer->me().finished = true;
  explorer->me().next = {};
  explorer->Schedule();
}

// No local variables: they would not survive setjmp.
__attribute__((noinline)) void Explorer::Switch(int to) {
  if (to == self_) return;
  if (_setjmp(me().resume) != 0) return;
  self_ = to;
  if (me().entered) _longjmp(me().resume, 1);
  me().entered = true;
  setcontext(&me().context);
}

void Explorer::Fail(absl::string_view what) {
  if (failure_.empty()) failure_ = absl::StrCat("thread ", self_, ": ", what);
  if (self_ != 0) Switch(0);
}

size_t Explorer::Choose(size_t count) {
  if (count == 1) return 0;
  if (at_choice_ == path_.size()) path_.push_back({0, count});
  return path_[at_choice_++].index;
}

bool Explorer::NextPath() {
  while (!path_.empty() && path_.back().index + 1 == path_.back().count) path_.pop_back();
  if (path_.empty()) return false;
  ++path_.back().index;
  return true;
}

bool Explorer::CanRun(const Fiber& fiber) {
  if (fiber.finished || fiber.parked_at != nullptr) return false;
  if (!fiber.next.blocked_while.has_value()) return true;
  const Location* const at = Find(fiber.next.address);
  return at == nullptr || Last(*at) != *fiber.next.blocked_while;
}

// Who may go on now; the running thread first.
std::vector<int> Explorer::Candidates() {
  std::vector<int> candidates;
  if (self_ != 0 && CanRun(me())) candidates.push_back(self_);
  const bool must_go_on =
      !candidates.empty() && options_.preemptions.has_value() && preemptions_ == *options_.preemptions;
  for (int thread = 1; thread < thread_count_ && !must_go_on; ++thread) {
    if (thread != self_ && CanRun(fibers_[thread])) candidates.push_back(thread);
  }
  return candidates;
}

void Explorer::Schedule() {
  std::vector<int> candidates = Candidates();
  if (candidates.empty()) {
    bool all_finished = true;
    for (int thread = 1; thread < thread_count_; ++thread) all_finished &= fibers_[thread].finished;
    if (!all_finished) failure_ = "deadlock: nobody can go on";
    return Switch(0);
  }
  if (++steps_ > kMaxSteps) return Fail("does not end");
  const bool could_go_on = candidates.front() == self_;
  std::erase_if(candidates, [&](int thread) { return (asleep_ >> thread & 1) != 0; });
  if (candidates.empty()) {
    cut_short_ = true;
    return Switch(0);
  }
  const size_t index = Choose(candidates.size());
  const int chosen = candidates[index];
  if (could_go_on && chosen != self_) ++preemptions_;
  if (!options_.preemptions.has_value()) {
    for (size_t earlier = 0; earlier < index; ++earlier) asleep_ |= 1u << candidates[earlier];
    for (int thread = 1; thread < thread_count_; ++thread) {
      if (fibers_[thread].next.DependsOn(fibers_[chosen].next)) asleep_ &= ~(1u << thread);
    }
  }
  Switch(chosen);
}

void Explorer::Pass(const Step& step) {
  if (self_ == 0) return;
  me().next = step;
  if (starting_) {
    Switch(0);
  } else {
    Schedule();
  }
  ++me().clock[self_];
}

Location* Explorer::Find(const void* address) {
  for (auto at = locations_.rbegin(); at != locations_.rend(); ++at) {
    if (at->address == address && at->alive) return &*at;
  }
  return nullptr;
}

Location& Explorer::Reach(const Step& step) {
  Pass(step);
  Location* const at = Find(step.address);
  if (at == nullptr) {
    Fail("touches an atomic that is gone");
    return locations_.back();  // only where the checks after the run got here
  }
  if (at->made_at > me().clock[at->made_by]) Fail("touches an atomic whose construction does not happen before");
  at->touched[self_] = me().clock[self_];
  return *at;
}

void Explorer::Begin(const void* atom, uint64_t value) {
  if (!running_) return;
  Location at{atom, true, self_, me().clock[self_], {}};
  at.stores.push_back({value, {}, {}});
  locations_.push_back(std::move(at));
  See(locations_.back(), self_, 0);
}

void Explorer::End(const void* atom) {
  if (!running_) return;
  Location* const at = Find(atom);
  for (int thread = 0; thread < kMaxThreads; ++thread) {
    if (at->touched[thread] > me().clock[thread]) return Fail("ends an atomic that another may yet touch");
  }
  at->alive = false;
}

void Explorer::See(Location& at, int thread, size_t store) {
  uint32_t& seen = at.stores[store].seen_at[thread];
  if (seen == 0) seen = fibers_[thread].clock[thread];
}

// Later than, or the same as, all that this thread, or what happens before it, has read or written.
size_t Explorer::OldestReadable(const Location& at, std::memory_order order) const {
  const size_t last = at.stores.size() - 1;
  if (!options_.late_reads || self_ == 0) return last;
  const Clock& now = fibers_[self_].clock;
  for (size_t store = last; store > 0; --store) {
    if (order == std::memory_order_seq_cst && store == at.last_sequential) return store;
    for (int thread = 0; thread < kMaxThreads; ++thread) {
      const uint32_t seen = at.stores[store].seen_at[thread];
      if (seen != 0 && seen <= now[thread]) return store;
    }
  }
  return 0;
}

template <class May>
uint64_t Explorer::Read(Location& at, std::memory_order order, May may) {
  const size_t last = at.stores.size() - 1;
  std::vector<size_t> readable = {last};
  for (size_t store = last; store-- > OldestReadable(at, order);) {
    if (may(at.stores[store].value)) readable.push_back(store);
  }
  const size_t chosen = readable[Choose(readable.size())];
  See(at, self_, chosen);
  if (Acquires(order)) Join(me().clock, at.stores[chosen].released);
  return at.stores[chosen].value;
}

void Explorer::Write(Location& at, uint64_t value, std::memory_order order, bool modifies) {
  StoredValue store{value, {}, {}};
  if (modifies) {
    if (Acquires(order)) Join(me().clock, at.stores.back().released);
    store.released = at.stores.back().released;
  }
  if (Releases(order)) Join(store.released, me().clock);
  at.stores.push_back(store);
  if (order == std::memory_order_seq_cst) at.last_sequential = at.stores.size() - 1;
  See(at, self_, at.stores.size() - 1);
}

bool Explorer::ParkedHere(const void* address, int& thread) const {
  for (thread = 1; thread < thread_count_; ++thread) {
    if (fibers_[thread].parked_at == address) return true;
  }
  return false;
}

void Explorer::Trace(absl::string_view operation, const void* address, uint64_t value, const Where& where) {
  if (!tracing_ || !running_) return;
  absl::string_view file = where.file;
  file.remove_prefix(std::min(file.size(), file.rfind('/') + 1));
  const Location* const at = Find(address);
  const std::string atom = at == nullptr ? "a dead atomic" : absl::StrCat("atomic ", at - locations_.data());
  trace_.push_back(absl::StrCat("  thread ", self_, "  ", file, ":", where.line, "  ", operation, " ", atom, ": ",
                                value > 0xffff ? absl::StrCat("0x", absl::Hex(value)) : absl::StrCat(value)));
}

std::memory_order Explorer::Order(std::memory_order written, bool loads, bool stores, const Where& where) {
  const auto met = [&](const Weakening& other) { return other.line == where.line && other.file == where.file; };
  if (options_.weakening.has_value() && met(*options_.weakening)) return options_.weakening->order;
  if (std::none_of(result_.weakenings.begin(), result_.weakenings.end(), met)) {
    const auto add = [&](std::memory_order order) {
      result_.weakenings.push_back({where.line, order, where.file, where.function});
    };
    const bool both = loads && stores;
    if (written == std::memory_order_seq_cst) {
      add(both ? std::memory_order_acq_rel : loads ? std::memory_order_acquire : std::memory_order_release);
    } else if (written == std::memory_order_acq_rel) {
      add(std::memory_order_acquire);
      add(std::memory_order_release);
    } else if (written != std::memory_order_relaxed) {
      add(std::memory_order_relaxed);
    }
  }
  return written;
}

void Explorer::RunOnce() {
  at_choice_ = 0;
  cut_short_ = woken_for_nothing_ = false;
  self_ = steps_ = preemptions_ = 0;
  asleep_ = 0;
  locations_.clear();
  fibers_[0].clock = {1};
  fibers_[0].entered = true;
  running_ = true;
  program_ = make_();
  thread_count_ = static_cast<int>(program_.threads.size()) + 1;
  starting_ = true;
  for (int thread = 1; thread < thread_count_; ++thread) {
    Fiber& fiber = fibers_[thread];
    if (fiber.stack == nullptr) fiber.stack = std::make_unique<char[]>(kStackBytes);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    makecontext(&fiber.context, &Explorer::Main, 0);
    fiber.entered = fiber.finished = false;
    fiber.parked_at = nullptr;
    fiber.next = {};
    fiber.clock = fibers_[0].clock;
    fiber.clock[thread] = 1;
    Switch(thread);  // to its first operation
  }
  starting_ = false;
  if (failure_.empty()) Schedule();
  if (failure_.empty() && !cut_short_) {
    for (int thread = 1; thread < thread_count_; ++thread) Join(fibers_[0].clock, fibers_[thread].clock);
    program_.finally();
  }
  running_ = false;
  program_ = {};
}

Result Explorer::Run() {
  do {
    RunOnce();
    ++(cut_short_ ? result_.cut_short : result_.schedules);
  } while (failure_.empty() && NextPath());
  if (!failure_.empty()) {
    tracing_ = true;
    failure_.clear();
    RunOnce();
    result_.failure = absl::StrCat(failure_, "\n", absl::StrJoin(trace_, "\n"));
  }
  return std::move(result_);
}

}  // namespace

Result Explore(const std::function<Program()>& make, const Options& options) {
  Explorer here(make, options);
  explorer = &here;
  Result result = here.Run();
  explorer = nullptr;
  return result;
}

void Check(bool holds, const char* what) {
  if (!holds && explorer != nullptr && explorer->running()) explorer->Fail(what);
}

namespace internal {

void Begin(const void* atom, uint64_t value) { explorer->Begin(atom, value); }

void End(const void* atom) {
  if (explorer != nullptr) explorer->End(atom);
}

uint64_t Load(const void* atom, std::memory_order order, const Where& where) {
  order = explorer->Order(order, true, false, where);
  const uint64_t value = explorer->Read(explorer->Reach({atom, false, {}}), order, [](uint64_t) { return true; });
  explorer->Trace("load", atom, value, where);
  return value;
}

void Store(const void* atom, uint64_t value, std::memory_order order, const Where& where) {
  order = explorer->Order(order, false, true, where);
  explorer->Write(explorer->Reach({atom, true, {}}), value, order, /*modifies=*/false);
  explorer->Trace("store", atom, value, where);
}

uint64_t Change(const void* atom, const std::function<uint64_t(uint64_t)>& change, absl::string_view operation,
                std::memory_order order, const Where& where) {
  order = explorer->Order(order, true, true, where);
  Location& at = explorer->Reach({atom, true, {}});
  const uint64_t old = explorer->Last(at);
  explorer->Write(at, change(old), order, /*modifies=*/true);
  explorer->Trace(operation, atom, old, where);
  return old;
}

bool CompareExchange(const void* atom, uint64_t& expected, uint64_t desired, std::memory_order order,
                     std::optional<std::memory_order> failure, const Where& where) {
  order = explorer->Order(order, true, true, where);
  Location& at = explorer->Reach({atom, true, {}});
  // It may fail because of a value of before, but succeeds only on the last.
  const uint64_t wanted = expected;
  const uint64_t found = explorer->Read(at, failure.value_or(order), [&](uint64_t value) { return value != wanted; });
  explorer->Trace(found == wanted ? "compare_exchange, done" : "compare_exchange, found", atom, found, where);
  if (found == wanted) explorer->Write(at, desired, order, /*modifies=*/true);
  expected = found;
  return found == wanted;
}

uint64_t Await(const void* atom, uint64_t old, std::memory_order order, const Where& where) {
  order = explorer->Order(order, true, false, where);
  Location& at = explorer->Reach({atom, false, old});
  const uint64_t value = explorer->Read(at, order, [&](uint64_t value) { return value != old; });
  explorer->Trace("await", atom, value, where);
  return value;
}

void Park(const void* atom, uint64_t value, const Where& where) {
  Location& at = explorer->Reach({atom, false, {}});
  const bool sleeps = explorer->Last(at) == value;
  explorer->Trace(sleeps ? "park" : "park not, changed", atom, explorer->Last(at), where);
  explorer->See(at, explorer->self(), at.stores.size() - 1);
  if (!sleeps || explorer->WakesForNothing()) return;
  explorer->me().parked_at = atom;
  explorer->Pass({});
}

void Unpark(const void* address, const Where& where) {
  explorer->Pass({address, true, {}});
  explorer->Trace("unpark", address, 0, where);
  int thread = 0;
  if (!explorer->ParkedHere(address, thread)) return;
  explorer->fiber(thread).parked_at = nullptr;
  if (Location* const at = explorer->Find(address)) explorer->See(*at, thread, at->stores.size() - 1);
}

const Clock& Now(int& thread) {
  thread = explorer->self();
  return explorer->me().clock;
}

}  // namespace internal
}  // namespace skein::interleavings
