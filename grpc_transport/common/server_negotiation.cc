#include "grpc_transport/common/server_negotiation.h"

#include <string>
#include <utility>

#include "core/base/forked.h"
#include "core/connect/own_process.h"
#include "grpc_transport/common/offer_bytes.h"

namespace skein::grpc_transport {
namespace {

// A client speaks first, whoever it is. But gRPC 1.51 may see only after 5 s that its connection is made: while calls
// fail at once, none of the client's threads polls. A server that went on with HTTP/2 before would be taken for one
// without Skein.
constexpr absl::Duration kLeastPatience = absl::Seconds(10);

}  // namespace

void ServerNegotiation::Begin() {
  if (const Fallback why = connection_.Prevented(); why.code != FallbackCode::kNone) return FinishWithTcp(why);
  StartTimer(kLeastPatience);
  if (connection_.ReceivedBytes() > 0) return BytesCame();  // handed in from outside, already read from
  Read();
}

// A thread of a forked child's parent may have held the listener's locks. The answer tells the client.
stream::Listener::Result ServerNegotiation::Accept(absl::string_view offer) {
  if (InForkedChild()) return stream::Decline(connect::WhyNotForked());
  return streams().listener->Accept(offer, connection_.RouteNow(), connection_.Features());
}

void ServerNegotiation::BytesCame() {
  const std::string bytes = connection_.Received(kMaxHttp2OfferBytes);
  const Parsed framed = ParseFrame(bytes, connect::kMaxOfferBytes);
  const Parsed parsed = framed.beginning == Beginning::kOther ? ParseHttp2(bytes, connect::kMaxOfferBytes) : framed;
  switch (parsed.beginning) {
    case Beginning::kUndecided:
      return Read();
    case Beginning::kOther:
      return FinishWithTcp({FallbackCode::kNoOffer, {}});
    case Beginning::kMalformed:
      return Fail(Failure("skein: the peer's offer is malformed"));
    case Beginning::kWhole:
      break;
  }
  const bool is_hidden = framed.beginning == Beginning::kOther;
  // TLS refuses these bytes at once. On a stream the client would wait for HTTP/2's first words for ever.
  if (is_hidden && connection_.Secure()) {
    return FinishWithTcp({FallbackCode::kNoOffer, "the client speaks plaintext, and this server TLS"});
  }
  if (connection_.ReceivedBytes() > parsed.size) {
    // The client has gone on with HTTP/2 without the answer: this side was too slow.
    if (is_hidden) return FinishWithTcp({FallbackCode::kTimeout, "no answer was awaited"});
    return Fail(Failure("skein: the peer did not wait for the answer"));
  }
  connection_.WatchLinks();
  stream::Listener::Result result = Accept(parsed.payload);
  outcome_ = std::move(result.outcome);
  Step("answers", outcome_.stream != nullptr ? outcome_.stream->path() : ToString(outcome_.why));
  // HTTP/2 has begun if this side says no to an offer that hides in it, and only then.
  if (!is_hidden || outcome_.stream != nullptr) connection_.DropReceived(parsed.size);
  connection_.Write(Frame(result.answer));
}

void ServerNegotiation::Written() {
  if (outcome_.stream == nullptr) return FinishWithTcp(outcome_.why);
  if (InForkedChild()) return Fail(Failure("skein: forked during the negotiation"));  // the stream is the parent's
  FinishWithStream(std::move(outcome_));
}

// A silent client is somebody else's business.
void ServerNegotiation::TimedOut() { FinishWithTcp({FallbackCode::kTimeout, {}}); }

}  // namespace skein::grpc_transport
