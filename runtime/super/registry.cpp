#include "runtime/super/registry.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "runtime/base/error.h"
#include "runtime/job/names.h"
#include "runtime/super/bodies.h"

namespace sial {
namespace {

// The table names the bodies: a row without one fails the link, and no body needs to register itself.
constexpr SuperRow super_table[] = {
#define SUPER(id, name, signatures, meaning) {id, #name, signatures, meaning, super_##name},
#include "runtime/super/super_instructions.def"
#undef SUPER
};
template <class Form>
struct FormRow {
  std::string_view name;
  Form form;
};
template <class Form>
Form find_form(std::span<const FormRow<Form>> forms, std::string_view name) {
  const std::string wanted = lower_case(name);
  const auto row = std::find_if(forms.begin(), forms.end(), [&](const FormRow<Form>& r) { return wanted == r.name; });
  return row == forms.end() ? nullptr : row->form;
}

static_assert(std::is_sorted(std::begin(super_table), std::end(super_table),
                             [](const SuperRow& a, const SuperRow& b) { return a.id < b.id; }));

}  // namespace

std::span<const SuperRow> super_rows() { return super_table; }

const SuperRow* find_super(std::string_view name) {
  std::string wanted = lower_case(name);
  auto row =
      std::find_if(std::begin(super_table), std::end(super_table), [&](const SuperRow& r) { return wanted == r.name; });
  return row == std::end(super_table) ? nullptr : row;
}

ElementForm find_element_form(std::string_view name) {
  static constexpr FormRow<ElementForm> forms[] = {
#define ELEMENT_FORM(name) {#name, element_form_##name},
#include "runtime/super/element_forms.def"
#undef ELEMENT_FORM
  };
  return find_form<ElementForm>(forms, name);
}

BlockFormMaker find_block_form(std::string_view name) {
  static constexpr FormRow<BlockFormMaker> forms[] = {
#define BLOCK_FORM(name) {#name, block_form_##name},
#include "runtime/super/block_forms.def"
#undef BLOCK_FORM
  };
  return find_form<BlockFormMaker>(forms, name);
}

std::vector<std::string> close_super_names(std::string_view name, std::vector<std::string_view> more) {
  for (const SuperRow& r : super_table) more.emplace_back(r.name);
  return close_names(lower_case(name), more);
}

const Molecule& require_molecule(SuperContext& context) {
  if (!context.job().has_molecule)
    throw SialError("this job has no molecule", "give one in [molecule] of the job file: xyz and basis");
  return context.job().molecule;
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
