#include "core/inspect/live_paths.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/forked.h"
#include "core/inspect/attachment.h"
#include "core/inspect/control.h"
#include "core/inspect/tracing.h"
#include "core/trace/probes.h"

namespace skein::inspect {
namespace {

// What is between the path and the program. (Calls are below HTTP/2 only where there is no TLS.)
std::string Layers(const LivePath& path) {
  if (path.below_http2) return "calls";
  return path.secure ? "secure" : "plain";
}

constexpr size_t kPathFields = 7;

}  // namespace

LivePaths& LivePaths::Get() {
  BeginUse();
  static auto* const paths = [] {
    auto* const made = new LivePaths;
    HandleTracing();
    Handle("paths", [made](absl::string_view) { return EncodePaths(made->List()); });
    return made;
  }();
  return *paths;
}

std::unique_ptr<LivePaths::Entry> LivePaths::Add(LivePath path) {
  trace::probes::Connected(path.framework.c_str(), path.client, path.peer.c_str(), path.path.c_str(), path.why.c_str());
  if (InForkedChild()) return nullptr;
  MutexLock lock(&mu_);
  paths_.emplace(++last_number_, std::move(path));
  return std::make_unique<Entry>(this, last_number_);
}

std::vector<LivePath> LivePaths::List() const {
  if (InForkedChild()) return {};
  MutexLock lock(&mu_);
  std::vector<LivePath> list;
  list.reserve(paths_.size());
  for (const auto& [number, path] : paths_) list.push_back(path);
  return list;
}

void LivePaths::Remove(uint64_t number) {
  MutexLock lock(&mu_);
  paths_.erase(number);
}

// Peers have a part in addresses and reasons: escaped, none has a tab or an end of line in it.
std::string EncodePaths(const std::vector<LivePath>& paths) {
  std::string text;
  for (const LivePath& path : paths) {
    const std::string fields[kPathFields] = {
        path.framework, path.client ? "client" : "server", path.local, path.peer, path.path, Layers(path), path.why};
    absl::StrAppend(&text, absl::StrJoin(fields, "\t", [](std::string* out, const std::string& field) {
      absl::StrAppend(out, absl::CHexEscape(field));
    }));
    text += '\n';
  }
  return text;
}

absl::StatusOr<std::vector<LivePath>> DecodePaths(absl::string_view text) {
  std::vector<LivePath> paths;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    std::vector<std::string> fields = absl::StrSplit(line, '\t');
    if (fields.size() != kPathFields) return absl::DataLossError("a path of another form");
    for (std::string& field : fields) {
      std::string plain;
      if (!absl::CUnescape(field, &plain)) return absl::DataLossError("a path of another form");
      field = std::move(plain);
    }
    paths.push_back({std::move(fields[0]), fields[1] == "client", std::move(fields[2]), std::move(fields[3]),
                     std::move(fields[4]), std::move(fields[6]), fields[5] == "secure", fields[5] == "calls"});
  }
  return paths;
}

absl::StatusOr<std::vector<LivePath>> AskPaths(pid_t process) {
  const absl::StatusOr<std::string> text = Ask(process, "paths");
  return text.ok() ? DecodePaths(*text) : text.status();
}

}  // namespace skein::inspect
