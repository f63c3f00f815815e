#include "core/trace/stage.h"

namespace skein::trace {
namespace {

constexpr std::array<absl::string_view, kStages> kNames = {
    "submitted",   "queued",       "led",          "posted",        "arrived",   "dispatched", "handler start",
    "handler end", "reply queued", "reply posted", "reply arrived", "delivered", "released",   "persisted"};

}  // namespace

absl::string_view StageName(Stage stage) { return kNames[static_cast<size_t>(stage)]; }

}  // namespace skein::trace
