// Names that peers chose, in quotes: whatever their bytes, a valid string of JSON and a valid label of Prometheus.
#ifndef SKEIN_CORE_TRACE_QUOTED_H_
#define SKEIN_CORE_TRACE_QUOTED_H_

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace skein::trace {

// What is not printable ASCII reads as C's escapes ("\xff"), so that different names stay different.
inline std::string Printable(absl::string_view name) { return absl::CHexEscape(name); }

// Of what is printable. Both formats ask for the same two escapes.
inline std::string InQuotes(absl::string_view printable) {
  return absl::StrCat("\"", absl::StrReplaceAll(printable, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}
inline std::string Quoted(absl::string_view name) { return InQuotes(Printable(name)); }

}  // namespace skein::trace

#endif  // SKEIN_CORE_TRACE_QUOTED_H_
