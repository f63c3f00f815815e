#include "tests/sim/talk.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace skein::chaos {
char Talk::ByteAt(uint64_t number, Side side, uint64_t position) {
  const uint64_t mixed = (position + 1) * 0x9e3779b97f4a7c15 + number * 0xbf58476d1ce4e5b9 + side;
  return static_cast<char>(mixed >> 40);
}

void Talk::Give(Side side, Ending ending) {
  End& end = ends_[side];
  world_.journal().Check(ending.given() || ending.may_be_nothing || over(kServer),
                         "no way to connect, for no reason: ", skein::ToString(ending.why));
  if (ending.stream == nullptr || end.over) {
    end.over = true;
    return Cut(side);
  }
  end.link = ending.end();
  end.stream = std::move(ending.stream);
  end.number = ending.number;
  end.window.emplace(manner_.window);
  end.stream->SetObserver(end.ready);
}

bool Talk::MayFail() const {
  const auto any = [this](bool (LinkEnd::*what)() const) {
    return std::any_of(ends_.begin(), ends_.end(),
                       [what](const End& end) { return end.link != nullptr && (*end.link.*what)(); });
  };
  // A server that has no memory to answer with finds out when the client is there already.
  const bool never_answered = ends_[kServer].said == 0 && !ends_[kClient].at_end;
  return any(&LinkEnd::broken) || (never_answered && any(&LinkEnd::refused));
}

void Talk::Cut(Side side) {
  End& other = ends_[Other(side)];
  if (other.cut) return;
  other.cut = true;
  other.cut_off = world_.simulation().now() + kNews;
}

void Talk::Act(Side side, bool finishing) {
  End& end = ends_[side];
  if (end.cut && world_.simulation().now() >= end.cut_off) HearOfCut(side);
  if (end.stream == nullptr) return;
  Dice& dice = world_.dice();
  if (finishing) return Finish(side);
  if (!end.closed && dice.OneIn(manner_.pace)) SayByChance(side);
  if (end.stream != nullptr && dice.OneIn(3)) Hear(side, dice.Between(1, 100'000));
  if (end.stream == nullptr) return;
  if (!end.closed && dice.OneIn(400)) {
    end.closed = true;
    end.stream->CloseWrite();
  } else if (dice.OneIn(1500)) {
    dice.OneIn(2) ? Abort(side) : Leave(side);
  }
}

// Some fill rings, others use up credits.
void Talk::SayByChance(Side side) {
  Dice& dice = world_.dice();
  const bool much = dice.OneIn(number_ % 4 == 0 ? 2 : 40);
  Say(side, much ? dice.Between(1, 60'000) : dice.Between(1, 300));
}

// Everybody can still say something, and is heard.
void Talk::Finish(Side side) {
  End& end = ends_[side];
  Hear(side, SIZE_MAX);
  if (end.stream != nullptr && !end.closed && end.last_words > 0) {
    const uint64_t before = end.said;
    Say(side, end.last_words);
    end.last_words -= end.said - before;
  }
  if (end.stream != nullptr && end.last_words == 0 && !std::exchange(end.closed, true)) end.stream->CloseWrite();
  if (end.stream != nullptr && end.closed && end.at_end) Leave(side);
}

void Talk::Say(Side side, uint64_t bytes) {
  End& end = ends_[side];
  if (!end.ready->writable) return;
  std::string text(bytes, '\0');
  for (uint64_t i = 0; i < bytes; ++i) text[i] = ByteAt(number_, side, end.said + i);
  // Of two pieces, as callers gather.
  const auto* const data = reinterpret_cast<const std::byte*>(text.data());
  const stream::ConstBytes parts[] = {{data, bytes / 3}, {data + bytes / 3, bytes - bytes / 3}};
  end.ready->writable = false;
  const absl::StatusOr<size_t> taken = end.stream->Write(parts);
  if (!taken.ok()) return OnError(side, taken.status());
  end.said += *taken;
  if (*taken == bytes) end.ready->writable = true;
  world_.journal().See(*taken);
  world_.journal().Operation();
}

void Talk::Take(Side side, const stream::Buffer& buffer) {
  End& end = ends_[side];
  const auto* const bytes = reinterpret_cast<const char*>(buffer.data.get());
  for (size_t i = 0; i < buffer.size; ++i) {
    if (bytes[i] == ByteAt(number_, Other(side), end.heard + i)) continue;
    return world_.journal().Violate("talk ", number_, ": byte ", end.heard + i, " heard by side ", side,
                                    " is not what was said there");
  }
  end.heard += buffer.size;
}

void Talk::CheckWindow(Side side) {
  End& end = ends_[side];
  const uint64_t given_back = end.link->given_back(end.number);
  world_.journal().Check(end.window->MayBe(given_back), "talk ", number_, ": side ", side, " has given back ",
                         given_back, " bytes of its window of ", manner_.window, " when it had read ", end.heard);
}

void Talk::Hear(Side side, uint64_t most) {
  End& end = ends_[side];
  while (end.stream != nullptr && end.ready->readable && !end.at_end) {
    std::vector<stream::Buffer> buffers;
    end.ready->readable = false;
    const absl::Status status = end.stream->Read(most, buffers);
    world_.journal().See(static_cast<uint64_t>(status.code()));
    world_.journal().See(buffers.size());
    const uint64_t before = end.heard;
    for (const stream::Buffer& buffer : buffers) Take(side, buffer);
    end.window->OnRead(end.heard - before);
    CheckWindow(side);
    const End& other = ends_[Other(side)];
    world_.journal().Check(end.heard <= other.said, "talk ", number_, ": ", end.heard, " bytes heard of ", other.said);
    if (absl::IsOutOfRange(status)) return OnEnd(side);
    if (!status.ok()) return OnError(side, status);
    if (buffers.empty()) return;
    end.ready->readable = true;
    if (most != SIZE_MAX) return;
  }
}

void Talk::OnEnd(Side side) {
  End& end = ends_[side];
  end.at_end = true;
  const End& other = ends_[Other(side)];
  world_.journal().Check(other.closed && end.heard == other.said, "talk ", number_, ": an end after ", end.heard,
                         " of ", other.said, " bytes");
}

void Talk::OnError(Side side, const absl::Status& error) {
  End& end = ends_[side];
  const End& other = ends_[Other(side)];
  end.error = error;
  const bool told = other.aborted || (other.over && other.closed) || end.aborted;
  if (absl::IsAborted(error)) {
    world_.journal().Check(told || other.over || MayFail(), "talk ", number_, ": aborted by nobody: ", error.message());
  } else {
    world_.journal().Check(absl::IsUnavailable(error), "talk ", number_, ": ", error.ToString());
    // Who has heard all, or is not listened to, may be left alone with what it still says; so may a server whose client
    // has not attached: it may have left the link before it asked.
    const bool left = other.over || (other.stream == nullptr && (end.at_end || !other.leaving));
    world_.journal().Check(left || MayFail(), "talk ", number_, ": failed for no reason: ", error.message(), "; ",
                           ToString());
    world_.journal().Check(IsLoss(error.message()), "talk ", number_, ": failed for a bad reason: ", error.message());
  }
  end.over = true;
  end.stream.reset();
  Cut(side);
}

// As adapters do: what had arrived is read first.
void Talk::HearOfCut(Side side) {
  End& end = ends_[side];
  if (end.leaving) {
    // Without news of its end nobody learns that a peer is gone, as long as there is nothing to send.
    end.over |= MayFail() || !world_.announces_close();
    return;
  }
  if (end.stream == nullptr) {
    end.over = true;  // the negotiation came to nothing
    return;
  }
  if (end.at_end) return Abort(side);  // nobody listens any more
  if (!end.stream->Drain()) return;
  end.ready->readable = true;
  Hear(side, SIZE_MAX);
  if (end.stream == nullptr || end.at_end || end.stream->Coming()) return;
  const End& other = ends_[Other(side)];
  // Of a server that says nothing the end may come before its client has attached: who has gone does not tell it again.
  const bool said_nothing = other.said == 0;
  world_.journal().Check(!other.leaving || said_nothing || MayFail(), "talk ", number_, ": side ", side, " has lost ",
                         other.said - end.heard, " bytes that had reached it: ", ToString());
  Abort(side);
}

void Talk::Abort(Side side) {
  End& end = ends_[side];
  if (end.stream == nullptr) return;
  end.aborted = end.over = true;
  end.stream->Abort(absl::CancelledError("by chance"));
  end.stream.reset();
  Cut(side);
}

void Talk::Leave(Side side) {
  End& end = ends_[side];
  if (end.stream == nullptr || end.leaving) return;
  if (!end.closed) {
    end.aborted = end.over = true;
    end.stream.reset();
    return Cut(side);
  }
  // The other channel stays until the last words have got there.
  end.leaving = true;
  // Whether it has, whatever this says (a link that was left when all was done says no), the other end shows.
  end.stream->WhenReached([this, side](const absl::Status&) {
    ends_[side].over = true;
    Cut(side);
  });
  end.stream.reset();
}

void Talk::Die(Side side) {
  End& end = ends_[side];
  end.over = true;
  end.stream.reset();
  Cut(side);
}

std::string Talk::ToString() const {
  std::string text = absl::StrCat("talk ", number_, " of processes ", processes_[0], " and ", processes_[1], ":");
  for (const Side side : {kClient, kServer}) {
    const End& end = ends_[side];
    absl::StrAppend(&text, side == kClient ? " client" : "; server", " said ", end.said, " heard ", end.heard,
                    end.stream == nullptr ? ", no stream" : "", end.closed ? ", closed" : "",
                    end.at_end ? ", at the end" : "", end.leaving ? ", leaving" : "", end.over ? ", over" : "",
                    end.cut ? ", cut" : "", end.error.ok() ? "" : ", ", end.error.message());
  }
  return text;
}

}  // namespace skein::chaos
