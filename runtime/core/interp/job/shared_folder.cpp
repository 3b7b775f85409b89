#include "runtime/core/interp/job/shared_folder.h"

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/host_name.h"

namespace sial {

namespace {

namespace fs = std::filesystem;

/// Network file systems show new files after a while.
constexpr auto patience = std::chrono::seconds(10);
constexpr auto between_looks = std::chrono::milliseconds(100);

struct Answer {
  HostName host{};
  bool sees = false;
};

/// Looking through the folder makes network file systems ask the server again.
bool appears(const fs::path& file) {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    std::error_code none;
    for (fs::directory_iterator entry(file.parent_path(), none), end; !none && entry != end; entry.increment(none))
      if (entry->path().filename() == file.filename()) return true;
    if (std::chrono::steady_clock::now() - start > patience) return false;
    std::this_thread::sleep_for(between_looks);
  }
}

/// Rank 0's file, and the folder if it was not there.
class Token {
 public:
  explicit Token(fs::path file) : file_(std::move(file)) {
    std::error_code failure;
    made_folder_ = fs::create_directories(file_.parent_path(), failure);
    written_ = static_cast<bool>(std::ofstream(file_) << "sialx\n");
  }
  ~Token() {
    std::error_code failure;
    fs::remove(file_, failure);
    if (made_folder_) fs::remove(file_.parent_path(), failure);
  }
  Token(const Token&) = delete;
  Token& operator=(const Token&) = delete;
  bool written() const { return written_; }

 private:
  fs::path file_;
  bool made_folder_ = false, written_ = false;
};

}  // namespace

void check_checkpoint_folders(Transport& transport, const std::string& folder, const std::string& local,
                              CollectiveTag tag) {
  if (std::error_code none; !local.empty() && !fs::is_directory(local, none))
    throw EnvironmentError(fmt::format("there is no folder `{}`, where checkpoints are to be written first", local),
                           "make it on a disk of each host, or name another one with `--checkpoint-local`");
  if (transport.node_count() == 1) return;
  std::uint64_t number = transport.rank() == 0 ? std::random_device()() : 0;
  transport.broadcast(std::as_writable_bytes(std::span(&number, 1)), 0, tag);
  const fs::path file = fs::path(folder) / fmt::format(".sialx-{:08x}", number);
  std::optional<Token> token;
  if (transport.rank() == 0) token.emplace(file);
  bool written = !token || token->written();
  transport.broadcast(std::as_writable_bytes(std::span(&written, 1)), 0, tag);
  if (!written) return;  // writing the checkpoint says why
  Answer mine;
  mine.host = host_name();
  mine.sees = appears(file);
  std::vector<std::string> blind;
  for (const auto& bytes : transport.all_gather(std::as_bytes(std::span(&mine, 1)), tag)) {
    Answer answer;
    std::memcpy(&answer, bytes.data(), sizeof answer);
    if (std::string host = answer.host.data(); !answer.sees && (blind.empty() || blind.back() != host))
      blind.push_back(host);
  }
  if (blind.empty()) return;
  throw EnvironmentError(
      fmt::format("the folder for checkpoints, `{}`, is another one on {}: its hosts do not share it", folder,
                  fmt::join(blind, ", ")),
      "give a folder that all hosts see with `--checkpoint-dir`");
}

}  // namespace sial
