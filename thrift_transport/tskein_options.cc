#include <skein/thrift/options.h>
#include <thrift/transport/TTransportException.h>
#include <unistd.h>

#include <atomic>

#include "core/base/options.h"
#include "thrift_transport/thrift_output.h"

namespace skein::thrift_transport {
namespace {

using apache::thrift::transport::TTransportException;

[[noreturn]] void Refuse(absl::string_view why) {
  throw TTransportException(TTransportException::BAD_ARGS, "skein: " + std::string(why));
}

void WarnOnce(const std::string& warning) {
  static std::atomic<bool> warned{false};  // relaxed: of two threads, one warns
  if (!warned.exchange(true, std::memory_order_relaxed)) {
    ThriftOutput().printf("skein: %s", warning.c_str());
  }
}

}  // namespace

TSkeinOptions::TSkeinOptions() {
  Options options;
  options.mode = Mode::kPrefer;
  const EnvironmentOptions environment = OptionsFromEnvironment(options, "SKEIN_THRIFT", environ);
  error_ = std::string(environment.error.message());
  options_ = std::make_shared<const Options>(environment.options);
  if (options_->mode != Mode::kOff && !environment.warning.empty()) WarnOnce(environment.warning);
}

TSkeinOptions& TSkeinOptions::set(const std::string& name, const std::string& value) {
  auto options = std::make_shared<Options>(*options_);
  if (absl::Status status = SetOption(*options, name, value); !status.ok()) Refuse(status.message());
  options_ = std::move(options);
  return *this;
}

const Options& TSkeinOptions::get() const {
  if (!error_.empty() && options_->mode != Mode::kOff) Refuse(error_);
  return *options_;
}

}  // namespace skein::thrift_transport
