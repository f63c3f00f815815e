// Who listens at either end of a link, and so whether a message has to ring. ring/ alone asks: in shared memory a
// reader says in a word of its own that it sleeps.
//
// A message that rings is a WRITE_WITH_IMM: its reader, asleep on its completion queue, wakes. One that does not is a
// WRITE: less for both NICs and for the reader's processor, but only a reader that looks at the ring sees it. Two rules
// make sure that none of them lies there unseen:
//
//   1. A reader says in its control line whether it is awake: that it is, before its next message; and before it
//      sleeps, that it is no longer.
//   2. Only a writer that is *quiet* leaves out the notification: it polls, runs nobody else's code meanwhile, and so
//      hears soon that the reader has gone to sleep; then it rings for what the reader has not read. When it stops
//      being quiet it rings, too, whatever it has heard.
//
// The reader's line and the writer's message may cross. Rule 2 keeps every message from being lost; rule 1 only spares
// the writer a long wait while the reader sleeps. A reader that never sleeps says so, and need never be rung.
#ifndef SKEIN_CORE_CHANNEL_NOTIFICATION_SUPPRESSION_H_
#define SKEIN_CORE_CHANNEL_NOTIFICATION_SUPPRESSION_H_

#include <atomic>
#include <cstdint>

#include "core/wire/control.h"

namespace skein::channel {

using wire::Presence;

// This end's, of a link. Each is changed first, and then the sender's place is entered; senders look at them in that
// place. So relaxed: a message that was posted before the change is seen by the thread that
// changed it, and the sender of a later one sees the change.
struct NotificationSuppression {
  std::atomic<Presence> presence = Presence::kMaySleep;
  std::atomic<bool> quiet = false;
  // Not this end's: the peer wants to know when messages were posted. By the poller; a hint.
  std::atomic<bool> peer_traces = false;
};

// Whether a message to a reader of that presence has to ring.
constexpr bool MustRing(Presence reader, bool quiet) {
  return reader == Presence::kMaySleep || (reader == Presence::kAwake && !quiet);
}

}  // namespace skein::channel

#endif  // SKEIN_CORE_CHANNEL_NOTIFICATION_SUPPRESSION_H_
