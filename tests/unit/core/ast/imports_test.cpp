// Finding, reading and ordering imported files.

#include <catch2/catch.hpp>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "compiler/ast/imports.h"
#include "compiler/diag/table.h"

using namespace sial;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "sialx-imports-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }
  /// A program without content that imports these files.
  std::string program(const std::string& name, const std::vector<std::string>& imports) const {
    std::string text;
    for (const std::string& i : imports) text += "import \"" + i + "\"\n";
    const std::string own = fs::path(name).stem().string();
    return write(name, text + "sial " + own + "\nendsial " + own + "\n");
  }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

struct Loaded {
  SourceManager sources;
  Emitter emitter;
  std::unique_ptr<ast::Compilation> compilation;
  explicit Loaded(const std::string& path, const std::vector<std::string>& dirs = {}) {
    compilation = load_compilation(sources, path, dirs, emitter);
  }
  std::string modules() const {
    std::string out;
    if (compilation)
      for (const auto& m : compilation->modules) out += m->name.name + " ";
    return out;
  }
  std::string codes() const {
    std::string out;
    for (const Diagnostic& d : emitter.all()) out += std::string(row_of(d.code).name) + " ";
    return out;
  }
};

}  // namespace

TEST_CASE("imports come before importers, each file once") {
  const Folder f;
  f.program("base.sialx", {});
  f.program("left.sialx", {"base.sialx"});
  f.program("right.sialx", {"base.sialx", "left.sialx"});
  const Loaded loaded(
      f.program("top.sialx", {"right.sialx", "left.sialx", "right.sialx",
                              "../" + fs::path(f / "").parent_path().filename().string() + "/base.sialx"}));
  CHECK(loaded.codes().empty());
  CHECK(loaded.modules() == "base left right top ");
  REQUIRE(loaded.compilation);
  const auto& top = *loaded.compilation->modules.back();
  CHECK(loaded.sources.name(top.imports[1].resolved) == f / "left.sialx");
  CHECK(top.imports[0].resolved == top.imports[2].resolved);
}

TEST_CASE("links to a file are the file") {
  const Folder f;
  f.program("base.sialx", {});
  fs::create_symlink(f / "base.sialx", f / "alias.sialx");
  CHECK(Loaded(f.program("top.sialx", {"base.sialx", "alias.sialx"})).modules() == "base top ");
  // A program reached through a link finds what lies beside the file itself.
  f.program("links/elsewhere.sialx", {});
  fs::create_symlink("../top.sialx", f / "links/top.sialx");
  CHECK(Loaded(f / "links/top.sialx").modules() == "base top ");
}

TEST_CASE("directories are searched in their order") {
  const Folder f;
  f.program("main/top.sialx", {"lib.sialx"});
  f.write("one/lib.sialx", "sial from_one\nendsial from_one\n");
  f.write("two/lib.sialx", "sial from_two\nendsial from_two\n");
  CHECK(Loaded(f / "main/top.sialx").codes() == "E-IMPORT ");
  CHECK(Loaded(f / "main/top.sialx", {f / "one", f / "two"}).modules() == "from_one top ");
  CHECK(Loaded(f / "main/top.sialx", {f / "none", f / "two"}).modules() == "from_two top ");
  setenv("SIALPATH", (":" + (f / "none") + "::" + (f / "two") + ":").c_str(), 1);
  CHECK(Loaded(f / "main/top.sialx").modules() == "from_two top ");
  CHECK(Loaded(f / "main/top.sialx", {f / "one"}).modules() == "from_one top ");
  unsetenv("SIALPATH");
  f.write("main/lib.sialx", "sial own\nendsial own\n");
  CHECK(Loaded(f / "main/top.sialx", {f / "one"}).modules() == "own top ");
}

TEST_CASE("files that are missing are named, with the places searched") {
  const Folder f;
  const Loaded loaded(f.program("top.sialx", {"gone.sialx"}), {f / "lib"});
  REQUIRE(loaded.codes() == "E-IMPORT ");
  CHECK(loaded.emitter.all()[0].message.find("gone.sialx") != std::string::npos);
  REQUIRE(loaded.emitter.all()[0].notes.size() == 1);
  CHECK(loaded.emitter.all()[0].notes[0].message.find(f / "lib") != std::string::npos);
  CHECK(!loaded.compilation);
  CHECK(Loaded(f / "nothing.sialx").codes() == "E-FILE ");
  CHECK(Loaded(f / "").codes() == "E-FILE ");
}

TEST_CASE("circles are refused with their chain") {
  const Folder f;
  f.program("a.sialx", {"b.sialx"});
  f.program("b.sialx", {"c.sialx"});
  f.program("c.sialx", {"a.sialx"});
  f.program("self.sialx", {"self.sialx"});
  const Loaded circle(f / "a.sialx");
  REQUIRE(circle.codes() == "E-IMPORT-CYCLE ");
  for (const char* part : {"a.sialx", "b.sialx", "c.sialx"})
    CHECK(circle.emitter.all()[0].message.find(part) != std::string::npos);
  CHECK(Loaded(f / "self.sialx").codes() == "E-IMPORT-CYCLE ");
}

TEST_CASE("a broken import is one error in each importer, and its own errors come once") {
  const Folder f;
  f.write("bad.sialx", "sial bad\nscalar x\nx = 1.0e5\nendsial bad\n");
  f.program("middle.sialx", {"bad.sialx"});
  CHECK(Loaded(f.program("top.sialx", {"bad.sialx"})).codes() == "E-EXPONENT E-IMPORT ");
  CHECK(Loaded(f.program("top2.sialx", {"bad.sialx", "middle.sialx"})).codes() ==
        "E-EXPONENT E-IMPORT E-IMPORT E-IMPORT ");
}
