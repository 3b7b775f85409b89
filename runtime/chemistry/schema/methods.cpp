#include "runtime/chemistry/schema/methods.h"

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/input_file.h"
#include "runtime/core/base/json.h"
#include "runtime/core/base/printable.h"
#include "runtime/core/base/running_program.h"

namespace sial {
namespace {

namespace fs = std::filesystem;

constexpr const char* table_name = "methods.json";

bool has_table(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / table_name, ignored);
}

}  // namespace

std::string find_examples() {
  if (const char* given = std::getenv("SIAL_EXAMPLES_PATH"); given && *given) {
    if (has_table(given)) return given;
    throw InputError(fmt::format("the folder `{}`, which SIAL_EXAMPLES_PATH names, has no {}", given, table_name),
                     "name the folder `examples` of sialx, or unset the variable");
  }
  std::vector<std::string> folders;
  const fs::path self = running_program(), prefix = self.parent_path().parent_path();
  if (!self.empty()) {
    folders.push_back((prefix / "share" / "sialx" / "examples").string());
    folders.push_back((prefix.parent_path().parent_path() / "examples").string());  // CHECKOUT/build/PRESET/bin
  }
  for (const std::string& folder : folders)
    if (has_table(folder)) return folder;
  throw InputError(
      fmt::format("the example programs are not there: {} is in none of {}", table_name, fmt::join(folders, ", ")),
      "move an installation as a whole, or name its folder of examples in SIAL_EXAMPLES_PATH");
}

std::vector<SchemaMethod> read_methods(const std::string& folder) {
  const std::string path = (fs::path(folder) / table_name).string();
  std::string problem;
  const std::string text = read_file(path, input_limit::job_file, problem);
  if (!problem.empty()) throw InputError(fmt::format("cannot read the table of methods `{}`: {}", path, problem));
  std::vector<SchemaMethod> methods;
  try {
    for (const auto& row : parse_json(text)) {
      SchemaMethod method{row.at("name"), row.at("reference"), row.at("full_name"), row.at("programs"),
                          row.at("energy")};
      if (method.programs.empty()) throw InputError(fmt::format("`{}` has no programs", method.full_name), {}, path);
      methods.push_back(std::move(method));
    }
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("this is no table of methods: {}", printable(error.what())),
                     "is the folder that of this version?", path);
  }
  return methods;
}

}  // namespace sial
