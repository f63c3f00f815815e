#include "core/stream/thread_streams.h"

#include <utility>

#include "core/link/link.h"

namespace skein::stream {
namespace {

// A link, as the background thread sees it.
class AttendedLink final : public wait::Source {
 public:
  AttendedLink(std::shared_ptr<link::Link> link, std::shared_ptr<link::LinkRoom> room)
      : link_(std::move(link)), room_(std::move(room)) {}

  bool Poll() override { return link_->Poll(); }
  bool Arm() override { return link_->Arm() && !room_->LookAtLifelines(); }
  int fd() const override { return room_->fd(); }
  bool finished() const override { return link_->finished(); }
  // Who has made it leaves it when it is not used any more; the other end hears of that.
  bool Retire() override { return finished(); }
  wait::Attendance TakeAttendance() override { return room_->TakeAttendance(); }

  // A link and the streams on it keep each other until it is finished.
  void End() {
    link_->Close();
    link_->Arm();
    while (link_->Poll()) {
    }
  }

 private:
  const std::shared_ptr<link::Link> link_;
  const std::shared_ptr<link::LinkRoom> room_;
};

}  // namespace

ThreadStreams::~ThreadStreams() {
  for (const std::shared_ptr<wait::Source>& source : caretaker_.TakeAll()) {
    if (auto* const link = dynamic_cast<AttendedLink*>(source.get())) link->End();
  }
}

std::unique_ptr<BlockingStream> ThreadStreams::Block(std::shared_ptr<Stream> stream, int tcp) {
  std::shared_ptr<link::LinkRoom> room = rooms_.Of(stream->link());
  return std::make_unique<BlockingStream>(std::move(stream), std::move(room), tcp);
}

std::shared_ptr<wait::Reminders> ThreadStreams::Reminders() {
  std::shared_ptr<wait::Reminders> made;
  {
    MutexLock lock(&mu_);
    if (reminders_ != nullptr) return reminders_;
    made = std::make_shared<wait::Reminders>();
    if (!made->valid()) return nullptr;
    reminders_ = made;
  }
  caretaker_.Add(made);
  return made;
}

void ThreadStreams::Watch(std::shared_ptr<wait::Source> source) {
  std::shared_ptr<link::Link> link = std::dynamic_pointer_cast<link::Link>(source);
  if (link == nullptr) return caretaker_.Add(std::move(source));
  std::shared_ptr<link::LinkRoom> room = rooms_.Of(link);
  caretaker_.Add(std::make_shared<AttendedLink>(std::move(link), std::move(room)));
}

}  // namespace skein::stream
