// Other declarations of arrays: the text of a source, and which of a job's arrays may change and change together.

#include <catch2/catch.hpp>

#include "compiler/pipeline/pipeline.h"
#include "compiler/report/advice/block_statements.h"

using namespace sial;

namespace {

report::Redeclaration change(const std::string& array, std::vector<int> order) {
  return {"p", array, "", "", std::move(order), ""};
}

/// A program of the job, compiled from its text.
report::JobProgram program(const std::string& name, const std::string& text) {
  report::JobProgram p;
  p.name = name;
  p.texts[name + ".sialx"] = text;
  for (const int level : {0, 2}) {
    CompileOptions options;
    options.optimisation = level;
    options.texts = &p.texts;
    SourceManager sources;
    Emitter emitter;
    auto module = compile_file(name + ".sialx", options, sources, emitter).module;
    REQUIRE(module.has_value());
    (level == 0 ? p.unoptimized : p.module) = std::move(module);
  }
  return p;
}

const char* const head = "predefined int n\naoindex i = 1:n\naoindex j = 1:n\naoindex k = 1:n\n";

}  // namespace

TEST_CASE("references take a new order of indices, comments and strings do not") {
  const std::vector<report::Redeclaration> changes{change("v", {0, 2, 1}), change("ww", {1, 0})};
  CHECK(report::redeclared("temp v[i, j,k]  # v[i,j,k]\nprint \"v[i,j,k]\"\nV[i,(index)k,j] = vv[i,j,k]*ww [j,i]\n",
                           changes) ==
        "temp v[i,k,j]  # v[i,j,k]\nprint \"v[i,j,k]\"\nV[i,j,(index)k] = vv[i,j,k]*ww [i,j]\n");
  CHECK(report::redeclared("set_persistent v \"v\"\nallocate v[*,*,k]", changes) ==
        "set_persistent v \"v\"\nallocate v[*,k,*]");
  CHECK(report::redeclared("", changes) == "");
  CHECK_FALSE(report::redeclared("v[i,j]", changes).has_value());
  CHECK_FALSE(report::redeclared("v[i,j,k", changes).has_value());
}

TEST_CASE("orders of orders") {
  CHECK(report::composed({2, 0, 1}, {2, 0, 1}) == report::Order{1, 2, 0});
  CHECK(report::composed({2, 0, 1}, report::identity(3)) == report::Order{2, 0, 1});
}

TEST_CASE("what puts, sums, labels and super instructions ask of orders") {
  report::Job job;
  job.programs.push_back(program(
      "one",
      std::string("sial one\nspecial check_dconf ru\n") + head +
          "distributed d[i,j]\ntemp t[i,j]\ntemp u[i,j]\ntemp seen[i,j]\ntemp free[i,j]\nstatic kept[i,j]\nstatic alone[i,j]\npredefined static given[i,j]\nscalar x\n"
          "pardo i, j\n  t[i,j] = 1.0\n  u[i,j] = 2.0\n  free[j,i] = t[i,j]\n  put d[i,j] = t[i,j]\n  seen[i,j] = u[i,j]\n"
          "  execute check_dconf seen[i,j] x\nendpardo i, j\ndo i\ndo j\nkept[i,j] = 1.0\nalone[i,j] = given[i,j]\nenddo j\nenddo i\n"
          "set_persistent kept \"kept\"\nset_persistent alone \"alone\"\nendsial one\n"));
  job.programs.push_back(program(
      "two",
      std::string("sial two\n") + head +
          "static mine[i,j]\nscalar x\nrestore_persistent mine \"kept\"\ndo i\ndo j\nx += mine[i,j]*mine[i,j]\nenddo j\nenddo i\nprintln x\nendsial two\n"));
  const report::ArrayClasses classes(job);
  CHECK(classes.of(0, "d") >= 0);
  CHECK(classes.of(0, "d") == classes.of(0, "t"));  // a put does not permute
  CHECK(classes.of(0, "free") >= 0);
  CHECK(classes.of(0, "free") != classes.of(0, "t"));  // an assignment does
  CHECK(classes.of(0, "seen") == -1);                  // the order of an argument means something
  CHECK(classes.of(0, "given") == -1);
  CHECK(classes.of(0, "kept") >= 0);
  CHECK(classes.of(0, "kept") == classes.of(1, "mine"));
  CHECK(classes.of(0, "alone") == -1);  // another job may read it
  // A program that was not found may use any label.
  job.programs.push_back({});
  CHECK(report::ArrayClasses(job).of(0, "kept") == -1);
  CHECK(report::ArrayClasses(job).of(0, "d") >= 0);
}
