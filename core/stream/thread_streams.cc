#include "core/stream/thread_streams.h"

#include <utility>

#include "core/link/link.h"

namespace skein::stream {

ThreadStreams::~ThreadStreams() {
  for (const std::shared_ptr<wait::Source>& source : background_.TakeAll()) {
    if (auto* const set = dynamic_cast<wait::WaitSet*>(source.get())) set->End();
  }
}

std::unique_ptr<BlockingStream> ThreadStreams::Block(std::shared_ptr<Stream> stream, int tcp) {
  std::shared_ptr<wait::WaitSet> space = SpaceOf(*stream);
  return std::make_unique<BlockingStream>(std::move(stream), std::move(space), tcp);
}

std::shared_ptr<wait::WaitSet> ThreadStreams::SpaceOf(const Stream& stream) { return spaces_.Of(stream.link()); }

std::shared_ptr<wait::Reminders> ThreadStreams::Reminders() {
  std::shared_ptr<wait::Reminders> made;
  {
    MutexLock lock(&mu_);
    if (reminders_ != nullptr) return reminders_;
    made = std::make_shared<wait::Reminders>();
    if (!made->valid()) return nullptr;
    reminders_ = made;
  }
  background_.Add(made);
  return made;
}

void ThreadStreams::Watch(std::shared_ptr<wait::Source> source) {
  const auto shared = std::dynamic_pointer_cast<wait::SharedSource>(source);
  background_.Add(shared == nullptr ? std::move(source) : spaces_.Of(shared));
}

}  // namespace skein::stream
