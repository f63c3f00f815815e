#include "core/wire/ring_descriptor.h"

#include "absl/strings/str_cat.h"
#include "core/wire/bytes.h"
#include "core/wire/control.h"

namespace skein::wire {

std::string EncodeRingDescriptor(const RingDescriptor& descriptor) {
  std::string out;
  Put(out, descriptor.address);
  Put(out, descriptor.size);
  Put(out, descriptor.secret);
  Put(out, descriptor.rkey);
  Put(out, uint32_t{0});
  return out;
}

absl::StatusOr<RingDescriptor> DecodeRingDescriptor(absl::string_view bytes) {
  FieldReader reader(bytes);
  RingDescriptor descriptor;
  descriptor.address = reader.Take<uint64_t>();
  descriptor.size = reader.Take<uint64_t>();
  descriptor.secret = reader.Take<uint64_t>();
  descriptor.rkey = reader.Take<uint32_t>();
  const auto zero = reader.Take<uint32_t>();
  if (!reader.done() || zero != 0) return absl::DataLossError("malformed ring descriptor");
  if (descriptor.size == 0 || descriptor.size % kRingGranule != 0 || descriptor.size > kMaxRingBytes) {
    return absl::DataLossError(absl::StrCat("a ring of ", descriptor.size, " bytes"));
  }
  if (descriptor.address % 64 != 0 || descriptor.address > UINT64_MAX - descriptor.size - kControlBytes) {
    return absl::DataLossError("a ring at an impossible address");
  }
  return descriptor;
}

}  // namespace skein::wire
