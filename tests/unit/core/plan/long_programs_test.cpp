// Compiling takes time in proportion to the length of a program, whatever it has more of. Counted, not timed: what the
// analysis of lifetimes looks at, and how often the compiler as a whole asks for memory, for a program and for one of
// twice its length.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>

#include <fmt/format.h>

#include "compile.h"
#include "compiler/analysis/lifetime.h"
#include "compiler/pipeline/pipeline.h"

namespace {
std::size_t allocations = 0;
}

[[gnu::noinline]] void* operator new(std::size_t n) {
  ++allocations;
  if (void* p = std::malloc(n == 0 ? 1 : n)) return p;
  throw std::bad_alloc();
}
// Every form that may meet the deletes below: a sanitizer checks that they fit.
[[gnu::noinline]] void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(n == 0 ? 1 : n);
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

using namespace sial;

namespace {

struct Long {
  std::string declarations, procs, statements;
};
using Form = std::function<Long(int)>;

const std::string indices =
    "predefined int norb\naoindex i = 1:norb\naoindex j = 1:norb\naoindex k = 1:norb\nscalar x\nint n\n";
const std::string shared = indices + "distributed d[i,j]\ndistributed e[i,j]\ntemp t[i,j]\ntemp u[i,j]\ntemp v[i,j]\n";
const std::string nest =
    "pardo i, j\nget d[i,j]\nt[i,j] = d[i,j]\nt[i,j] *= 2.0\nu[i,j] = 0.0\ndo k\nget e[i,k]\nget d[k,j]\nv[i,j] = e[i,k]*d[k,j]\n"
    "u[i,j] += v[i,j]\nenddo k\nt[i,j] += u[i,j]\nput e[i,j] = t[i,j]\nendpardo i, j\nsip_barrier\n";

/// The same nest again and again.
Long nests(int n) {
  Long l{shared, "", ""};
  for (int q = 0; q < n; ++q) l.statements += nest;
  return l;
}

/// Each nest with arrays of its own, temps, locals and remote ones, and what the nest before has put.
Long arrays(int n) {
  Long l{indices, "", ""};
  for (int q = 0; q < n; ++q) {
    l.declarations +=
        fmt::format("distributed d{0}[i,j]\ntemp t{0}[i,j]\ntemp u{0}[i,j]\nlocal l{0}[i,j]\nstatic s{0}[i,j]\n", q);
    l.statements += fmt::format(
        "pardo i, j\nget d{0}[i,j]\nt{1}[i,j] = d{0}[i,j]\nu{1}[i,j] = 0.0\ndo k\nget d{0}[i,k]\nu{1}[i,j] += d{0}[i,k]*s{0}[k,j]\nenddo k\nallocate l{1}[i,j]\n"
        "l{1}[i,j] = t{1}[i,j]\nt{1}[i,j] += l{1}[i,j]\nt{1}[i,j] -= u{1}[i,j]\nput d{1}[i,j] = t{1}[i,j]\nendpardo i, j\nsip_barrier\n",
        std::max(0, q - 1), q);
  }
  return l;
}

/// One iteration with ever more temps.
Long iteration(int n) {
  Long l{shared, "", "pardo i, j\nget d[i,j]\n"};
  for (int q = 0; q < n; ++q) {
    l.declarations += fmt::format("temp w{}[i,j]\ntemp z{}[i,j]\n", q, q);
    l.statements += fmt::format(
        "w{0}[i,j] = d[i,j]\nz{0}[i,j] = w{0}[i,j]\nz{0}[i,j] *= 2.0\nw{0}[i,j] += z{0}[i,j]\nx += 1.0\nt[i,j] = w{0}[i,j]\n",
        q);
  }
  l.statements += "put e[i,j] = t[i,j]\nendpardo i, j\n";
  return l;
}

/// Branches one behind the other, with exits.
Long branches(int n) {
  Long l{shared, "", "do i\ndo j\nget d[i,j]\nt[i,j] = 1.0\n"};
  for (int q = 0; q < n; ++q)
    l.statements += fmt::format(
        "n += 1\nif n == {}\nu[i,j] = d[i,j]\nt[i,j] += u[i,j]\nelse\nif n > {}\nexit\nendif\nt[i,j] *= 2.0\nendif\n",
        q, q + 5);
  l.statements += "put e[i,j] += t[i,j]\nenddo j\nenddo i\n";
  return l;
}

/// Procedures, each called twice.
Long procedures(int n) {
  Long l{shared, "", ""};
  for (int q = 0; q < n; ++q) {
    l.declarations += fmt::format("temp w{}[i,j]\n", q);
    l.procs += fmt::format(
        "proc p{0}\n{1}pardo i, j\nget d[i,j]\nw{0}[i,j] = d[i,j]\nw{0}[i,j] += 1.0\nput e[i,j] += w{0}[i,j]\nendpardo i, j\nsip_barrier\nendproc p{0}\n",
        q, nest);
    l.statements += fmt::format("call p{0}\ncall p{0}\n", q);
  }
  return l;
}

std::string text(const Long& l) { return "sial p\n" + l.declarations + l.procs + l.statements + "endsial p\n"; }

}  // namespace

TEST_CASE("lifetimes look at twice as much in a program of twice the length") {
  for (const Form& form : {Form(nests), Form(arrays), Form(iteration), Form(branches), Form(procedures)}) {
    const auto steps = [&](int n) {
      return static_cast<double>(analysis::Lifetimes(test::lower(text(form(n)))).steps());
    };
    const double once = steps(100), twice = steps(200);
    CAPTURE(form(1).statements, once, twice);
    CHECK(once > 1000);
    CHECK(twice < 2.1 * once);
  }
}

TEST_CASE("compiling at -O2 asks for twice as much memory as often for a program of twice the length") {
  const std::filesystem::path file = std::filesystem::temp_directory_path() /
                                     fmt::format("long_program_{}.sialx", static_cast<const void*>(&allocations));
  for (const Form& form : {Form(nests), Form(arrays), Form(iteration), Form(branches), Form(procedures)}) {
    const auto count = [&](int n) {
      std::ofstream(file) << text(form(n));
      CompileOptions options;
      options.optimisation = 2;
      SourceManager sources;
      Emitter emitter(WarningOptions{false, {}, {}, {}, true});
      const std::size_t before = allocations;
      const CompileResult result = compile_file(file.string(), options, sources, emitter);
      REQUIRE(result.module.has_value());
      return static_cast<double>(allocations - before);
    };
    const double once = count(60), twice = count(120);
    CAPTURE(form(1).statements, once, twice);
    CHECK(twice < 2.2 * once);
  }
  std::filesystem::remove(file);
}
