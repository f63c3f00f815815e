#include "core/replicate/outgoing.h"

#include <algorithm>
#include <utility>

namespace skein::replicate {
namespace {

ConstBytes BytesOf(const std::string& text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }

}  // namespace

absl::StatusOr<Outgoing::Taken> Outgoing::Write(Path& path) {
  Taken taken;
  while (!items_.empty()) {
    const Item& item = items_.front();
    const size_t of_frame = std::min(taken_, item.frame.size());
    const ConstBytes parts[] = {BytesOf(item.frame).subspan(of_frame), item.block.subspan(taken_ - of_frame)};
    const size_t rest = item.size() - taken_;
    const absl::StatusOr<size_t> some = path.Write({parts, item.block.empty() ? size_t{1} : size_t{2}});
    if (!some.ok()) return some.status();
    taken_ += *some;
    if (*some < rest) {
      taken.all = false;
      return taken;
    }
    taken.blocks += item.is_block() ? 1 : 0;
    items_.pop_front();
    taken_ = 0;
  }
  if (std::exchange(closing_, false)) path.CloseWrite();
  return taken;
}

void Outgoing::Cut() {
  if (!items_.empty() && items_.front().said < taken_) {
    Item& first = items_.front();
    first.frame.append(reinterpret_cast<const char*>(first.block.data()), first.block.size());
    first.said = first.frame.size();
  }
  for (Item& item : items_) {
    item.frame.resize(item.said);
    item.block = {};
  }
  std::erase_if(items_, [](const Item& item) { return item.frame.empty(); });
}

void Outgoing::Drop() {
  items_.clear();
  taken_ = 0;
  closing_ = false;
}

}  // namespace skein::replicate
