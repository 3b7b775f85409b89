#pragma once
// A folder that lives as long as one test, with small text files in it.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "runtime/core/base/error.h"

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "sialx-job-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string path(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return path(name);
  }

 private:
  std::filesystem::path path_;
};

/// Message, hint and place of the SialError that `body` throws, one per line; empty when it throws none.
template <class Body>
std::string error_of(Body body) {
  try {
    body();
  } catch (const sial::SialError& e) { return std::string(e.what()) + "\n" + e.hint() + "\n" + e.where(); }
  return {};
}
