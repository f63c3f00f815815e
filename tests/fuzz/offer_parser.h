// What both parsers of a connection's first bytes promise.
#ifndef SKEIN_TESTS_FUZZ_OFFER_PARSER_H_
#define SKEIN_TESTS_FUZZ_OFFER_PARSER_H_

#include "grpc_transport/common/offer_bytes.h"
#include "tests/fuzz/fuzz_target.h"

namespace skein::fuzz {

using Parser = grpc_transport::Parsed (*)(absl::string_view bytes, size_t max_payload);

inline void CheckParser(Parser parse, absl::string_view bytes, size_t max_payload) {
  using grpc_transport::Beginning;
  const grpc_transport::Parsed parsed = parse(bytes, max_payload);
  if (parsed.beginning == Beginning::kWhole) {
    Require(!parsed.payload.empty() && parsed.payload.size() <= max_payload, "a payload's size");
    Require(parsed.size <= bytes.size() && parsed.payload.size() < parsed.size, "inside what was received");
    Require(parse(bytes.substr(0, parsed.size - 1), max_payload).beginning == Beginning::kUndecided,
            "whole not before its last byte");
  }
  // Bytes arrive in pieces: what has been decided stays so.
  for (size_t step = 1; step <= 8; ++step) {
    const grpc_transport::Parsed earlier = parse(bytes.substr(0, bytes.size() * step / 9), max_payload);
    if (earlier.beginning == Beginning::kUndecided) continue;
    Require(earlier.beginning == parsed.beginning && earlier.payload == parsed.payload && earlier.size == parsed.size,
            "more bytes change no verdict");
  }
}

}  // namespace skein::fuzz

#endif  // SKEIN_TESTS_FUZZ_OFFER_PARSER_H_
