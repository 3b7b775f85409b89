#pragma once
// The files an editor works on: open buffers, which stand for the files of their paths, and files on the disk, read
// when asked for. Answers who imports whom and which declaration a name means. Files are known by their physical paths.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ast/imports.h"
#include "compiler/ast/line_trees.h"
#include "compiler/tools/lsp/outline.h"
#include "compiler/tools/lsp/text.h"

namespace sial::lsp {

struct File {
  std::string path;  // physical
  std::string name;  // as the editor called it, or as the path to it was found
  std::string uri;
  Text text;
  Outline outline;
};
using FilePtr = std::shared_ptr<const File>;

/// A declaration and the file it stands in.
struct Target {
  FilePtr file;
  const Declared* declared = nullptr;  // in file->outline
};

/// A use of a name and the file it stands in.
struct Use {
  FilePtr file;
  std::uint32_t begin = 0, end = 0;
  bool declares = false;
};

/// The name at a place in a file: a name, or the qualifier before the dot.
struct NamedPlace {
  const NameUse* use = nullptr;
  bool qualifier = false;
  std::uint32_t begin = 0, end = 0;
};

class Workspace {
 public:
  // ---- open buffers
  void open(const std::string& uri, std::string text, int version);
  void close(const std::string& uri);
  bool is_open(const std::string& uri) const { return open_.contains(uri); }
  /// The text of an open buffer, to be changed; null when it is not open. `changed` must follow.
  Text* buffer(const std::string& uri);
  void changed(const std::string& uri, int version);
  int version(const std::string& uri) const;
  std::vector<std::string> open_uris() const;
  const std::string& path(const std::string& uri) const { return open_.at(uri).path; }
  const SourceTexts& buffers() const { return buffers_; }
  /// The open buffer of a physical path; empty when there is none.
  std::string open_uri(const std::string& path) const;

  // ---- files
  void set_folders(std::vector<std::string> folders) { folders_ = std::move(folders); }
  void set_include_dirs(std::vector<std::string> dirs) { include_dirs_ = std::move(dirs); }
  const std::vector<std::string>& include_dirs() const { return include_dirs_; }
  /// What `find` says of a program holds until look_for_jobs().
  void set_job_include_dirs(std::function<std::vector<std::string>(const std::string& program)> find);
  /// The folders in which imports of a file are searched: those of its job, then the others.
  std::vector<std::string> include_dirs(const std::string& name);
  /// The URIs of open files whose folders are others than they were.
  std::vector<std::string> look_for_jobs();
  LineTrees& known_lines() { return known_; }

  /// Null when there is no such file.
  FilePtr file_of_uri(const std::string& uri);
  FilePtr file(const std::string& name);
  FilePtr imported(const File& importer, const ImportLine& import);
  /// The files that it imports directly and that are found.
  std::vector<FilePtr> imports(const File& file);
  /// Open files and files of the workspace that import it directly.
  std::vector<FilePtr> importers(const File& file);
  /// Every program of the workspace, as far as the limit on their number goes, and every open file.
  std::vector<FilePtr> all();

  // ---- names
  std::optional<NamedPlace> named_at(const File& file, std::uint32_t offset) const;
  /// The meanings of a name in a file; several when imports declare it more than once.
  std::vector<Target> resolve(const FilePtr& file, const std::string& name, const std::string& qualifier = {});
  std::vector<Target> resolve(const FilePtr& file, const NamedPlace& place);
  /// Everything that can be named in a file without a qualifier.
  std::vector<Target> visible(const FilePtr& file);
  std::vector<Use> uses(const Target& target);
  std::vector<Use> uses_in(const FilePtr& file, const Target& target) const;

 private:
  struct Open {
    std::string path, name;
    Text text;
    int version = 0;
    FilePtr made;  // null: not since the last change
  };
  struct OnDisk {
    std::filesystem::file_time_type time;
    std::uintmax_t size = 0;
    FilePtr made;
  };

  FilePtr make(std::string path, std::string name, std::string uri, Text text);
  const std::vector<std::string>& disk_files();
  std::optional<std::string> disk_text_with(const std::string& path, const std::string& part);

  std::map<std::string, Open> open_;    // by URI
  std::map<std::string, OnDisk> disk_;  // by physical path
  SourceTexts buffers_;                 // of open_, by physical path
  std::vector<std::string> folders_, include_dirs_, disk_files_;
  std::filesystem::file_time_type listed_{};
  LineTrees known_;
  std::function<std::vector<std::string>(const std::string& program)> find_job_include_dirs_;
  std::map<std::string, std::vector<std::string>> job_include_dirs_;  // by name of a file
};

}  // namespace sial::lsp
