#include "runtime/core/interp/context/printer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

#include <fmt/format.h>

#include "runtime/core/interp/context/view_ops.h"

namespace sial {
namespace {

constexpr int array_width = 14;  // of the values of whole arrays, in the original's formats

std::string digits(double value, PrintFormat format) {
  if (std::isnan(value)) return "nan";  // the sign of a NaN means nothing
  return format == PrintFormat::plain ? fmt::format("{}", value) : fmt::format("{:.14f}", value);
}
std::string digits(std::int32_t value, PrintFormat) { return std::to_string(value); }

}  // namespace

void Printer::end(bool newline) {
  if (newline) *out_ << '\n';
  out_->flush();
}

void Printer::string(std::string_view text, bool newline) {
  *out_ << text;
  if (format_ != PrintFormat::plain) *out_ << '\n';
  end(newline);
}

template <class T>
void Printer::named(std::string_view name, T value, std::int32_t line, std::string_view where) {
  const std::string v = digits(value, format_);
  switch (format_) {
    case PrintFormat::classic: *out_ << line << ":  " << name << " = " << v << where << '\n'; break;
    case PrintFormat::classic_test: *out_ << line << ":  " << name << '=' << v << where << '\n'; break;
    case PrintFormat::plain: *out_ << name << " = " << v << where; break;
  }
}

void Printer::scalar(std::string_view name, double value, std::int32_t line, bool newline, std::string_view where) {
  if (!name.empty()) {
    named(name, value, line, where);
  } else {
    *out_ << digits(value, format_);
    if (format_ != PrintFormat::plain) *out_ << '\n';
  }
  end(newline);
}

void Printer::integer(std::string_view name, std::int32_t value, std::int32_t line, bool newline) {
  if (!name.empty()) named(name, value, line);
  else *out_ << digits(value, format_);
  end(newline);
}

void Printer::block(std::string_view name, const ConstView& view, std::int32_t line, bool newline) {
  if (view_size(view) != 1) {
    rows("block", name, view, 0, line);
    return end(newline && format_ != PrintFormat::plain);
  }
  if (format_ != PrintFormat::plain) *out_ << line << (format_ == PrintFormat::classic_test ? ":  printing " : ":  ");
  *out_ << name << " = " << digits(view.data[0], format_);
  if (format_ != PrintFormat::plain) *out_ << '\n';
  end(newline);
}

void Printer::list(std::string_view head, std::span<const std::string> names, std::span<const double> values,
                   std::int32_t line, bool newline) {
  if (format_ != PrintFormat::plain) *out_ << line << ":  ";
  *out_ << head << '\n';
  for (std::size_t i = 0; i < names.size(); ++i) *out_ << names[i] << " = " << digits(values[i], format_) << '\n';
  end(newline && format_ != PrintFormat::plain);
}

void Printer::array(std::string_view name, const ConstView& view, std::int32_t line, bool newline) {
  if (format_ == PrintFormat::plain) return block(name, view, line, newline);
  rows("contiguous array", name, view, array_width, line);
  end(newline);
}

void Printer::rows(std::string_view what, std::string_view name, const ConstView& view, int width, std::int32_t line) {
  const bool plain = format_ == PrintFormat::plain;
  const std::int64_t size = view_size(view), shown = std::min(size, element_limit());
  if (plain) *out_ << name << ":\n";
  else
    *out_ << fmt::format("{}:  printing {} of {} elements of {} {} in the order stored in memory \n", line, shown, size,
                         what, name);
  const std::int64_t row = view.rank ? view.extent[0] : 1;
  std::array<std::int64_t, max_rank> at{};
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < shown; ++i) {
    const bool last = i + 1 == shown || (i + 1) % row == 0;
    *out_ << fmt::format("{:>{}}", digits(view.data[offset], format_), width);
    if (!plain || !last) *out_ << ' ';
    if (i + 1 == shown && shown < size) *out_ << "....";
    if (last) *out_ << '\n';
    for (int d = 0; d < view.rank; ++d) {
      offset += view.stride[d];
      if (++at[d] < view.extent[d]) break;
      offset -= view.stride[d] * view.extent[d];
      at[d] = 0;
    }
  }
}

}  // namespace sial
