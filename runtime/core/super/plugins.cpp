#include "runtime/core/super/plugins.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <sstream>

#include <dlfcn.h>
#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/input_file.h"
#include "runtime/core/base/shape.h"
#include "runtime/core/super/include/sialx/plugin.h"

namespace sial {
namespace {

static_assert(SIALX_MAX_RANK == max_rank && SIALX_AO == static_cast<int>(IndexKind::ao) &&
              SIALX_SUB == static_cast<int>(IndexKind::sub));
// The layout plugins are compiled against: a change here is a new interface, which plugins of earlier versions cannot
// use.
constexpr std::uint32_t oldest_plugin_version = 2;
static_assert(sizeof(sialx_argument) == 232 && offsetof(sialx_argument, segment) == 152 &&
              offsetof(sialx_argument, letter) == 228);

/// The target of the host's `state` during one call.
struct Call {
  SuperContext& context;
  std::string message, hint;
};

Call& call_of(const sialx_host* host) { return *static_cast<Call*>(host->state); }
const JobData& job_of(const sialx_host* host) { return call_of(host).context.job(); }

void to_c(const SuperArg& arg, const char* name, sialx_argument& result) {
  result = {};
  result.name = name;
  result.data = arg.data;
  result.size = arg.is_scalar ? 1 : arg.size();
  result.rank = arg.is_scalar ? 0 : arg.shape.rank;
  for (int d = 0; d < max_rank; ++d) {
    const bool used = d < result.rank;
    result.extent[d] = used ? arg.shape.extent[d] : 1;
    result.offset[d] = used ? arg.offset[d] : 0;
    result.segment[d] = used ? arg.segment[d] : 0;
    result.kind[d] = used ? static_cast<std::int32_t>(arg.kind[d]) : 0;
  }
  result.is_scalar = arg.is_scalar;
  result.is_whole_array = arg.whole_array;
  result.letter = arg.letter;
}

template <class Arrays, class Element>
const Element* find_job_array(const Arrays& arrays, const char* name, std::int32_t* rank, std::int64_t* extent,
                              const Element* empty) {
  const auto found = arrays.find(name);
  if (found == arrays.end() || found->second.extents.size() > max_rank) return nullptr;
  *rank = static_cast<std::int32_t>(found->second.extents.size());
  std::copy(found->second.extents.begin(), found->second.extents.end(), extent);
  return found->second.data.empty() ? empty : found->second.data.data();
}

sialx_host host_functions() {
  sialx_host host{};
  host.version = SIALX_PLUGIN_VERSION;
  host.rank = [](const sialx_host* h) -> std::int32_t { return call_of(h).context.rank(); };
  host.size = [](const sialx_host* h) -> std::int32_t { return call_of(h).context.size(); };
  host.print = [](const sialx_host* h, const char* text, std::size_t length) {
    std::ostream& out = call_of(h).context.out();
    out.write(text, static_cast<std::streamsize>(length));
    out.flush();
  };
  host.fail = [](const sialx_host* h, const char* message, const char* hint) {
    call_of(h).message = message ? message : "";
    call_of(h).hint = hint ? hint : "";
  };
  host.find_int = [](const sialx_host* h, const char* name, std::int32_t* value) -> std::int32_t {
    const auto found = job_of(h).ints.find(name);
    if (found == job_of(h).ints.end()) return 0;
    *value = found->second;
    return 1;
  };
  host.find_scalar = [](const sialx_host* h, const char* name, double* value) -> std::int32_t {
    if (const double* own = call_of(h).context.scalar_by_name(name)) {
      *value = *own;
      return 1;
    }
    const auto found = job_of(h).scalars.find(name);
    if (found == job_of(h).scalars.end()) return 0;
    *value = found->second;
    return 1;
  };
  host.find_array = [](const sialx_host* h, const char* name, std::int32_t* rank, std::int64_t* extent) {
    static constexpr double empty = 0.0;
    return find_job_array(job_of(h).arrays, name, rank, extent, &empty);
  };
  host.find_int_array = [](const sialx_host* h, const char* name, std::int32_t* rank, std::int64_t* extent) {
    static constexpr std::int32_t empty = 0;
    return find_job_array(job_of(h).int_arrays, name, rank, extent, &empty);
  };
  host.find_program_array = [](const sialx_host* h, const char* name, sialx_argument* result) -> std::int32_t {
    const SuperArg array = call_of(h).context.array_by_name(name);
    if (!array.data) return 0;
    // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): names of the program's table end with a NUL
    to_c(array, array.name.data(), *result);
    return 1;
  };
  host.segments = [](const sialx_host* h, std::int32_t kind, std::int64_t* count) -> const std::int32_t* {
    const auto found = job_of(h).segments.find(static_cast<IndexKind>(kind));
    *count = found == job_of(h).segments.end() ? 0 : std::ssize(found->second);
    return *count == 0 ? nullptr : found->second.data();
  };
  host.atom_count = [](const sialx_host* h) -> std::int32_t { return atom_count(job_of(h)); };
  host.atom = [](const sialx_host* h, std::int32_t number, double* charge, double* position) {
    read_atom(job_of(h), number, charge, position);
  };
  host.keep = [](const sialx_host* h, const char* key, void* (*make)(void), void (*destroy)(void*)) {
    std::shared_ptr<void>& slot = call_of(h).context.slot(std::string("plugin:") + key);
    if (!slot) slot = std::shared_ptr<void>(make(), destroy);
    return slot.get();
  };
  return host;
}

void execute(const sialx_instruction& instruction, SuperContext& context, std::span<SuperArg> args) {
  std::array<sialx_argument, max_rank> arguments;
  std::array<std::string, max_rank> names;  // with a NUL at the end
  for (std::size_t i = 0; i < args.size(); ++i) {
    names[i] = args[i].name;
    to_c(args[i], names[i].c_str(), arguments[i]);
  }
  Call call{context, {}, {}};
  sialx_host host = host_functions();
  host.state = &call;
  const std::int32_t code = instruction.body(&host, arguments.data(), static_cast<std::int32_t>(args.size()));
  if (code == 0) return;
  if (call.message.empty()) call.message = fmt::format("failed with code {}", code);
  throw SialError(fmt::format("`{}`: {}", instruction.name, call.message), call.hint);
}

std::vector<std::string> words(const char* text) {
  std::istringstream in(text);
  std::vector<std::string> result;
  for (std::string word; in >> word;) result.push_back(word == "-" ? "" : word);
  return result;
}

bool is_name(std::string_view text) {
  auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  return !text.empty() && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

void check_row(const sialx_instruction& row, int number, const std::string& path) {
  const auto complain = [&](const std::string& what) {
    throw SialError(fmt::format("plugin `{}`, instruction {}: {}", path, number, what));
  };
  if (!row.name || !is_name(row.name)) complain("its name is not made of lower-case letters, digits and `_`");
  if (!row.body) complain(fmt::format("`{}` has no body", row.name));
  const std::vector<std::string> signatures = words(row.signatures ? row.signatures : "");
  if (signatures.empty()) complain(fmt::format("`{}` has no signature (`-` stands for no arguments)", row.name));
  for (const std::string& s : signatures)
    if (s.size() > max_rank || s.find_first_not_of("rwu") != std::string::npos)
      complain(fmt::format("`{}` is no signature for `{}`: at most {} letters r, w, u", s, row.name, max_rank));
}

std::string hash_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::uint64_t hash = 0x5a11;
  for (std::istreambuf_iterator<char> c(in), end; c != end; ++c) hash = mix_hash(hash, static_cast<unsigned char>(*c));
  return fmt::format("{:016x}", hash);
}

}  // namespace

void Plugins::load_for_job(const std::vector<std::string>& paths) {
  std::error_code ignored;
  for (const std::string& path : paths)
    if (std::none_of(paths_.begin(), paths_.end(),
                     [&](const std::string& p) { return std::filesystem::equivalent(p, path, ignored); }))
      load(path);
}

void Plugins::load(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    throw SialError(fmt::format("there is no plugin `{}`", path),
                    "--plugin names a shared library, relative to the working directory");
  if (const std::string problem = library_problem(path); !problem.empty())
    throw SialError(fmt::format("cannot load the plugin `{}`: {}", path, problem), "build or copy it again");
  // An absolute name: a bare one would be searched among the system's libraries.
  void* library = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw SialError(fmt::format("cannot load the plugin `{}`: {}", path, dlerror()),
                    "build it with -shared -fPIC for this machine");
  const auto entry = reinterpret_cast<const sialx_plugin* (*)()>(dlsym(library, "sialx_plugin_entry"));
  if (!entry)
    throw SialError(fmt::format("`{}` is no sialx plugin: it has no `sialx_plugin_entry`", path),
                    "end its source with SIALX_PLUGIN(...), see sialx/plugin.h");
  const sialx_plugin* plugin = entry();
  if (!plugin || plugin->version < oldest_plugin_version || plugin->version > SIALX_PLUGIN_VERSION)
    throw SialError(
        fmt::format("plugin `{}` is of version {} of the plugin interface, and this sialrun knows version {}", path,
                    plugin ? plugin->version : 0, SIALX_PLUGIN_VERSION),
        "rebuild it with the header sialx/plugin.h that was installed with this sialrun");
  if (plugin->count < 0 || (plugin->count > 0 && !plugin->instructions))
    throw SialError(fmt::format("plugin `{}` has no table of instructions", path));
  for (std::int32_t i = 0; i < plugin->count; ++i) {
    const sialx_instruction& row = plugin->instructions[i];
    check_row(row, i + 1, path);
    if (find_super(row.name))
      throw SialError(fmt::format("plugin `{}` defines `{}`, which is a super instruction of sialx", path, row.name),
                      "give it another name, for instance with a prefix of your own");
    for (const Row& known : rows_)
      if (std::string_view(known.instruction->name) == row.name)
        throw SialError(fmt::format("plugins `{}` and `{}` both define `{}`", known.file, path, row.name),
                        "load one of them, or rename one instruction");
    rows_.push_back({&row, path});
  }
  paths_.push_back(path);
  files_[std::filesystem::path(path).filename().string()] = hash_of_file(path);
}

std::function<void(SuperContext&, std::span<SuperArg>)> Plugins::find(std::string_view name,
                                                                      std::string_view signature) const {
  const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const Row& r) { return name == r.instruction->name; });
  if (row == rows_.end()) return {};
  const sialx_instruction* instruction = row->instruction;
  const std::vector<std::string> accepted = words(instruction->signatures);
  if (std::find(accepted.begin(), accepted.end(), signature) != accepted.end())
    return [instruction](SuperContext& context, std::span<SuperArg> args) { execute(*instruction, context, args); };
  const std::string message = fmt::format("`{}` of plugin `{}` takes `{}`, and the program declares `{}`", name,
                                          row->file, instruction->signatures, signature.empty() ? "-" : signature);
  const std::string hint = fmt::format("declare it `special {} {}`", name, accepted.front());
  return [message, hint](SuperContext&, std::span<SuperArg>) { throw SialError(message, hint); };
}

std::vector<std::string_view> Plugins::names() const {
  std::vector<std::string_view> result;
  for (const Row& row : rows_) result.emplace_back(row.instruction->name);
  return result;
}

}  // namespace sial
