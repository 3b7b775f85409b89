#pragma once
// The print statements' formats. `classic` is the production format of the original runtime: every item ends its line,
// named values carry the source line, numbers have 14 decimals. `classic_test` is that of its test programs: no line number,
// no blanks round the sign, strings and anonymous values end the line only with println. `plain` prints shortest
// round-trip numbers and ends lines only with println. The stream is not owned and is flushed after every item.

#include <cstdint>
#include <iosfwd>
#include <string_view>

#include "runtime/kernels/block_op.h"

namespace sial {

enum class PrintFormat { classic, classic_test, plain };

class Printer {
 public:
  Printer(std::ostream& out, PrintFormat format) : out_(&out), format_(format) {}
  void string(std::string_view text, bool newline);
  /// `name` may be empty.
  void scalar(std::string_view name, double value, std::int32_t line, bool newline);
  void integer(std::string_view name, std::int32_t value, std::int32_t line, bool newline);
  /// Block, region or whole array; `name` as in `a[1,2]`.
  void elements(std::string_view name, const ConstView& view, std::int32_t line, bool newline);
  std::int64_t element_cap() const { return format_ == PrintFormat::classic_test ? 1024 : 1000000; }

 private:
  template <class T>
  void number(std::string_view name, T value, std::int32_t line, bool newline);
  std::ostream* out_;
  PrintFormat format_;
};

}  // namespace sial
