// Where Thrift, and Skein in it, says what goes wrong. Thrift 0.24 has a function for what was a global object.
#ifndef SKEIN_THRIFT_TRANSPORT_THRIFT_OUTPUT_H_
#define SKEIN_THRIFT_TRANSPORT_THRIFT_OUTPUT_H_

#include <thrift/Thrift.h>

namespace skein::thrift_transport {

inline apache::thrift::TOutput& ThriftOutput() {
#if __has_include(<thrift/TUuid.h>)  // 0.24 has no number that the preprocessor can read
  return apache::thrift::TOutput::instance();
#else
  return apache::thrift::GlobalOutput;
#endif
}

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_TRANSPORT_THRIFT_OUTPUT_H_
