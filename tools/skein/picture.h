// Rectangles and lines of text, as SVG and as PNG.
#ifndef SKEIN_TOOLS_SKEIN_PICTURE_H_
#define SKEIN_TOOLS_SKEIN_PICTURE_H_

#include <cairo.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace skein {

struct Color {
  double red;
  double green;
  double blue;
};

struct Area {
  double x;
  double y;
  double width;
  double height;
};

// Is put together once, then painted on whatever is asked for: all look the same. In pixels of 1/96 inch, from the
// upper left corner. Text may be any bytes.
class Picture {
 public:
  explicit Picture(double width);

  void Fill(const Area& area, const Color& color);
  // From `x` on, upon `baseline`.
  void Write(double x, double baseline, const std::string& text);
  // How wide Write makes it.
  double WidthOf(const std::string& text) const;
  // As much from its beginning as is no wider than that, with dots for the rest.
  std::string Fitted(const std::string& text, double width) const;

  double width() const { return width_; }
  double height() const { return height_; }
  void set_height(double height) { height_ = height; }
  // Where anything has been drawn, on the paper or not.
  Area Drawn() const;

  // RESOURCE_EXHAUSTED: it is too high for a PNG. UNAVAILABLE: the file cannot be written.
  absl::Status SaveAsSvg(const std::string& file) const;
  absl::Status SaveAsPng(const std::string& file) const;

 private:
  struct Destroy {
    void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
    void operator()(cairo_t* context) const { cairo_destroy(context); }
  };
  using Surface = std::unique_ptr<cairo_surface_t, Destroy>;
  using Context = std::unique_ptr<cairo_t, Destroy>;

  // A line of text from the area's corner on, or else the area in its colour. Kept here: cairo 1.16 has surfaces that
  // keep what is drawn on them, and loses them when they become an SVG.
  struct Shape {
    Area area;
    Color color;
    std::string text;
  };

  static Context ContextOn(cairo_surface_t* surface);
  cairo_status_t PaintOn(cairo_surface_t* surface, double scale) const;
  void PaintShapes(cairo_t* context) const;

  double width_;
  double height_ = 0;
  std::vector<Shape> shapes_;
  Surface unseen_;
  Context measuring_;  // text, on unseen_
};

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_PICTURE_H_
