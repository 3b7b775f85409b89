#pragma once
// The code generator beside the program, a library of its own, and the disk cache of what it makes. Files are taken from the cache only
// when they are whole, of this key, of this compiler for this processor and of this build's builders.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "runtime/kernels/jit.h"

namespace sial::kernels {

/// Null when there is none for this build: `trouble` says why.
void* open_code_library(std::string& trouble);

/// A file of the cache: header line, the key's name, SHA-256 of the code in hexadecimal, the code.
class DiskCache {
 public:
  /// `identity`: of the compiler and of what it compiles for. `suffix`: of file names. Without a folder nothing is kept.
  DiskCache(const std::string& folder, const std::string& identity, std::string suffix);
  /// Empty when there is none, and when it is damaged or someone else's.
  std::vector<char> read(const CodeKey& key) const;
  /// A cache that cannot be written is no cache; nothing depends on it.
  void write(const CodeKey& key, std::span<const char> code) const;

 private:
  std::filesystem::path file(const CodeKey& key) const { return folder_ / (code_name(key) + suffix_); }

  std::string head_, suffix_;
  std::filesystem::path folder_;
};

}  // namespace sial::kernels
