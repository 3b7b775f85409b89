#include "runtime/core/super/registry.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/names.h"
#include "runtime/core/super/bodies.h"

namespace sial {
namespace {

template <class Form>
Form find_form(std::span<const FormRow<Form>> forms, std::string_view name) {
  const std::string wanted = lower_case(name);
  const auto row = std::find_if(forms.begin(), forms.end(), [&](const FormRow<Form>& r) { return wanted == r.name; });
  return row == forms.end() ? nullptr : row->form;
}

}  // namespace

const SuperRow* find_super(std::string_view name) {
  const std::string wanted = lower_case(name);
  const auto row = std::ranges::find_if(super_rows(), [&](const SuperRow& r) { return wanted == r.name; });
  return row == super_rows().end() ? nullptr : &*row;
}

ElementForm find_element_form(std::string_view name) { return find_form(element_forms(), name); }
BlockFormMaker find_block_form(std::string_view name) { return find_form(block_forms(), name); }

std::vector<std::string> close_super_names(std::string_view name, std::vector<std::string_view> more) {
  for (const SuperRow& r : super_rows()) more.emplace_back(r.name);
  return close_names(lower_case(name), more);
}

std::string describe(const SuperArg& arg, int position) {
  if (arg.name.empty()) return fmt::format("argument {}", position + 1);
  if (arg.is_scalar || arg.whole_array) return fmt::format("`{}`", arg.name);
  std::string text = fmt::format("`{}[", arg.name);
  for (int d = 0; d < arg.shape.rank; ++d) text += fmt::format("{}{}", d ? "," : "", arg.segment[d]);
  return text + "]`";
}

void expect_arguments(std::span<const SuperArg> args, std::initializer_list<Expect> expected) {
  if (args.size() != expected.size())
    throw SialError(
        fmt::format("takes {} argument{}, found {}", expected.size(), expected.size() == 1 ? "" : "s", args.size()));
  int i = 0;
  for (Expect e : expected) {
    const SuperArg& a = args[i];
    if (e == Expect::scalar && a.shape.size() != 1)
      throw SialError(fmt::format("argument {} must be a scalar, found {} with {} elements", i + 1, describe(a, i),
                                  a.shape.size()));
    if (e != Expect::scalar && a.is_scalar)
      throw SialError(
          fmt::format("argument {} must be a block or a static array, found the scalar {}", i + 1, describe(a, i)));
    if (e == Expect::matrix && a.shape.rank != 2)
      throw SialError(
          fmt::format("argument {} must have two dimensions, found {} with {}", i + 1, describe(a, i), a.shape.rank));
    ++i;
  }
}

}  // namespace sial
