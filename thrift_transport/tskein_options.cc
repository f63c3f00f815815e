#include "thrift_transport/tskein_options.h"

#include <unistd.h>

#include "core/base/options.h"
#include "thrift/transport/TTransportException.h"

namespace skein::thrift_transport {
namespace {

using apache::thrift::transport::TTransportException;

[[noreturn]] void Refuse(absl::string_view why) {
  throw TTransportException(TTransportException::BAD_ARGS, "skein: " + std::string(why));
}

}  // namespace

TSkeinOptions::TSkeinOptions() {
  Options options;
  options.mode = Mode::kPrefer;
  absl::StatusOr<Options> all = OptionsFromEnvironment(options, "SKEIN_THRIFT", environ);
  if (!all.ok()) error_ = std::string(all.status().message());
  options_ = std::make_shared<const Options>(all.ok() ? *all : options);
}

TSkeinOptions& TSkeinOptions::set(const std::string& name, const std::string& value) {
  auto options = std::make_shared<Options>(*options_);
  if (absl::Status status = SetOption(*options, name, value); !status.ok()) Refuse(status.message());
  options_ = std::move(options);
  return *this;
}

const Options& TSkeinOptions::get() const {
  if (!error_.empty()) Refuse(error_);
  return *options_;
}

}  // namespace skein::thrift_transport
