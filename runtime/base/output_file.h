#pragma once
// Files that a program leaves behind. They are written under the name NAME.part beside their place and renamed when complete, so that
// what lies under its own name is always whole and a failure leaves the earlier file as it was. Symbolic links are followed. What is no
// regular file (a device, a pipe) is written into and never replaced.

#include <span>
#include <string>
#include <string_view>

namespace sial {

/// Where `path` leads through symbolic links, whether or not anything is there.
std::string link_end(const std::string& path);

/// "a folder", "a device", ... when something that is no regular file is there; empty otherwise.
std::string_view special_kind(const std::string& path);

/// Whether both names lead to one regular file, also where it does not exist yet.
bool same_file(const std::string& a, const std::string& b);

/// A file and what it is to the user, for example "the results file".
struct NamedFile { std::string role, path; };

/// Throws WorldError when one of `outputs` is one of `inputs`, or another output.
void check_distinct(std::span<const NamedFile> outputs, std::span<const NamedFile> inputs);

/// The name under which a file is written until it is complete. Creates nothing; unless finish() was reached, the destructor removes
/// what was written.
class PartFile {
 public:
  explicit PartFile(const std::string& path);
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  const std::string& name() const { return name_; }
  /// Gives the file its own name, and the permissions of the one that it replaces. Throws WorldError.
  void finish();

 private:
  std::string path_, end_, name_;
  bool done_ = false;
};

/// Why no file of this name could be written now; empty when one could. Makes its folder, and leaves nothing else behind.
std::string write_problem(const std::string& path);

/// Waits until the disk has the file. Throws WorldError when it does not take it.
void bring_to_disk(const std::string& path);

enum class Durability { until_crash, on_disk };

/// Makes `path` hold `content`, or throws WorldError and leaves it as it was.
void write_file(const std::string& path, std::string_view content, Durability durability = Durability::until_crash, const std::string& hint = "is the disk full, or the folder read-only?");

}  // namespace sial
