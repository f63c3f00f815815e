#include "examples/counter/total.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "examples/counter/counter.pb.h"

namespace skein::examples {
namespace {

constexpr uint64_t kRepliesEach = 1000;

int64_t AmountOf(const grpc_transport::DurableReply& reply) {
  counter::AddReply added;
  return added.ParseFromString(reply.message) ? added.amount() : 0;
}

}  // namespace

Total::Total(std::string path) : path_(std::move(path)) {
  std::ifstream file(path_);
  if (file >> safe_ >> position_) total_ = safe_;
}

int64_t Total::Add(int64_t amount) {
  const std::lock_guard lock(mu_);
  return total_ += amount;
}

void Total::OnReply(const grpc_transport::DurableReply& reply) {
  const std::lock_guard lock(mu_);
  safe_ += AmountOf(reply);
  position_ = reply.position;
  if (++replies_ >= kRepliesEach) Checkpoint();
}

void Total::Retry() {
  const std::lock_guard lock(mu_);
  if (failed_) Checkpoint();
}

absl::Status Total::Restore(grpc_transport::DurableService& service) {
  service_ = &service;
  const absl::Status status = service.ForEachReply(position_, [this](const grpc_transport::DurableReply& reply) {
    total_ = safe_ += AmountOf(reply);
    position_ = reply.position;
  });
  if (status.ok()) Checkpoint();
  return status;
}

void Total::Checkpoint() {
  failed_ = !Write();
  if (failed_) return;  // then the log keeps what it has, and the next turn tries again
  replies_ = 0;
  service_->Checkpoint(position_);
}

// All or nothing: a new file takes the old one's place when it is on the disk.
bool Total::Write() {
  const std::string text = std::to_string(safe_) + " " + std::to_string(position_) + "\n";
  const std::string next = path_ + ".next";
  const int fd = open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fdatasync(fd) == 0;
  close(fd);
  if (!written || rename(next.c_str(), path_.c_str()) != 0) return false;
  const std::string folder = path_.substr(0, path_.find_last_of('/') + 1);
  const int directory = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool named = directory >= 0 && fsync(directory) == 0;
  if (directory >= 0) close(directory);
  return named;
}

}  // namespace skein::examples
