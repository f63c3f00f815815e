// How Skein's Thrift transports behave. Every option of docs/options.md can be set here by its name; others come from
// the environment (SKEIN_THRIFT for the mode, SKEIN_<NAME> for the others), and the rest from the table. Only the mode
// differs: its default is prefer, for a program that swaps the class wants Skein used.
#ifndef SKEIN_THRIFT_OPTIONS_H_
#define SKEIN_THRIFT_OPTIONS_H_

#include <skein/export.h>

#include <memory>
#include <string>

namespace skein {
struct Options;
}

namespace skein::thrift_transport {

// A value. Not thread-safe.
class SKEIN_EXPORT TSkeinOptions {
 public:
  // Reads the environment. get() tells of a wrong value there; variables that are no options are a warning to
  // Thrift's log (GlobalOutput, or TOutput::instance()), once a process.
  TSkeinOptions();

  // set("mode", "require").set("window_bytes", "4194304"). TTransportException (BAD_ARGS): no such option, with the
  // nearest that there is; or no such value, with what is allowed.
  TSkeinOptions& set(const std::string& name, const std::string& value);

  // For the transports. TTransportException (BAD_ARGS): a SKEIN_* variable is wrong, and the mode is not off.
  const Options& get() const;

 private:
  std::shared_ptr<const Options> options_;
  std::string error_;
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_OPTIONS_H_
