// The tables name the bodies and forms of the houses that are built: a row without one fails the link, and none needs
// to register itself. Compiled into programs, not into the core's library.

#include <iterator>

#include "runtime/core/super/bodies.h"

namespace sial {
namespace {

constexpr SuperRow rows[] = {
#define SUPER(id, name, signatures, meaning) {id, #name, signatures, meaning, super_##name},
#include "tables/super_instructions.def"
#undef SUPER
};
consteval bool numbers_are_distinct() {
  for (const SuperRow* a = std::begin(rows); a != std::end(rows); ++a)
    for (const SuperRow* b = a + 1; b != std::end(rows); ++b)
      if (a->id == b->id) return false;
  return true;
}
static_assert(numbers_are_distinct(), "two super instructions have one number: the tables of all houses share them");
constexpr FormRow<ElementForm> forms_of_elements[] = {
#define ELEMENT_FORM(name) {#name, element_form_##name},
#include "tables/element_forms.def"
#undef ELEMENT_FORM
    {}};
constexpr FormRow<BlockFormMaker> forms_of_blocks[] = {
#define BLOCK_FORM(name) {#name, block_form_##name},
#include "tables/block_forms.def"
#undef BLOCK_FORM
    {}};

}  // namespace

std::span<const SuperRow> super_rows() { return rows; }
std::span<const FormRow<ElementForm>> element_forms() {
  return std::span(forms_of_elements).first(std::size(forms_of_elements) - 1);
}
std::span<const FormRow<BlockFormMaker>> block_forms() {
  return std::span(forms_of_blocks).first(std::size(forms_of_blocks) - 1);
}

}  // namespace sial
