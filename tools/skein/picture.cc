#include "tools/skein/picture.h"

#include <cairo-svg.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/printable.h"

namespace skein {
namespace {

constexpr double kFontSize = 12;
constexpr double kPngScale = 2;           // sharp on today's screens
constexpr double kMostPngPixels = 32767;  // cairo's bound, in each direction

absl::Status Saved(cairo_status_t status, const std::string& file) {
  if (status == CAIRO_STATUS_SUCCESS) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot write ", file, ": ", cairo_status_to_string(status)));
}

}  // namespace

Picture::Picture(double width)
    : width_(width),
      unseen_(cairo_recording_surface_create(CAIRO_CONTENT_COLOR_ALPHA, nullptr)),
      measuring_(ContextOn(unseen_.get())) {}

Picture::Context Picture::ContextOn(cairo_surface_t* surface) {
  Context context(cairo_create(surface));
  cairo_select_font_face(context.get(), "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(context.get(), kFontSize);
  // Unhinted, letters are as wide at one scale as at another: what fits here, fits there.
  cairo_font_options_t* const options = cairo_font_options_create();
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_set_font_options(context.get(), options);
  cairo_font_options_destroy(options);
  return context;
}

void Picture::Fill(const Area& area, const Color& color) { shapes_.push_back({area, color, ""}); }

// cairo takes valid UTF-8, and draws nothing any more once it got anything else.
void Picture::Write(double x, double baseline, const std::string& text) {
  shapes_.push_back({{x, baseline, 0, 0}, {0, 0, 0}, Printable(text)});
}

double Picture::WidthOf(const std::string& text) const {
  cairo_text_extents_t extents;
  cairo_text_extents(measuring_.get(), Printable(text).c_str(), &extents);
  return extents.x_advance;
}

std::string Picture::Fitted(const std::string& text, double width) const {
  if (WidthOf(text) <= width) return text;
  size_t fits = 0;
  for (size_t more = text.size(); fits < more;) {
    const size_t middle = (fits + more + 1) / 2;
    if (WidthOf(absl::StrCat(text.substr(0, middle), "...")) <= width) {
      fits = middle;
    } else {
      more = middle - 1;
    }
  }
  return absl::StrCat(text.substr(0, fits), "...");
}

Area Picture::Drawn() const {
  const Surface surface(cairo_recording_surface_create(CAIRO_CONTENT_COLOR_ALPHA, nullptr));
  PaintShapes(ContextOn(surface.get()).get());
  Area area;
  cairo_recording_surface_ink_extents(surface.get(), &area.x, &area.y, &area.width, &area.height);
  return area;
}

void Picture::PaintShapes(cairo_t* context) const {
  for (const Shape& shape : shapes_) {
    cairo_set_source_rgb(context, shape.color.red, shape.color.green, shape.color.blue);
    if (shape.text.empty()) {
      cairo_rectangle(context, shape.area.x, shape.area.y, shape.area.width, shape.area.height);
      cairo_fill(context);
    } else {
      cairo_move_to(context, shape.area.x, shape.area.y);
      cairo_show_text(context, shape.text.c_str());
    }
  }
}

cairo_status_t Picture::PaintOn(cairo_surface_t* surface, double scale) const {
  const Context context = ContextOn(surface);
  cairo_set_source_rgb(context.get(), 1, 1, 1);
  cairo_paint(context.get());
  cairo_scale(context.get(), scale, scale);
  PaintShapes(context.get());
  return cairo_status(context.get());
}

absl::Status Picture::SaveAsSvg(const std::string& file) const {
  const Surface surface(cairo_svg_surface_create(file.c_str(), width_, height_));
  cairo_svg_surface_set_document_unit(surface.get(), CAIRO_SVG_UNIT_PX);
  const cairo_status_t painted = PaintOn(surface.get(), 1);
  cairo_surface_finish(surface.get());
  return Saved(painted == CAIRO_STATUS_SUCCESS ? cairo_surface_status(surface.get()) : painted, file);
}

absl::Status Picture::SaveAsPng(const std::string& file) const {
  const double height = std::ceil(height_ * kPngScale);
  if (height > kMostPngPixels) {
    return absl::ResourceExhaustedError(absl::StrCat("too much for ", file, ": a PNG is not that high; an SVG is"));
  }
  const Surface surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(std::ceil(width_ * kPngScale)),
                                                   static_cast<int>(height)));
  const cairo_status_t painted = PaintOn(surface.get(), kPngScale);
  return Saved(painted == CAIRO_STATUS_SUCCESS ? cairo_surface_write_to_png(surface.get(), file.c_str()) : painted,
               file);
}

}  // namespace skein
