#include "examples/notebook/book.h"

#include <fcntl.h>
#include <skein/thrift/durable_processor.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

namespace skein::examples {

using thrift_transport::TSkeinDurableCall;
using thrift_transport::TSkeinDurableProcessor;

Book::Book(const std::string& path) {
  ReadBack(path);
  file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file_ >= 0) return;
  std::cerr << "cannot write " << path << std::endl;
  std::exit(1);
}

void Book::ReadBack(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line); ++lines_) {
    const size_t slash = line.find('/');
    if (slash != std::string::npos) last_[line.substr(0, slash)] = {std::stoull(line.substr(slash + 1)), lines_ + 1};
  }
}

int64_t Book::append(const std::string& line) {
  const TSkeinDurableCall* const call = TSkeinDurableProcessor::currentCall();
  if (call == nullptr) throw std::invalid_argument("only durable calls are written down");
  const std::lock_guard lock(mu_);
  Last& last = last_[call->client];
  if (call->sequence <= last.sequence) {
    std::cout << "again " << line << std::endl;
    return last.number;
  }
  std::ostringstream text;
  text << call->client << "/" << call->sequence << " " << line << "\n";
  const std::string bytes = text.str();
  const off_t end = lseek(file_, 0, SEEK_END);
  // A notebook for power failures would fdatasync here, before the call counts as executed.
  if (write(file_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    if (ftruncate(file_, end) != 0) std::cerr << "a torn line stays in the notebook" << std::endl;
    throw std::runtime_error("the notebook cannot be written");
  }
  last = {call->sequence, ++lines_};
  return last.number;
}

int64_t Book::lines() {
  const std::lock_guard lock(mu_);
  return lines_;
}

}  // namespace skein::examples
