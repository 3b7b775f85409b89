#include "runtime/interp/printer.h"

#include <array>
#include <cmath>
#include <ostream>

#include <fmt/format.h>

#include "runtime/interp/view_ops.h"

namespace sial {
namespace {

std::string digits(double value, PrintFormat format) {
  if (std::isnan(value)) return "nan";  // the sign of a NaN means nothing
  return format == PrintFormat::plain ? fmt::format("{}", value) : fmt::format("{:.14f}", value);
}
std::string digits(std::int32_t value, PrintFormat) { return std::to_string(value); }

}  // namespace

void Printer::string(std::string_view text, bool newline) {
  *out_ << text;
  if (newline || format_ == PrintFormat::classic) *out_ << '\n';
  out_->flush();
}

template <class T>
void Printer::number(std::string_view name, T value, std::int32_t line, bool newline) {
  const std::string v = digits(value, format_);
  bool end = newline || format_ == PrintFormat::classic;
  if (name.empty()) {
    *out_ << v;
  } else if (format_ == PrintFormat::classic) {
    *out_ << line << ":  " << name << " = " << v;
  } else if (format_ == PrintFormat::classic_test) {
    *out_ << name << '=' << v;
    end = true;
  } else {
    *out_ << name << " = " << v;
  }
  if (end) *out_ << '\n';
  out_->flush();
}

void Printer::scalar(std::string_view name, double value, std::int32_t line, bool newline) { number(name, value, line, newline); }
void Printer::integer(std::string_view name, std::int32_t value, std::int32_t line, bool newline) { number(name, value, line, newline); }

void Printer::elements(std::string_view name, const ConstView& view, std::int32_t line, bool newline) {
  const std::int64_t size = view_size(view);
  if (size == 1) {
    *out_ << name << " = " << digits(view.data[0], format_);
    if (newline || format_ != PrintFormat::plain) *out_ << '\n';
    out_->flush();
    return;
  }
  const std::int64_t shown = std::min(size, element_cap());
  if (format_ == PrintFormat::plain)
    *out_ << name << ':';
  else
    *out_ << line << ":  printing " << shown << " of " << size << " elements of block " << name << " in the order stored in memory ";
  *out_ << '\n';
  const std::int64_t row = view.rank ? view.extent[0] : 1;
  std::array<std::int64_t, max_rank> at{};
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < shown; ++i) {
    *out_ << digits(view.data[offset], format_);
    *out_ << (i + 1 == shown || (i + 1) % row == 0 ? '\n' : ' ');
    for (int d = 0; d < view.rank; ++d) {
      offset += view.stride[d];
      if (++at[d] < view.extent[d]) break;
      offset -= view.stride[d] * view.extent[d];
      at[d] = 0;
    }
  }
  out_->flush();
}

}  // namespace sial
