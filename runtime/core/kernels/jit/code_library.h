#pragma once
// The code generator beside the program, a library of its own, and the disk cache of what it makes. Files are taken
// from the cache only when they are whole, of this key, of this compiler for this processor and of this build's
// builders, and when nobody but this user can have written them.

#include <span>
#include <string>
#include <vector>

#include "runtime/core/base/output_file.h"
#include "runtime/core/kernels/interface/jit.h"

namespace sial::kernels {

/// Null when there is none for this build: `trouble` says why.
void* open_code_library(std::string& trouble);

/// Why the cache in this folder is not used, for a warning: the first folder or file in it that somebody else could
/// have written. Empty where all is well, and where there is none.
std::string cache_trouble(const std::string& folder);

/// A file of the cache: header line, the key's name, SHA-256 of the code in hexadecimal, the code. Folders and files
/// are made for this user alone. What belongs to somebody else, or may be written by others, ends the use of the cache:
/// its code would run with our rights.
class DiskCache {
 public:
  /// `identity`: of the compiler and of what it compiles for. `suffix`: of file names. Without a folder nothing is
  /// kept.
  DiskCache(std::string folder, const std::string& identity, std::string suffix);
  /// Empty when there is none, and when it is damaged or made for something else.
  std::vector<char> read(const CodeKey& key);
  /// A cache that cannot be written is no cache; nothing depends on it.
  void write(const CodeKey& key, std::span<const char> code);

 private:
  bool open_folder(bool make);
  bool trusts(int file);
  std::string file_name(const CodeKey& key) const { return code_name(key) + suffix_; }

  std::string head_, suffix_, base_, part_;  // part_: name of the folder in base_ for this identity
  Descriptor folder_;
  bool refused_ = false;
};

}  // namespace sial::kernels
