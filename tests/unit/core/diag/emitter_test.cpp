// -W options: what is reported, as what, and which of two options wins.

#include <catch2/catch.hpp>

#include "compiler/diag/diagnostic.h"
#include "compiler/diag/table.h"

using namespace sial;

namespace {

enum class Outcome { dropped, warning, error };

Outcome outcome(const WarningOptions& options, Code code) {
  Emitter emitter(options);
  emitter.report(code, {}, "message").notes.push_back({{}, "notes on dropped warnings go nowhere"});
  CHECK(static_cast<int>(emitter.all().size()) == emitter.error_count() + emitter.warning_count());
  if (emitter.has_errors()) return Outcome::error;
  return emitter.warning_count() > 0 ? Outcome::warning : Outcome::dropped;
}

}  // namespace

TEST_CASE("rows have their severities") {
  CHECK(outcome({}, Code::E_DUP) == Outcome::error);
  CHECK(outcome({}, Code::W_UNUSED_ARRAY) == Outcome::warning);
}

TEST_CASE("warnings can be switched off, one by one, by family, and all") {
  WarningOptions one, family, all;
  one.disabled = {"unused-array"};
  CHECK(outcome(one, Code::W_UNUSED_ARRAY) == Outcome::dropped);
  CHECK(outcome(one, Code::W_UNUSED_PROC) == Outcome::warning);
  family.disabled = {"unused"};
  CHECK(outcome(family, Code::W_UNUSED_ARRAY) == Outcome::dropped);
  CHECK(outcome(family, Code::W_UNUSED_PROC) == Outcome::dropped);
  CHECK(outcome(family, Code::W_ASSIGN_REMOTE) == Outcome::warning);
  all.none = true;
  CHECK(outcome(all, Code::W_ASSIGN_REMOTE) == Outcome::dropped);
  CHECK(outcome(all, Code::E_DUP) == Outcome::error);
}

TEST_CASE("the exact name wins over the family") {
  WarningOptions options;
  options.disabled = {"unused"};
  options.enabled = {"unused-array"};
  CHECK(outcome(options, Code::W_UNUSED_ARRAY) == Outcome::warning);
  CHECK(outcome(options, Code::W_UNUSED_PROC) == Outcome::dropped);
  options.disabled = {"unused-array"};
  options.enabled = {"unused"};
  CHECK(outcome(options, Code::W_UNUSED_ARRAY) == Outcome::dropped);
}

TEST_CASE("warnings become errors, by name, family, or all") {
  WarningOptions options;
  options.as_error = {"phase"};
  CHECK(outcome(options, Code::W_PHASE_PUT_RACE) == Outcome::error);
  CHECK(outcome(options, Code::W_UNUSED_ARRAY) == Outcome::warning);
  options.as_error = {"unused-array"};
  CHECK(outcome(options, Code::W_UNUSED_ARRAY) == Outcome::error);
  options.as_error = {};
  options.all_errors = true;
  CHECK(outcome(options, Code::W_UNUSED_ARRAY) == Outcome::error);
  options.disabled = {"unused-array"};
  CHECK(outcome(options, Code::W_UNUSED_ARRAY) == Outcome::dropped);
}

TEST_CASE("strict warnings are asked for") {
  CHECK(outcome({}, Code::W_OUTER_PRODUCT) == Outcome::dropped);
  WarningOptions family, own, error;
  family.enabled = {"strict"};
  own.enabled = {"outer-product"};
  error.as_error = {"outer-product"};
  CHECK(outcome(family, Code::W_OUTER_PRODUCT) == Outcome::warning);
  CHECK(outcome(own, Code::W_OUTER_PRODUCT) == Outcome::warning);
  CHECK(outcome(error, Code::W_OUTER_PRODUCT) == Outcome::error);
}
