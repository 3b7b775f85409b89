#pragma once
// Shared by the parts of the verifier: the module, its name for messages, and where in it we are. Each part assumes
// that the parts before it in verify_module() have passed.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "runtime/core/base/error.h"
#include "runtime/core/bytecode/layout.h"
#include "runtime/core/bytecode/module.h"

namespace sial::detail {

/// The loop and the part of the program that an instruction belongs to.
struct CodeShape {
  std::vector<std::int32_t> loop;  // innermost loop around the instruction or -1; a loop's begin belongs to the outside
  std::vector<std::int32_t> enclosing;  // per loop row: the loop around it or -1
  std::vector<std::int32_t> part;       // procedure row or -1 for the main body
  std::vector<char> in_where;           // between a loop's begin and its body_begin
};

class VerifyContext {
 public:
  VerifyContext(const Module& module, const std::string& name) : m(module), name_(name) {}

  const Module& m;

  /// Prefix of the messages that follow, e.g. "array 3".
  void at(const char* what, std::size_t row) {
    what_ = what;
    row_ = static_cast<std::int64_t>(row);
  }
  void at_module() { what_ = nullptr; }

  template <class... Args>
  void require(bool condition, fmt::format_string<Args...> text, Args&&... args) const {
    if (!condition) fail(fmt::format(text, std::forward<Args>(args)...));
  }

  [[noreturn]] void fail(const std::string& text) const {
    std::string place;
    if (what_ != nullptr) {
      place = fmt::format("{} {}", what_, row_);
      if (std::string_view(what_) == instruction) {
        const OpcodeInfo* info = opcode_info(m.code[static_cast<std::size_t>(row_)].op);
        if (info != nullptr) place += fmt::format(" ({})", info->name);
      }
      place += ": ";
    }
    throw SialError(fmt::format("`{}` is not a valid sialx module: {}{}", name_, place, text),
                    "compile the program again with sialc");
  }

  static constexpr const char* instruction = "instruction";

 private:
  const std::string& name_;
  const char* what_ = nullptr;
  std::int64_t row_ = 0;
};

template <class T>
bool in_table(std::int32_t row, const std::vector<T>& table) {
  return row >= 0 && static_cast<std::size_t>(row) < table.size();
}

template <class Tag, class T>
bool in_table(Id<Tag, std::int32_t> id, const std::vector<T>& table) {
  return in_table(id.number(), table);
}

void verify_tables(VerifyContext& c);
void verify_operands(VerifyContext& c);
CodeShape verify_structure(VerifyContext& c);
void verify_blocks(VerifyContext& c);
void verify_calls(VerifyContext& c, const CodeShape& shape);
void verify_slices(VerifyContext& c, const CodeShape& shape);

}  // namespace sial::detail
