#pragma once
// Files that a program leaves behind. They are written beside their place under a random name and renamed when
// complete, so that what lies under its own name is always whole, a failure leaves the earlier file as it was, and a
// link made by somebody else is never written through. The user's symbolic links are followed. What is no regular file
// (a device, a pipe) is written into and never replaced.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sial {

/// The end of `path` through symbolic links, whether or not anything is there. In a folder where everybody may write
/// (with the sticky bit, as /tmp) only links of this user and of the folder's owner are followed.
std::string link_end(const std::string& path);

/// A folder on the way to `path` that is a link which is not to be followed; empty when there is none.
std::string foreign_folder(const std::string& path);

/// Whether `path` names what a process has open, such as /dev/stdout.
bool names_open_file(const std::string& path);

/// "a folder", "a device", ... when something that is no regular file is there; empty otherwise.
std::string_view special_kind(const std::string& path);

/// Whether both names lead to one regular file, also where it does not exist yet.
bool same_file(const std::string& a, const std::string& b);

/// A file and what it is to the user, for example "the results file".
struct NamedFile {
  std::string role, path;
};

/// Throws EnvironmentError when one of `outputs` is one of `inputs`, or another output.
void check_distinct(std::span<const NamedFile> outputs, std::span<const NamedFile> inputs);

/// A file descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int file = -1) : file_(file) {}
  Descriptor(Descriptor&& other) noexcept : file_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const { return file_; }
  int release();

 private:
  int file_;
};

/// Writes all of it at a place of an open file, whatever moves meanwhile. 0 or the error.
int write_at(int file, std::int64_t offset, std::span<const std::byte> content);
/// Reads all of it from a place of an open file; false where that cannot be, or the file ends before.
bool read_at(int file, std::int64_t offset, std::span<std::byte> content);

/// The folder of a file, opened: what is done to its names is done in this folder, wherever a path leads later.
struct OpenFolder {
  /// `path` without links at its end. Throws nothing: `folder` is negative and errno set when there is none.
  explicit OpenFolder(const std::string& path);
  /// Looks at what this name is now, links not followed.
  bool holds(const std::string& entry, int file) const;

  Descriptor folder;
  std::string name;  // of the file in it
};

enum class Durability { until_crash, on_disk };

/// A new file beside the place of another, open for writing. Unless finish() was reached, the destructor removes it.
class PartFile {
 public:
  /// Throws EnvironmentError.
  PartFile(const std::string& path, std::string hint);
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  int descriptor() const { return file_.get(); }
  const std::string& path() const { return path_; }
  /// For libraries that open files by name: it leads to the open file itself, whatever lies under the file's own name
  /// by now. Where there is no /proc it is that name.
  std::string name_to_open() const;
  /// The name that it has until then, from the root: for other processes of this machine, and of others that share the
  /// folder.
  std::string part_path() const;
  /// Closes the file and gives it its own name, and the permissions of the one that it replaces. Throws
  /// EnvironmentError.
  void finish(Durability durability);

 private:
  std::string path_, hint_;
  OpenFolder place_;
  std::string name_;
  Descriptor file_;
  bool done_ = false;
};

/// Whether `path` is a file that may be written in a folder that may not: it cannot be replaced, only changed where it
/// stands.
bool written_in_place(const std::string& path);

/// Why no file of this name could be written now; empty when one could. Makes its folder, and leaves nothing else
/// behind.
std::string write_problem(const std::string& path);

/// A file that is written piece by piece. An error leaves what was there as it was, unless it is written in place.
class OutputFile {
 public:
  /// `size`: of the whole content, where it is known. Throws EnvironmentError, here and later.
  explicit OutputFile(const std::string& path, std::string hint = "is the disk full, or the folder read-only?",
                      std::size_t size = 0);
  void write(std::string_view content);
  void finish(Durability durability = Durability::until_crash);

 private:
  std::string path_, hint_;
  std::optional<PartFile> part_;
  Descriptor file_;  // where there is no part
  bool in_place_ = false;
};

/// Makes `path` hold `content`, or throws EnvironmentError and leaves it as it was.
void write_file(const std::string& path, std::string_view content, Durability durability = Durability::until_crash,
                const std::string& hint = "is the disk full, or the folder read-only?");

}  // namespace sial
