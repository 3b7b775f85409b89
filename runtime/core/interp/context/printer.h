#pragma once
// The print statements' formats. `classic` is the production format of the original runtime, `classic_test` that of its
// test programs; they differ in the blanks round the sign of a named value, in the words before a block of one element,
// and in how many elements of an array they show. In both, `println` ends the line once more than `print`. `plain`
// prints shortest round-trip numbers and ends lines only with println. The stream is not owned and is flushed after
// every item.

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

#include "runtime/core/kernels/interface/block_op.h"

namespace sial {

enum class PrintFormat { classic, classic_test, plain };

class Printer {
 public:
  Printer(std::ostream& out, PrintFormat format) : out_(&out), format_(format) {}
  void string(std::string_view text, bool newline);
  /// `name` may be empty.
  /// `where` follows the value.
  void scalar(std::string_view name, double value, std::int32_t line, bool newline, std::string_view where = {});
  void integer(std::string_view name, std::int32_t value, std::int32_t line, bool newline);
  /// Block or region; `name` as in `a[1,2]`. In the original's formats a block over simple indices alone is a scalar.
  void block(std::string_view name, const ConstView& view, std::int32_t line, bool newline);
  /// A line of its own, then lines of `name = value`.
  void list(std::string_view head, std::span<const std::string> names, std::span<const double> values,
            std::int32_t line, bool newline);
  /// A whole static or contiguous array.
  void array(std::string_view name, const ConstView& view, std::int32_t line, bool newline);
  bool is_classic() const { return format_ != PrintFormat::plain; }
  std::int64_t element_limit() const { return format_ == PrintFormat::classic_test ? 1024 : 1000000; }

 private:
  template <class T>
  void named(std::string_view name, T value, std::int32_t line, std::string_view where = {});
  void rows(std::string_view what, std::string_view name, const ConstView& view, int width, std::int32_t line);
  void end(bool newline);
  std::ostream* out_;
  PrintFormat format_;
};

}  // namespace sial
