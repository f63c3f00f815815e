// A sum that is as durable as the redo log it is made of.
#ifndef SKEIN_EXAMPLES_COUNTER_TOTAL_H_
#define SKEIN_EXAMPLES_COUNTER_TOTAL_H_

#include <skein/grpc_durable.h>

#include <cstdint>
#include <mutex>
#include <string>

namespace skein::examples {

// Two sums: what handlers have added, and of that, what is safe, which is the only one that is ever written down.
class Total {
 public:
  // Reads the last checkpoint, if there is one.
  explicit Total(std::string path);

  // By a handler. What it is now.
  int64_t Add(int64_t amount);
  // A reply is safe. Now and then the sum is written down, and the log may forget what has made it.
  void OnReply(const grpc_transport::DurableReply& reply);
  // Now and then: writes it down if that failed when it was due. OnReply alone would not do: a log that is full for
  // want of a checkpoint brings no more replies.
  void Retry();
  // Before Start: what has been safe since the checkpoint.
  absl::Status Restore(grpc_transport::DurableService& service);

 private:
  void Checkpoint();
  bool Write();

  const std::string path_;
  std::mutex mu_;
  int64_t total_ = 0;
  int64_t safe_ = 0;
  uint64_t position_ = 0;  // of the last reply in safe_
  uint64_t replies_ = 0;   // since the checkpoint
  bool failed_ = false;    // the last attempt at one
  grpc_transport::DurableService* service_ = nullptr;
};

}  // namespace skein::examples

#endif  // SKEIN_EXAMPLES_COUNTER_TOTAL_H_
