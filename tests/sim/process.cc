#include "tests/sim/process.h"

#include <utility>

namespace skein::chaos {

Process::~Process() {
  for (const auto& link : links()) link->Close();
  while (PollAll()) {
  }
}

void Process::Watch(std::shared_ptr<wait::Source> source) {
  sources_.push_back(std::move(source));
  asleep_ = false;
}

void Process::Poll() {
  if (asleep_ && !device_->WouldWake()) {
    // Turns have a timer of their own.
    for (const auto& source : std::vector(sources_)) {
      if (dynamic_cast<link::Link*>(source.get()) == nullptr) source->Poll();
    }
    return;
  }
  asleep_ = !PollAll() && sleeps_ && ArmAll();
}

bool Process::PollAll() {
  bool any = false;
  for (const auto& source : std::vector(sources_)) any |= source->Poll();
  std::erase_if(sources_, [](const auto& source) { return source->finished(); });
  return any;
}

bool Process::ArmAll() {
  bool armed = true;
  for (const auto& source : sources_) armed &= source->Arm();
  return armed;
}

std::vector<std::shared_ptr<link::Link>> Process::links() const {
  std::vector<std::shared_ptr<link::Link>> links;
  for (const auto& source : sources_) {
    if (auto link = std::dynamic_pointer_cast<link::Link>(source)) links.push_back(std::move(link));
  }
  return links;
}

}  // namespace skein::chaos
