#include "compiler/tools/lsp/workspace.h"

#include <algorithm>
#include <set>
#include <utility>

namespace sial::lsp {
namespace {

namespace fs = std::filesystem;

// A workspace may be a whole home folder.
constexpr std::size_t max_files = 2000;
constexpr std::size_t max_entries = 50000;
constexpr auto listing_holds = std::chrono::seconds(3);
constexpr std::size_t max_on_disk = 200;

bool is_program(const fs::path& path) { return path.extension() == ".sialx" || path.extension() == ".sial"; }

void list_programs(const std::string& folder, std::set<std::string>& out) {
  std::error_code failed;
  std::size_t entries = 0;
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, failed), end;
  for (; !failed && it != end; it.increment(failed)) {
    if (++entries > max_entries || out.size() >= max_files) return;
    std::error_code ignored;
    const std::string name = it->path().filename().string();
    if (it->is_directory(ignored)) {
      if (name.starts_with('.') || it.depth() > 8) it.disable_recursion_pending();
    } else if (is_program(it->path())) {
      out.insert(physical_path(it->path().string()));
    }
  }
}

}  // namespace

// ---- open buffers

void Workspace::open(const std::string& uri, std::string text, int version) {
  Open entry;
  entry.name = path_of(uri);
  entry.path = physical_path(entry.name);
  entry.text = Text(std::move(text));
  buffers_[entry.path] = entry.text.bytes();
  open_.insert_or_assign(uri, std::move(entry));
  open_.at(uri).version = version;
  listed_ = {};
}

void Workspace::close(const std::string& uri) {
  const auto found = open_.find(uri);
  if (found == open_.end()) return;
  const std::string path = found->second.path;
  buffers_.erase(path);
  open_.erase(found);
  // It may be open under another name of it, too.
  if (const std::string other = open_uri(path); !other.empty()) buffers_[path] = open_.at(other).text.bytes();
}

Text* Workspace::buffer(const std::string& uri) {
  const auto found = open_.find(uri);
  return found == open_.end() ? nullptr : &found->second.text;
}

void Workspace::changed(const std::string& uri, int version) {
  Open& entry = open_.at(uri);
  entry.version = version;
  entry.made = nullptr;
  buffers_[entry.path] = entry.text.bytes();
}

int Workspace::version(const std::string& uri) const {
  const auto found = open_.find(uri);
  return found == open_.end() ? 0 : found->second.version;
}

std::vector<std::string> Workspace::open_uris() const {
  std::vector<std::string> out;
  for (const auto& [uri, entry] : open_) out.push_back(uri);
  return out;
}

std::string Workspace::open_uri(const std::string& path) const {
  for (const auto& [uri, entry] : open_)
    if (entry.path == path) return uri;
  return {};
}

// ---- files

void Workspace::set_job_include_dirs(std::function<std::vector<std::string>(const std::string& program)> find) {
  find_job_include_dirs_ = std::move(find);
}

std::vector<std::string> Workspace::include_dirs(const std::string& name) {
  if (!find_job_include_dirs_) return include_dirs_;
  const auto [found, is_new] = job_include_dirs_.try_emplace(name);
  if (is_new) found->second = find_job_include_dirs_(name);
  std::vector<std::string> out = found->second;
  out.insert(out.end(), include_dirs_.begin(), include_dirs_.end());
  return out;
}

std::vector<std::string> Workspace::look_for_jobs() {
  const auto before = std::exchange(job_include_dirs_, {});
  std::vector<std::string> others;
  for (const auto& [uri, entry] : open_)
    if (const auto known = before.find(entry.name); known != before.end()) {
      include_dirs(entry.name);
      if (job_include_dirs_.at(entry.name) != known->second) others.push_back(uri);
    }
  return others;
}

FilePtr Workspace::make(std::string path, std::string name, std::string uri, Text text) {
  auto out = std::make_shared<File>();
  out->path = std::move(path);
  out->name = std::move(name);
  out->uri = std::move(uri);
  out->text = std::move(text);
  out->outline = outline_of(out->text, known_);
  return out;
}

FilePtr Workspace::file_of_uri(const std::string& uri) {
  const auto found = open_.find(uri);
  if (found == open_.end()) return file(path_of(uri));
  Open& entry = found->second;
  if (!entry.made) entry.made = make(entry.path, entry.name, uri, entry.text);
  return entry.made;
}

FilePtr Workspace::file(const std::string& name) {
  const std::string path = physical_path(name);
  if (const std::string uri = open_uri(path); !uri.empty()) return file_of_uri(uri);
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) return nullptr;
  const fs::file_time_type time = fs::last_write_time(path, failed);
  const std::uintmax_t size = fs::file_size(path, failed);
  if (failed) return nullptr;
  const auto known = disk_.find(path);
  if (known != disk_.end() && known->second.time == time && known->second.size == size) return known->second.made;
  std::string error;
  std::optional<std::string> text = read_source_file(path, error);
  if (!text) return nullptr;
  if (disk_.size() > max_on_disk) disk_.clear();
  FilePtr made = make(path, name, uri_of(path), Text(std::move(*text)));
  disk_[path] = {time, size, made};
  return made;
}

FilePtr Workspace::imported(const File& importer, const ImportLine& import) {
  if (import.path.empty()) return nullptr;
  if (FilePtr found = file(import.path)) return found;
  for (const std::string& folder : import_folders(import.path, importer.name, include_dirs(importer.name)))
    if (FilePtr found = file(folder == "." ? import.path : (fs::path(folder) / import.path).string())) return found;
  return nullptr;
}

std::vector<FilePtr> Workspace::imports(const File& file) {
  std::vector<FilePtr> out;
  for (const ImportLine& line : file.outline.imports) {
    FilePtr found = imported(file, line);
    const auto same = [&](const FilePtr& other) { return other->path == found->path; };
    if (found && found->path != file.path && std::none_of(out.begin(), out.end(), same)) out.push_back(found);
  }
  return out;
}

const std::vector<std::string>& Workspace::disk_files() {
  const fs::file_time_type now = fs::file_time_type::clock::now();
  if (listed_ != fs::file_time_type{} && now - listed_ < listing_holds) return disk_files_;
  std::set<std::string> found;
  // Whatever the editor calls its root: first what lies beside the open files.
  std::set<fs::path> beside;
  for (const auto& [uri, entry] : open_) beside.insert(fs::path(entry.path).parent_path());
  for (const fs::path& folder : beside) {
    std::error_code failed;
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed))
      if (is_program(it->path()) && found.size() < max_files) found.insert(physical_path(it->path().string()));
  }
  for (const std::string& folder : folders_) list_programs(folder, found);
  disk_files_.assign(found.begin(), found.end());
  listed_ = now;
  return disk_files_;
}

std::optional<std::string> Workspace::disk_text_with(const std::string& path, const std::string& part) {
  std::string error;
  std::optional<std::string> text = read_source_file(path, error);
  return !text || text->find(part) == std::string::npos ? std::nullopt : std::move(text);
}

std::vector<FilePtr> Workspace::importers(const File& file) {
  std::vector<FilePtr> out;
  const auto take = [&](const FilePtr& other) {
    if (!other || other->path == file.path) return;
    for (const FilePtr& imported : imports(*other))
      if (imported->path == file.path) {
        out.push_back(other);
        return;
      }
  };
  for (const std::string& uri : open_uris()) take(file_of_uri(uri));
  const std::string base = fs::path(file.name).filename().string(), physical = fs::path(file.path).filename().string();
  for (const std::string& path : disk_files())
    if (open_uri(path).empty() && (disk_text_with(path, base) || disk_text_with(path, physical)))
      take(this->file(path));
  return out;
}

std::vector<FilePtr> Workspace::all() {
  std::vector<FilePtr> out;
  for (const std::string& uri : open_uris()) out.push_back(file_of_uri(uri));
  for (const std::string& path : disk_files())
    if (open_uri(path).empty())
      if (FilePtr found = file(path)) out.push_back(found);
  return out;
}

// ---- names

std::optional<NamedPlace> Workspace::named_at(const File& file, std::uint32_t offset) const {
  const std::vector<NameUse>& uses = file.outline.uses;
  auto after = std::upper_bound(uses.begin(), uses.end(), offset,
                                [](std::uint32_t at, const NameUse& use) { return at < use.begin; });
  // The place just after a name belongs to it, as the cursor of an editor stands between characters.
  for (int back = 0; back < 2; ++back) {
    if (back == 0 && after != uses.end() && !after->qualifier.empty() && offset >= after->qualifier_begin)
      return NamedPlace{&*after, true, after->qualifier_begin, after->qualifier_end};
    if (back == 1) {
      if (after == uses.begin()) return std::nullopt;
      --after;
      if (offset <= after->end) return NamedPlace{&*after, false, after->begin, after->end};
    }
  }
  return std::nullopt;
}

std::vector<Target> Workspace::resolve(const FilePtr& file, const std::string& name, const std::string& qualifier) {
  std::vector<Target> out;
  if (qualifier.empty())
    if (const Declared* own = file->outline.find(name)) return {{file, own}};
  std::vector<FilePtr> files = imports(*file);
  if (!qualifier.empty()) files.insert(files.begin(), file);
  for (const FilePtr& other : files) {
    if (!qualifier.empty() && other->outline.program != qualifier) continue;
    if (const Declared* found = other->outline.find(name)) out.push_back({other, found});
  }
  return out;
}

std::vector<Target> Workspace::resolve(const FilePtr& file, const NamedPlace& place) {
  if (!place.qualifier) {
    std::vector<Target> out = resolve(file, place.use->name, place.use->qualifier);
    const Declared* program = file->outline.program_declared();
    const TokenLine* line = file->outline.tokens_of(place.use->line);
    const std::string first =
        line ? lower_case(file->text.bytes().substr(line->tokens[0].begin, line->tokens[0].end - line->tokens[0].begin))
             : std::string();
    if (first == "sial" || first == "endsial") {
      out.clear();
      if (program && program->name == place.use->name) out.push_back({file, program});
    }
    return out;
  }
  std::vector<Target> out;
  std::vector<FilePtr> files = imports(*file);
  files.insert(files.begin(), file);
  for (const FilePtr& other : files)
    if (const Declared* program = other->outline.program_declared(); program && program->name == place.use->qualifier)
      out.push_back({other, program});
  return out;
}

std::vector<Target> Workspace::visible(const FilePtr& file) {
  std::vector<Target> out;
  std::set<std::string> seen;
  for (const auto& [name, at] : file->outline.by_name) {
    out.push_back({file, &file->outline.declared[at]});
    seen.insert(name);
  }
  for (const FilePtr& other : imports(*file))
    for (const auto& [name, at] : other->outline.by_name)
      if (seen.insert(name).second) out.push_back({other, &other->outline.declared[at]});
  return out;
}

std::vector<Use> Workspace::uses_in(const FilePtr& file, const Target& target) const {
  std::vector<Use> out;
  const bool home = file->path == target.file->path;
  const Declared& d = *target.declared;
  const bool hidden = !home && file->outline.find(d.name);
  // The program's own name: after `sial` and `endsial`.
  int first = -1, last = -1;
  for (const Block& block : file->outline.blocks)
    if (block.word == "sial" && first < 0) {
      first = block.line;
      last = block.closed ? block.end_line : block.line;
    }
  for (const NameUse& use : file->outline.uses) {
    const bool of_program = use.line == first || use.line == last;
    if (d.kind == DeclKind::program) {
      if (home && of_program && use.name == d.name) out.push_back({file, use.begin, use.end, use.declares});
      if (use.qualifier == d.name) out.push_back({file, use.qualifier_begin, use.qualifier_end, false});
    } else if (use.name == d.name) {
      const bool means_it =
          use.qualifier.empty() ? !hidden && !of_program : use.qualifier == target.file->outline.program;
      if (means_it) out.push_back({file, use.begin, use.end, use.declares});
    }
  }
  return out;
}

std::vector<Use> Workspace::uses(const Target& target) {
  std::vector<Use> out = uses_in(target.file, target);
  for (const FilePtr& file : importers(*target.file)) {
    const std::vector<Use> more = uses_in(file, target);
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

}  // namespace sial::lsp
