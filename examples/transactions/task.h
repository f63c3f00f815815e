// A coroutine with a result. It begins when another coroutine awaits it, or by Begin.
#ifndef SKEIN_EXAMPLES_TRANSACTIONS_TASK_H_
#define SKEIN_EXAMPLES_TRANSACTIONS_TASK_H_

#include <coroutine>
#include <optional>
#include <utility>

namespace skein::transactions {

// One thread's. It ends before it is destroyed.
template <typename T>
class [[nodiscard]] Task {
 public:
  struct promise_type {
    // The coroutine that awaits this one goes on where this one ends.
    struct ToAwaiter {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> ended) noexcept {
        return ended.promise().awaiter;
      }
      void await_resume() noexcept {}
    };

    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    ToAwaiter final_suspend() noexcept { return {}; }
    void return_value(T value) { result = std::move(value); }
    void unhandled_exception() { throw; }

    std::optional<T> result;
    std::coroutine_handle<> awaiter = std::noop_coroutine();
  };

  Task(Task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (coroutine_) coroutine_.destroy();
  }

  // Runs until it waits for something, or ends.
  void Begin() { coroutine_.resume(); }
  // Of one that has ended.
  const T& result() const { return *coroutine_.promise().result; }

  bool await_ready() const { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiter) {
    coroutine_.promise().awaiter = awaiter;
    return coroutine_;
  }
  T await_resume() { return *std::move(coroutine_.promise().result); }

 private:
  explicit Task(std::coroutine_handle<promise_type> coroutine) : coroutine_(coroutine) {}

  std::coroutine_handle<promise_type> coroutine_;
};

}  // namespace skein::transactions

#endif  // SKEIN_EXAMPLES_TRANSACTIONS_TASK_H_
