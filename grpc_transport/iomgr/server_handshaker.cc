#include "grpc_transport/iomgr/server_handshaker.h"

#include <utility>

#include "core/base/forked.h"
#include "core/stream/own_process.h"
#include "grpc_transport/iomgr/errors.h"

namespace skein::grpc_transport {

void ServerHandshaker::Begin() {
  if (const Fallback why = Prevented(); why.code != FallbackCode::kNone) return FinishWithTcp(why);
  StartTimer();
  if (received_bytes() > 0) return OnBytes();  // a connection handed in from outside, already read from
  Read();
}

// A thread of a forked child's parent may have held the listener's locks. The answer tells the client.
stream::Listener::Result ServerHandshaker::Accept(absl::string_view offer) {
  if (InForkedChild()) return stream::Decline(stream::WhyNotForked());
  return streams().listener->Accept(offer, route(), features());
}

void ServerHandshaker::OnBytes() {
  const std::string bytes = received(kMaxHttp2OfferBytes);
  const Parsed framed = ParseFrame(bytes, stream::kMaxOfferBytes);
  const Parsed parsed = framed.beginning == Beginning::kOther ? ParseHttp2(bytes, stream::kMaxOfferBytes) : framed;
  switch (parsed.beginning) {
    case Beginning::kUndecided:
      return Read();
    case Beginning::kOther:
      return FinishWithTcp({FallbackCode::kNoOffer, {}});
    case Beginning::kMalformed:
      return Fail(Unavailable("skein: the peer's offer is malformed"));
    case Beginning::kWhole:
      break;
  }
  if (received_bytes() > parsed.size) {
    // The client has gone on with HTTP/2 without the answer: this side was too slow.
    if (framed.beginning == Beginning::kOther) return FinishWithTcp({FallbackCode::kTimeout, "no answer was awaited"});
    return Fail(Unavailable("skein: the peer did not wait for the answer"));
  }
  WatchLinks();
  stream::Listener::Result result = Accept(parsed.payload);
  outcome_ = std::move(result.outcome);
  // HTTP/2 has begun if this side says no to an offer that hides in it, and only then.
  if (framed.beginning == Beginning::kWhole || outcome_.stream != nullptr) DropReceived(parsed.size);
  Write(Frame(result.answer));
}

void ServerHandshaker::OnWritten() {
  if (outcome_.stream == nullptr) return FinishWithTcp(outcome_.why);
  FinishWithStream(std::move(outcome_));
}

// A silent client is somebody else's business.
void ServerHandshaker::OnTimeout() { FinishWithTcp({FallbackCode::kTimeout, {}}); }

}  // namespace skein::grpc_transport
